#ifndef KR_CPU_CHILD_H
#define KR_CPU_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../base/bytes.h"
#include "../base/err.h"

// A child process, run to its end or to a time limit.
struct child {
  const char *program;
  char **argv; // NULL-terminated
  int in;      // its descriptor 0; -1: the null device
  // What it writes to descriptors 1 and 2; NULL: the null device.
  struct kr_bytes *out, *log;
  int fd3, fd4; // passed as 3 and 4; -1: none
  unsigned timeout_ms;
  // NULL, or a shorter limit that another thread may set while it runs; 0: none yet.
  const atomic_uint *shorter_ms;
  // Filled by child_run().
  int status; // as of waitpid()
  bool late;  // killed at the limit
  double cpu_ms; // processor time it used
};

// Starts it with an empty environment and nothing else open, and waits.
// Returns 0, or -1 when it could not be started.
int child_run(struct child *c, struct kr_err *err);

#endif
