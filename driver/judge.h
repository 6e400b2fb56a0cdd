#ifndef KR_DRIVER_JUDGE_H
#define KR_DRIVER_JUDGE_H

#include "../evaluator/evaluator.h"
#include "../plugin/plugin.h"

// The cascade: token screen, then the worker's compile, smoke, check and time
// beside the facts from the parser, then the fact screen. This is the one place
// that knows the order, for kevin-rewrite and kevin-eval alike. The first stage
// that fails gives the verdict.

struct judge_setup {
  const struct kr_contract *contract;
  const struct kr_source *source; // the user's file
  const struct kr_pkernel *kernel;
  struct kr_parser *parser;
  struct kr_parse_request request; // flags and folder of that file
  struct kr_worker_options worker;
  uint64_t seed; // all judgements are drawn from it
};

struct judge;

// Starts a worker and runs the original. Borrows what the setup points to.
// Returns 0, or -1 with a sentence about the original or the environment.
int judge_open(struct judge **out, const struct judge_setup *setup, struct kr_err *err);
void judge_close(struct judge *j);
// How far judge_candidate() goes from now on: CHECK, or TIME, as from the start. An
// evaluator that cannot time goes on to count (its verdicts are then modelled); one
// that can do neither ends at CHECK by itself.
void judge_until(struct judge *j, enum kr_stage until);
const struct kr_reference *judge_reference(const struct judge *j);

// Has the signature of refine_judge (`arg` is the struct judge *). Search
// judgement number `number`; a worker that was lost is replaced. Returns 0 with
// `v` filled, or -1 when nothing more can be judged here.
int judge_candidate(void *arg, const struct kr_candidate *cand, unsigned number,
                    struct kr_verdict *v, struct kr_err *err);

// The decision: `n` finalists, measured in JUDGE_WORKERS fresh processes, as many of
// them at once as memory allows; each measures the finalists in turn, but for those that
// one of them has found wrong by then, and what is to be checked is dealt out among them.
// verdicts[i] is replaced by finalist i's; where several found it wrong, by the verdict of
// the first of these processes, and where the machine failed one and none found it wrong,
// by that. Returns 0, or -1 with a sentence, and `verdicts` as they
// were. `tell` (may be NULL) hears in the caller's thread how many measurements ended.
enum { JUDGE_WORKERS = 5 };
int judge_confirm(struct judge *j, const struct kr_candidate *const *cands, size_t n,
                  struct kr_verdict *verdicts,
                  void (*tell)(void *arg, size_t finalist, unsigned shares), void *arg,
                  struct kr_err *err);

// The decision where times are modelled: one finalist judged thoroughly (all
// distributions, placements and held-out sizes) with a seed of its own in a fresh
// worker. `v` is replaced; `confirmed` is set where it is right and modelled again.
int judge_confirm_modelled(struct judge *j, const struct kr_candidate *cand, size_t finalist,
                           struct kr_verdict *v, struct kr_err *err);

#endif
