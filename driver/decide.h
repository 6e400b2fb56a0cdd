#ifndef KR_DRIVER_DECIDE_H
#define KR_DRIVER_DECIDE_H

#include "judge.h"
#include "outcome.h"

// From a kernel's finalists to its outcome: which variant is taken, and why none is.

struct decide {
  struct judge *judge;
  bool measures; // the evaluator has a clock; else it models at best
  bool writes;   // what was only modelled may be written
  // Told as it goes, may be NULL: measuring, that `n` measurements ended, the last of
  // them of `finalist`; else that finalist `finalist` begins, and `n` is 1.
  void (*tell)(void *arg, size_t finalist, unsigned n);
  void *arg;
};

// Sets state, winner, decided and why of an outcome that has `refined`. Returns 0, or
// -1 when nothing was found out, for which the machine is to blame.
int decide(const struct decide *d, struct outcome *out, struct kr_err *err);

#endif
