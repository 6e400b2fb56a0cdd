#ifndef KR_DRIVER_PROVE_H
#define KR_DRIVER_PROVE_H

#include "../evaluator/base/source.h"

// Does a patched source compile, and is the rest of it what it was? Asked of a real compiler before the source is
// written: nvcc of `cuda_path` or PATH for host and device; where there is none,
// clang for the device half alone, judged against what it says of the original.
//
// The text is compiled as if it stood in the original's place (its quoted
// includes, its name in messages) in a folder of its own outside the user's
// tree, with `flags`, which were vetted by kr_flags_filter(), and a scrubbed
// environment. `cuda_path` may be NULL.
//
// With nvcc, original and patched text are then compiled to machine code for each
// architecture of the flags: every device function but the kernels in `kernels` (their
// names alone, and helpers that lie inside them) must have the same. Where they differ
// they are compared once more with NDEBUG, since what assert() says holds line numbers. A
// version that brings a table of constants moves those that others read and is refused.
//
// Returns 0 when all is well, 1 when it is not (`err` holds the compiler's first error
// in the file's own terms, or which function changed), -1 when no compiler could tell: none is
// there, it took too long, or it cannot compile the original either.
int kr_prove_compiles(const struct kr_source *original, const void *patched, size_t len,
                      const char *const *flags, size_t n, const char *cuda_path,
                      const char *const *kernels, size_t n_kernels, struct kr_err *err);

#endif
