#ifndef KR_DRIVER_OUTCOME_H
#define KR_DRIVER_OUTCOME_H

#include "../rewriter/rewriter.h"
#include "results.h"
#include "refine.h"
#include "tasks.h"

// What became of one kernel, and how it is told.

enum outcome_state {
  OUTCOME_OPEN,      // nothing was done yet
  OUTCOME_FRESH,     // tried before, nothing changed
  OUTCOME_REWRITTEN, // faster and proved: written, or in the diff
  OUTCOME_KEPT,      // tried, nothing was faster
  OUTCOME_CHECKED,   // on the CPU: right, modelled or not, never written
  OUTCOME_WAITING,   // prompts wait for replies; a later run goes on
  OUTCOME_REFUSED,   // by marker, parser or contract
  OUTCOME_FAILED     // the original, the model, the evaluator or the write failed
};

struct outcome {
  const struct task *task;
  enum outcome_state state;
  char *why; // a sentence for REFUSED, FAILED, KEPT, WAITING, may be there for OPEN and CHECKED; owned
  struct refine_result refined;
  bool have_refined;
  size_t winner;             // index into refined.turns; SIZE_MAX: none
  struct kr_verdict decided; // of the winner, confirmed; of CHECKED only where times were modelled
  struct kr_device_facts device;
  const char *backend; // "cuda", "cpu"; NULL: never judged
  const char *model;   // for provenance
  struct kr_reference reference;
  bool have_reference;
};

void outcome_init(struct outcome *out, const struct task *task);
void outcome_release(struct outcome *out);
void outcome_fail(struct outcome *out, enum outcome_state state, const char *why);

// How the winner goes into its source, below these lines. Borrows from both.
struct kr_rewrite outcome_rewrite(const struct outcome *out, const char *const *provenance);

// The GPU that the figures are of, for the ledger: "NVIDIA H200 sm_90", with
// " modelled" behind it where no clock was asked. The caller frees it.
char *outcome_gpu(const struct outcome *out);
// Were times modelled anywhere on the way?
bool outcome_is_modelled(const struct outcome *out);

// "rewritten", "kept", ...
const char *outcome_word(const struct outcome *out);
// What the winner would change in its file, without provenance.
int outcome_diff(const struct outcome *out, struct kr_bytes *diff, struct kr_err *err);
// Keeps a copy of what the original does.
void outcome_refer(struct outcome *out, const struct kr_reference *ref);
// "rewritten, 1.26x [1.25, 1.27] on NVIDIA H200 sm_90 (...)".
void outcome_sentence(const struct outcome *out, bool written, struct kr_bytes *b);
// One line: "src/saxpy.cu:21: saxpy: rewritten, 1.26x [1.25, 1.27] on NVIDIA H200 sm_90".
void outcome_line(const struct outcome *out, bool written, struct kr_bytes *b);
// For -v: the table of what was tried (table.h).
void outcome_turns(const struct outcome *out, size_t columns, struct kr_bytes *b);
void outcome_json(const struct outcome *out, struct results *js);

#endif
