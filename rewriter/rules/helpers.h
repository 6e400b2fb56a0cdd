#ifndef KR_RULES_HELPERS_H
#define KR_RULES_HELPERS_H

#include "rules.h"

// What a kernel calls stands in its slice, where other kernels may call it too: a
// variant cannot change it, but it may bring a function of its own.
//
// The code with a copy before it of every device function of the kernel's own scope
// that it calls and whose text is `wanted`, named "<kernel>_<function>", and the calls
// renamed. NULL when there is none. Not taken: templates, overloads, functions with
// directives in them. The caller frees.
char *rule_bring_helpers(const struct kr_rule_input *in, bool (*wanted)(const char *text));

#endif
