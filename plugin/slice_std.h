#ifndef KR_SLICE_STD_H
#define KR_SLICE_STD_H

#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/base/bytes.h"

// What a slice may name of the standard headers. NVRTC has none of them, other
// compilers have all: a slice begins with the includes for those and with the
// few lines of its own for NVRTC, both only for names that it uses.

struct std_use {
  char **items; // names used, "std::" in front of those of the namespace; owned
  size_t n, cap;
};

// Notes a use. False when no slice can have that name (`std::vector`).
bool std_add(struct std_use *u, const char *name, bool in_std);
// Notes a name of <type_traits>, all of which libcu++ has.
void std_add_trait(struct std_use *u, const char *name);
// Notes a macro (INT_MAX, M_PI, assert); false when it is none known here.
bool std_add_macro(struct std_use *u, const char *name);
void std_release(struct std_use *u);

// The includes for compilers other than NVRTC.
void std_print_includes(const struct std_use *u, struct kr_bytes *out);
// What NVRTC gets. `libcu` says that a header of libcu++ is included, which has
// its own fixed-width types.
void std_print_prelude(const struct std_use *u, bool libcu, struct kr_bytes *out);

#endif
