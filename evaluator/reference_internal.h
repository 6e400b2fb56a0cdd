#ifndef KR_REFERENCE_INTERNAL_H
#define KR_REFERENCE_INTERNAL_H

#include "evaluate.h"

// Opening an evaluator: reference.c runs the original at its declared cases,
// reference_shrink.c makes these small where nothing is timed, reference_probe.c
// finds out what else the original survives.

// What one run of the original on an instance showed.
struct original_run {
  struct trial trial;
  bool clean;         // both launches ended well and agree within the tolerance
  bool deterministic; // they agree bit for bit
  struct kr_bytes why;
};

// Runs the original twice and compares the two. Returns 0 with `o` filled; -1 when
// the back end broke or the device is lost. Release in any case.
int reference_run(struct kr_evaluator *e, const struct kr_instance *in, struct kr_dataset *data,
                  struct original_run *o, struct kr_err *err);
void reference_run_release(struct original_run *o);

// Whether an attempt ended a process before.
bool reference_avoids(const struct kr_evaluator *e, const char *attempt);
// A new attempt, or "" when one is over; what the device was lost at stays.
void reference_attempt(struct kr_evaluator *e, const char *attempt);

// Finds the largest scale of a case at which a run takes little time, and puts it
// into the case's overrides.
int reference_shrink(struct kr_evaluator *e, size_t case_index, struct kr_err *err);

// Other sizes: those at which the original is clean become points of `e`.
int reference_probe_sizes(struct kr_evaluator *e, struct kr_err *err);
// Whether the original survives buffers at an edge of memory.
int reference_try_place(struct kr_evaluator *e, enum kr_placement place, const char *attempt,
                        bool *survives, struct kr_err *err);
// Integer inputs on a small size: are all results whole, so that nothing is rounded?
int reference_try_integers(struct kr_evaluator *e, struct kr_err *err);

#endif
