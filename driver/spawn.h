#ifndef KR_DRIVER_SPAWN_H
#define KR_DRIVER_SPAWN_H

#include <stdbool.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// Runs a program to its end, from an argv array, never through a shell. Its
// standard input is empty; `out` and `errs` (either may be NULL: thrown away)
// receive what it says. Gives its exit status, 128 + signal when it was killed,
// or -1 with `err` when it could not be started or ran past `timeout_ms`, in
// which case it is killed. `-v` prints the command.
int spawn_run(const char *const *argv, const char *dir, unsigned timeout_ms, struct kr_bytes *out,
              struct kr_bytes *errs, struct kr_err *err);

#endif
