#ifndef KR_DRIVER_REFINE_H
#define KR_DRIVER_REFINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/evaluator.h"
#include "budget.h"
#include "model.h"
#include "prompt.h"
#include "store.h"
#include "variant.h"

// The refinement loop of one kernel: trajectories of turns, each turn a prompt,
// a reply, a variant, a judgement and what is told of it. Serial refinement
// first: a trajectory is run to its end before the next begins. A model that can be
// asked many things at once is asked for all trajectories at once, up to `jobs`, and
// what is answered is judged, one at a time, while the others are (refine_fly.c): then
// turns are taken in the order in which the replies come. A trajectory whose question
// failed ends there, and the others go on, to the next beam at most, unless what failed
// was of a kind that fails them all.
//
// With a beam all trajectories take `beam_every` turns; then they are ranked by
// the best score of their turns (at equal scores the lower number first), the
// best `beam_keep` go on, and each is copied to fill the number again:
// trajectory i (from 0) continues the (i mod beam_keep)-th best. And so on every
// `beam_every` turns. The turns of all trajectories are a tree, in which a turn
// knows the one before it (its parent); what a prompt tells is the way from the
// root.
//
// With a store every step is kept as it happens, and a run begins with what is
// there: a turn that was judged is taken as it is, one that was answered is
// judged, and one that was only asked is asked again with the same prompt.

enum { REFINE_MAX_JOBS = 64 };

struct refine_options {
  unsigned trajectories, turns; // 0: 4 each
  struct budget *budget;        // of the whole run; what is spent is put down in it. NULL: no limit
  const volatile sig_atomic_t *stop; // NULL: never interrupted
  unsigned beam_every, beam_keep; // 0: no beam
  unsigned jobs; // questions at once; 0: as many as trajectories, but REFINE_MAX_JOBS
};

// Screen and evaluator. `number` counts judgements of this kernel from 1 and is
// different for each, so that seeds and held-out sizes can be drawn from it.
// Fills `v` (already initialised). Returns 0, or -1 with `err` when nothing more
// can be judged. `v->told` of a screen's refusal names lines as
// "variant.cu:LINE: ...", counted in the candidate's code, as a compiler does.
typedef int refine_judge(void *arg, const struct kr_candidate *cand, unsigned number,
                         struct kr_verdict *v, struct kr_err *err);

struct refine_turn {
  unsigned trajectory, turn; // from 1
  struct variant variant;
  struct kr_verdict verdict; // PARSE and REFUSED when there was no variant to judge
  char *told;                // feedback_tell(); owned
  const char *model;         // who was asked; the model's
  size_t parent;             // the turn before it; SIZE_MAX: it is a first one
  char *prompt;              // NULL for a model that reads none; owned
  char *reply;               // as it came, with its reasoning; owned
  bool truncated;
  bool from_store;           // of an earlier run
  double score;              // 0.3 correct + correct * T_base / T_variant; 0 when unchanged
  // The same code as that turn's, which answered for it; SIZE_MAX when judged
  // itself. Its verdict then holds figures, but no texts and no times.
  size_t same_as;
  uint64_t tokens_in, tokens_out;
  double model_ms, judge_ms;
};

enum refine_end {
  REFINE_DONE,        // every turn was taken
  REFINE_MAX_CALLS,   // this and the next two: a budget was used up before all turns were taken
  REFINE_MAX_TOKENS,
  REFINE_TIME_BUDGET,
  REFINE_EXHAUSTED,   // the model has nothing left to propose
  REFINE_ROOFLINE,    // a right variant moves its bytes about as fast as the memory can
  REFINE_WAITING,     // nothing more to do without the replies that were asked for
  REFINE_INTERRUPTED,
  REFINE_MODEL,       // the model failed; `why` and `failure` say how
  REFINE_JUDGE,       // judge() could not go on
  REFINE_PROMPT       // the kernel does not fit a prompt
};

enum { REFINE_FINALISTS = 3 };

struct refine_result {
  struct refine_turn *turns; // all, in the order they were taken
  size_t n, cap;
  // Indices of the best correct distinct variants, the fastest by search figure
  // first. Where times are known only those faster than the original.
  size_t finalists[REFINE_FINALISTS];
  size_t n_finalists;
  enum refine_end end;
  enum model_failure failure; // of REFINE_MODEL
  char *why;                  // a sentence for all but DONE; owned
  unsigned calls;             // replies asked for
  unsigned waiting;           // prompts whose replies are for a later run; no calls
  uint64_t tokens_in, tokens_out;
};

enum refine_event_kind {
  REFINE_ASKING,
  REFINE_REPLIED, // and is judged next
  REFINE_JUDGED,
  REFINE_BEAM,
  REFINE_AWAITING // nothing to judge until a reply comes; only with `awaited`
};

// Something to show. Borrowed for the time of the call.
struct refine_event {
  enum refine_event_kind kind;
  const char *kernel;
  unsigned trajectory, trajectories, turn, turns;
  unsigned awaited; // questions under way at once; 0 where they are asked one by one
  const char *prompt;              // ASKING; NULL for a model that reads none
  const struct model_reply *reply; // REPLIED; without its text
  const struct refine_turn *done;  // JUDGED
  const size_t *heads;             // BEAM: the turn that each trajectory continues, `trajectories` of them
};

// Everything that a run needs and does not own.
struct refine {
  struct prompt_task task;
  struct model *model;
  refine_judge *judge;
  void *judge_arg;
  void (*event)(void *arg, const struct refine_event *event); // may be NULL
  void *event_arg;
  struct store_search *search; // NULL: nothing is kept
  struct refine_options options;
};

// Runs the loop. Returns 0 when it ended by itself (DONE to WAITING), else -1
// with `err`, which `result->why` repeats. What was found until then is in
// `result` either way; the caller releases it.
int refine_run(const struct refine *r, struct refine_result *result, struct kr_err *err);
void refine_result_release(struct refine_result *result);

// Is it one of the budgets?
bool refine_end_is_budget(enum refine_end end);
// The word for an end: "done", "max-calls", ...
const char *refine_end_name(enum refine_end end);

// The score of a verdict.
double refine_score(const struct kr_verdict *v);

#endif
