#ifndef KR_DRIVER_SPAWN_H
#define KR_DRIVER_SPAWN_H

#include <signal.h>
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

// The same for a program that is given something to read and may start others: it
// gets a process group of its own, which is killed as a whole when it ran too
// long, when `*stop` is set, when it says more than `out` may hold, and when it
// has ended and left others behind. Neither it nor they are given what looks
// like a key in our environment.
struct spawn_feed {
  const char *const *argv;
  const char *input; // its standard input
  size_t input_len;
  const char *const *extra_env; // "NAME=value", ended by NULL; may be NULL
  unsigned timeout_ms;
  const volatile sig_atomic_t *stop; // NULL: never
  struct kr_bytes *out, *errs;
  bool started, stopped; // filled: it ran at all; it was killed for `*stop`
};
int spawn_feed(struct spawn_feed *f, struct kr_err *err);

// A command line as words, by blanks; '...' keeps all, "..." and \ work as in a
// shell, and nothing is expanded. Returns an array ended by NULL, freed by
// spawn_words_free(), or NULL with `err`: an open quote, no word.
char **spawn_words(const char *text, struct kr_err *err);
void spawn_words_free(char **words);

#endif
