#ifndef KR_DRIVER_PROMPT_SET_H
#define KR_DRIVER_PROMPT_SET_H

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// The templates that prompts are made of, by name: base, example, first, turn, again,
// launch_fixed, launch_tunable. Those of driver/prompts/ are compiled in; a profile
// (driver/prompts/PROFILE/) brings its own in place of some, and a user's folder
// NAME.txt in place of any. `{{name}}` with a name of lower-case letters and _ is a
// placeholder, other braces are text. Each template has the placeholders that its
// built-in one can use, and no other; some it may not do without (prompt_set.c).

struct prompt_set;

// `profile`: "default" or "kevin"; `dir` may be NULL. Checks all of it: a folder that is
// not there or has no template, a file whose name is none, one that cannot be read or
// is no UTF-8, and a placeholder that is unknown or missing are errors that name the file.
int prompt_set_open(const char *profile, const char *dir, struct prompt_set **out,
                    struct kr_err *err);
void prompt_set_free(struct prompt_set *s);

// The text of a template. A set of NULL is the default profile. No such name is a bug and aborts.
const char *prompt_set_text(const struct prompt_set *s, const char *name);
// What makes a search with other prompts another one: "profile=kevin prompts=HASH";
// NULL for the default profile as it is built in.
const char *prompt_set_identity(const struct prompt_set *s);

struct prompt_value {
  const char *name, *value;
};
// A template with its placeholders replaced. One that has no value is a bug and aborts.
void prompt_set_fill(const struct prompt_set *s, const char *name,
                     const struct prompt_value *values, size_t n, struct kr_bytes *out);

#endif
