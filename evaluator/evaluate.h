#ifndef KR_EVALUATE_H
#define KR_EVALUATE_H

#include "evaluator.h"
#include "sizes.h"
#include "trial.h"

// The evaluator from inside: reference*.c open it, judge*.c use it.

// A size whose buffers are larger than this costs seconds to judge, not
// milliseconds: few of them are tried.
enum { EVALUATOR_LARGE_BYTES = 64 << 20 };

struct declared_case {
  // Overrides in force: `sms`, and on a back end that cannot time the shrunk sizes.
  struct kr_override overrides[SIZES_MAX_OVERRIDES];
  size_t n_overrides;
  size_t bytes;
  struct sizes_binding *bindings;
  // Kept between judgements where memory allows: contents drawn at open, and
  // what the original made of them, on the host alone.
  bool kept;
  struct kr_instance in;
  struct kr_dataset *data;
  struct trial expected;
  double written_bytes; // that the original was seen to write, at least
};

struct kr_evaluator {
  const struct kr_backend *backend;
  struct kr_device *dev;
  const struct kr_contract *c; // borrowed
  uint64_t seed;
  struct trial_device d;
  struct kr_module *original;
  struct oracle *oracle; // of oracle.h; NULL: none
  struct kr_reference ref;
  struct declared_case *cases; // c->n_cases
  struct sizes_point *points;  // held-out sizes at which the original was clean
  size_t n_points, cap_points;
  bool lost;
  char **avoid; // attempts of the original that are not made
  size_t n_avoid;
  const struct kr_reference *known; // from the caller of evaluator_open()
  bool brief;
  struct model_state *model; // where the back end counts and does not time; else NULL
  unsigned large_left; // large held-out sizes that may still be tried
  char attempt[200]; // what the original is being tried at, or was when the device went
  // Called as stages of a judgement begin, and as attempts at opening do; may be NULL.
  void (*on_stage)(void *watcher, enum kr_stage stage);
  void (*on_attempt)(void *watcher, const char *attempt);
  void *watcher;
};

// How to open an evaluator whose predecessors in other processes are known: an
// original that faults takes a GPU's context with it, and with that the process.
struct evaluator_setup {
  const struct kr_backend *backend;
  const struct kr_backend_options *options;
  const struct kr_contract *contract;
  uint64_t seed;
  const char *const *avoid; // attempts that ended a process before
  size_t n_avoid;
  const struct kr_reference *known; // an earlier reference, taken as it is; or NULL
  // One of several that share the work of a confirmation: with a reference that is
  // known nothing runs again, without one a single large size is tried.
  bool brief;
  void (*on_stage)(void *watcher, enum kr_stage stage);
  void (*on_attempt)(void *watcher, const char *attempt);
  void *watcher;
};

// As kr_evaluator_open(). When an attempt (a placement, a held-out size) took
// the device with it, returns -1 with its name in `lost`, to be avoided by the
// next process; `lost` is "" for every other failure.
int evaluator_open(struct kr_evaluator **out, const struct evaluator_setup *setup, char *lost,
                   size_t lost_size, struct kr_err *err);

// Makes the instance of a case with further overrides on top of those in force.
int evaluator_instance(const struct kr_evaluator *e, size_t case_index, uint64_t seed,
                       enum kr_distribution dist, const struct kr_override *extra, size_t n_extra,
                       struct kr_instance *out, struct kr_err *err);
// The original, twice, on an instance. 0 with the trial filled; -1 when the back end broke.
int evaluator_original(struct kr_evaluator *e, const struct kr_instance *in,
                       struct kr_dataset *data, struct trial *out, struct kr_err *err);

#endif
