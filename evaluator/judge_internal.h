#ifndef KR_JUDGE_INTERNAL_H
#define KR_JUDGE_INTERNAL_H

#include "evaluate.h"
#include "oracle.h"

// A judgement in hand: judge.c begins, compiles and ends it, judge_check.c looks
// whether results are right, judge_oracle.c how right they can be, judge_time.c how
// fast they come, or judge_model.c how fast they would come from a GPU that is not
// here.

struct judgement {
  struct kr_evaluator *e;
  const struct kr_candidate *cand;
  const struct kr_judge_options *o;
  struct kr_verdict *v;
  struct kr_module *m;
  struct kr_bytes text; // that was compiled
  const struct kr_geometry *geometry;
  uint64_t draws; // of random numbers so far
  double check_end_ms;
  unsigned n_fresh; // instances made so far
  bool extreme; // the instance in hand holds large or mixed magnitudes
  bool precise; // at the instance in hand precision is looked at too
  // The oracle on the instance in hand.
  const struct kr_instance *wide_of; // NULL: it was not asked
  bool wide_known;
  struct oracle_run wide;
  char *wide_why; // when not known; owned
  // The largest tolerance that let an output pass, and whose; NULL: none was raised.
  double raised_rtol;
  const char *raised_path;
  bool device_lost;
};

// How a step ends: a step that failed has put the verdict, one that broke says
// nothing about the candidate.
enum { JUDGE_PASSED, JUDGE_FAILED, JUDGE_BROKE };

// --- judge.c ---

// Random bits that no other judgement gets.
uint64_t judge_draw(struct judgement *j);
// Said before the candidate is touched, so that whoever watches this process
// knows of what it died.
void judge_begin_stage(struct judgement *j, enum kr_stage stage);
// Puts the verdict. What models are told of sizes that are held out is stage and
// kind alone.
void judge_fail(struct judgement *j, enum kr_stage stage, enum kr_status status, bool held_out,
                const char *text);
void judge_fail_trial(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                      const struct trial *t);
void judge_fail_compare(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                        const struct compare_result *r, const char *words);
// Whether the candidate's launches are the original's at all declared cases.
bool judge_same_launches(const struct judgement *j);
// Adds to what is said beside the verdict; what was said already is not repeated.
void judge_note(struct kr_verdict *v, const char *text);
// The driver or the worker broke: nothing is said about the candidate. Returns -1.
int judge_broke(struct judgement *j, const char *text);

// --- judge_check.c ---

// Whether piece `k` of a thorough check is for this judgement, where several deal it
// out among them.
bool judge_is_dealt(const struct judgement *j, size_t k);
// Smoke and check: declared cases, then sizes that nobody told.
int judge_check(struct judgement *j);
// Makes an instance, loads it and checks. One that cannot be made passes: there
// is nothing there to compute.
int judge_fresh(struct judgement *j, enum kr_stage stage, size_t case_index, uint64_t seed,
                enum kr_distribution dist, const struct kr_override *o, size_t n, bool held_out);
// The same for an instance in hand, whose outputs may be filled on the way.
int judge_instance(struct judgement *j, enum kr_stage stage, struct kr_instance *in);
// The largest of the declared cases and of the points that takes milliseconds.
bool judge_largest_cheap(const struct kr_evaluator *e, struct sizes_point *out);

// Bytes of all buffers at a point; SIZE_MAX when it is no size at all.
size_t judge_point_bytes(const struct kr_evaluator *e, const struct sizes_point *p);
// Whether the original is clean at a point, seen with contents that the candidate
// will not get. Returns 1 or 0, or -1 when the device is lost. `attempt` names it for
// the next process, which will not try what is named so; NULL: named after the point.
int judge_clean_at(struct judgement *j, const struct sizes_point *p, const char *attempt);
int judge_point(struct judgement *j, const struct sizes_point *p, enum kr_distribution dist);

// --- judge_oracle.c ---

// Compares, at first by the tolerances of the types; what these refuse and the
// most they are raised to would let pass is compared once more by what the oracle
// says. JUDGE_PASSED with `r` filled, and `words` when it is not equal; JUDGE_BROKE
// with the verdict put.
int judge_compare(struct judgement *j, const struct trial *ref, struct compare_input *q,
                  struct compare_result *r, struct kr_bytes *words);
// Refuses what is less precise than the original. Passes where there is no oracle.
int judge_precision(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                    const struct trial *ref, const struct trial *got);
// Before the instance in hand goes.
void judge_oracle_forget(struct judgement *j);
// Puts what was raised into the verdict's note.
void judge_oracle_note(struct judgement *j);

// --- judge_sensitive.c ---

// Inputs in which a few elements stand far above the others: what is left out of a
// sum, or out of anything else that is divided among many, then shows.
int judge_sensitive(struct judgement *j);

// --- judge_sizes.c ---

// Sizes at and beside the numbers that the candidate's own text holds.
int judge_own_sizes(struct judgement *j);

// --- judge_time.c ---

// Times every case and checks what was timed; fills the verdict's times.
int judge_time(struct judgement *j);
// One case of a confirmation, with fresh contents.
int judge_confirm_case(struct judgement *j, size_t index, unsigned pairs,
                       struct kr_confirm_share *out);
// What was timed is checked again: a kernel that is right only for its first
// launches, or only on contents it has seen, is wrong.
int judge_after_timing(struct judgement *j);

// --- judge_model.c ---

// Counts every case at its declared size and models its time; fills the verdict's
// times.
int judge_model(struct judgement *j);

#endif
