#ifndef KR_TRIAL_H
#define KR_TRIAL_H

#include "compare.h"
#include "evaluator.h"

// One kernel run twice on one instance: with two poisons, at two placements.
// Inside evaluator/ only.

// Bytes that fill outputs and gaps: NaN for every floating type; and values of
// common size, so that a kernel that adds to what was there leaves a trace (48.6
// as float; what is added to a huge value vanishes, and to NaN it changes nothing).
enum { TRIAL_POISON_A = 0xff, TRIAL_POISON_B = 0x42 };

struct trial {
  struct kr_run_result run[2];
  unsigned char poison[2];
  // The first thing that went wrong; OK when both launches ended well.
  enum kr_status status;
  char text[640]; // a sentence without the case's label
  bool state_written; // in a variable of the module, by a launch that ended well
  bool device_lost;
  double wall_ms, cpu_ms; // of the slower launch; cpu_ms 0: not known
};

// What a device and a kernel's original allow.
struct trial_device {
  const struct kr_backend *backend;
  struct kr_device *dev;
  const struct kr_device_facts *facts;
  bool exact_ends, exact_starts;
};

// True when `place` keeps the promised alignment of every buffer's element 0.
bool trial_place_fits(const struct kr_instance *in, enum kr_placement place);
// The placement nearest to `want` that the original survives and that keeps promises.
enum kr_placement trial_place(const struct trial_device *d, const struct kr_instance *in,
                              enum kr_placement want);
// Launches `m` with `geometry` on `data` once (`n_runs` = 1; the second result
// is then empty) or twice. An empty grid runs nothing and leaves every buffer
// as it was. Returns 0 with the trial filled, -1 when the back end itself broke.
int trial_run(struct trial *t, const struct trial_device *d, struct kr_module *m,
              struct kr_dataset *data, const struct kr_instance *in,
              const struct kr_geometry *geometry, const enum kr_placement place[2], int n_runs,
              struct kr_err *err);
void trial_release(struct trial *t);
// Two trials of two runs each, to be compared.
struct compare_input trial_input(const struct kr_instance *in, const struct trial *ref,
                                 const struct trial *got);

#endif
