#ifndef KR_EVALUATOR_H
#define KR_EVALUATOR_H

#include "backend.h"
#include "contract.h"
#include "gpu_model.h"

// Is it right, and how fast: verdicts on candidates under a contract.
//
// The evaluator knows nothing of the user's sources or of models. In process it
// is `struct kr_evaluator` on top of a back end; for isolation the same calls go
// to a kevin-worker through `struct kr_worker` (a child behind a socket pair,
// one JSON document a message, see evaluator/README.md). A worker that dies,
// hangs or answers nonsense costs that worker and gives a verdict; the next
// call starts a fresh one.

// --- verdicts ---

enum kr_stage {
  KR_STAGE_PARSE,   // the reply held no code
  KR_STAGE_SCREEN,  // the code holds what it may not
  KR_STAGE_COMPILE,
  KR_STAGE_SMOKE,   // one launch on the smallest case
  KR_STAGE_CHECK,   // cases, seeds, distributions, held-out sizes
  KR_STAGE_TIME,
  KR_STAGE_CONFIRM
};

enum kr_status {
  KR_STATUS_OK,        // passed every stage that was asked for
  KR_STATUS_UNCHANGED, // machine code equal to the original's
  KR_STATUS_REFUSED,   // by the parser or the screen
  KR_STATUS_COMPILE_ERROR,
  KR_STATUS_LAUNCH_FAILED,
  KR_STATUS_FAULT,
  KR_STATUS_TIMEOUT,
  KR_STATUS_WRONG,
  KR_STATUS_UNSTABLE,    // two runs on equal inputs differ where the original's do not
  KR_STATUS_IMPOSSIBLE,  // faster than its bytes can move
  KR_STATUS_UNSUPPORTED, // the back end cannot run it, by name
  KR_STATUS_ENVIRONMENT  // not the candidate's fault: the worker or the driver broke
};

const char *kr_stage_name(enum kr_stage stage);    // "compile"
const char *kr_status_name(enum kr_status status); // "compile-error"

// What a launch was counted to do, and the time modelled from that.
struct kr_case_model {
  struct kr_counters counters;
  struct kr_modelled modelled;
};

// The times of one case.
struct kr_case_time {
  char *label;
  double base_us, cand_us;  // medians
  double ratio, lo, hi;     // base over candidate; 95 % over samples (search) or workers (confirm)
  size_t n;                 // samples or workers; 0: modelled
  // Modelled only: what bounds each (kr_term_name()); NULL otherwise. Not owned.
  const char *base_bound, *cand_bound;
  // Modelled only, for whoever wants to know why: owned, NULL otherwise.
  struct kr_case_model *base_model, *cand_model;
};

struct kr_verdict {
  enum kr_stage stage; // the last one reached
  enum kr_status status;
  // What happened, in full: the compiler's log with lines counted in the
  // candidate's own code ("variant.cu:12: error: ..."), or a sentence. For
  // people and the store; owned, may be NULL.
  char *log;
  // What the model may know of it. On held-out sizes names stage and kind
  // only. Owned, may be NULL.
  char *told;
  bool held_out; // it failed on a size the model was not told
  // First wrong element, for people.
  char *where;          // "y[3][17] in case n = 1000"; owned, may be NULL
  double expected, got; // with `where`
  double max_rel_err;   // largest |c - r| / (|r| + rms(r)) seen over all checks; -1: nothing compared
  size_t checks;        // instances compared
  bool exact;           // every output was equal bit for bit
  struct kr_case_time *times;
  size_t n_times;
  double speedup, lo, hi; // geometric mean over cases with its interval; 0 when not timed
  bool confirmed;         // speedup comes from a confirmation
  // The times come from counters and a model of this GPU, not from a clock. lo
  // and hi are then how far such a ratio was seen to be off, wider where blocks of
  // uneven work were sampled.
  bool modelled, model_validated;
  char model_gpu[64]; // "NVIDIA H200 sm_90"; "" when not modelled
  struct kr_resources base_resources, resources;
  double wall_ms, compile_ms, check_ms, time_ms;
  struct kr_hash code_hash; // machine code
  char *note;               // "clocks dropped", ...; owned, may be NULL
};

void kr_case_time_release(struct kr_case_time *t);
void kr_verdict_init(struct kr_verdict *v);
void kr_verdict_release(struct kr_verdict *v);
void kr_verdict_to_json(const struct kr_verdict *v, struct kr_bytes *out);
int kr_verdict_from_json(struct kr_verdict *v, const char *json, size_t len, struct kr_err *err);

// --- the reference ---

// A size at which the original was run, and how that went.
struct kr_probe {
  char *label; // "n = 1048577"
  bool usable;
  char *why; // when not; NULL otherwise
};

struct kr_reference {
  struct kr_device_facts device;
  struct kr_hash code_hash;
  struct kr_resources resources;
  bool deterministic;  // repeats are equal bit for bit
  bool exact_ends;     // survives buffers that end exactly at unmapped memory
  bool exact_starts;   // ... that start there
  bool integer_exact;  // all outputs are integers, or exact on integer inputs
  bool oracle;         // can be computed in double to see how precise it is
  char *oracle_why;    // when not: the reason
  struct kr_probe *probes; // held-out sizes, usable or not
  size_t n_probes;
  double *case_us; // cold time a case; NULL where the back end neither times nor counts
  size_t n_cases;
  double *case_bytes; // bytes of all buffers, counted once each (inout twice)
  double *case_written; // bytes that it was seen to write; NULL: not known
  // case_us comes from counters and a model of a GPU (struct kr_verdict); 0 for a
  // case that could not be counted.
  bool modelled, model_validated;
  char model_gpu[64];
  struct kr_case_model *case_model; // n_cases of them where modelled, else NULL
  char *model_why; // why a case or all of them have no modelled time; NULL otherwise
  char *require_hint; // "works only when n % 1024 == 0; add require(n % 1024 == 0)", or NULL
};

void kr_reference_release(struct kr_reference *r);
void kr_reference_to_json(const struct kr_reference *r, struct kr_bytes *out);
int kr_reference_from_json(struct kr_reference *r, const char *json, size_t len,
                           struct kr_err *err);

// --- in process ---

struct kr_evaluator;

// Runs the original under the contract. On failure `err` is a sentence about
// the original or the contract ("the original reads outside `x` ... section or
// filler is wrong"; "output `kept` differs from run to run ..."). On the CPU
// back end declared cases are shrunk first (DESIGN: every let that is not fix
// scaled down together until a run takes at most 0.2 s).
int kr_evaluator_open(struct kr_evaluator **out, const struct kr_backend *backend,
                      const struct kr_backend_options *options, const struct kr_contract *c,
                      uint64_t seed, struct kr_err *err);
void kr_evaluator_close(struct kr_evaluator *e);
const struct kr_reference *kr_evaluator_reference(const struct kr_evaluator *e);

struct kr_judge_options {
  enum kr_stage until;    // CHECK or TIME
  uint64_t seed;          // of this judgement: inputs and held-out sizes are drawn from it
  unsigned check_budget_ms; // 0: 2000; every declared case is checked whatever it says
  unsigned time_budget_ms;  // 0: 400
  bool thorough;            // all distributions, placements and held-out sizes (finalists)
  // Of `shares` judgements that deal a thorough check out among them this is number
  // `share`, from 0; the smallest case is for each. 0: a whole one.
  unsigned share, shares;
};

// compile, smoke, check, time. Always fills `v`; -1 only when the device is
// lost (the verdict is there all the same) and the evaluator must be reopened.
int kr_evaluator_judge(struct kr_evaluator *e, const struct kr_candidate *cand,
                       const struct kr_judge_options *options, struct kr_verdict *v);

// One worker's share of a confirmation: for each case the mean log ratio
// log(base / candidate) over a number of ABBA blocks fixed beforehand, on fresh
// inputs at random placement, whose results are compared, and its part of a thorough
// check (struct kr_judge_options).
struct kr_confirm_options {
  uint64_t seed;
  unsigned pairs; // ABBA blocks a case; 0: 60
  unsigned share, shares; // as in struct kr_judge_options; 0 shares: all of the check
};
struct kr_confirm_share {
  struct kr_verdict verdict; // of its part of the check
  double *log_ratio;         // one a case
  double *base_us, *cand_us; // medians, one a case
  size_t n_cases;
};
int kr_evaluator_confirm(struct kr_evaluator *e, const struct kr_candidate *cand,
                         const struct kr_confirm_options *options, struct kr_confirm_share *out);
void kr_confirm_share_release(struct kr_confirm_share *s);

// The decision: an interval over workers. The geometric mean over cases is
// taken in each worker; the interval is Student's t over workers at
// 1 - alpha / n_finalists, two-sided. Fills times, speedup, lo, hi, confirmed.
// A win: lo > min_speedup, and no case's hi below 0.98 (kr_verdict_wins()); of a
// modelled verdict likewise, without a confirmation.
void kr_confirm_decide(const struct kr_confirm_share *shares, size_t n_workers,
                       size_t n_finalists, const struct kr_contract *c, struct kr_verdict *v);
bool kr_verdict_wins(const struct kr_verdict *v, double min_speedup);

// --- across a process ---

struct kr_worker;

struct kr_worker_options {
  const char *program; // path of kevin-worker; NULL: the one installed with this program
  const char *backend; // "cuda" or "cpu"
  struct kr_backend_options device;
};

// Starts nothing yet. Borrows the contract and the strings.
struct kr_worker *kr_worker_new(const struct kr_worker_options *options,
                                const struct kr_contract *c, uint64_t seed);
void kr_worker_free(struct kr_worker *w); // kills the child
// Hands a worker that was not opened yet what another found out about the original
// under the same seed. Opened by kr_worker_confirm() it does not run the original again,
// else at the declared cases alone. Without effect where nothing is timed. Copies it.
void kr_worker_know(struct kr_worker *w, const struct kr_reference *ref);
// Starts the child and opens the evaluator in it. `ref` is filled and released by the caller.
int kr_worker_open(struct kr_worker *w, struct kr_reference *ref, struct kr_err *err);
// As kr_evaluator_judge(); a dead or silent worker gives FAULT or TIMEOUT when
// it died of the candidate, ENVIRONMENT when a fresh one dies too before it
// touched it. Returns 0 always but when no worker can be started at all.
int kr_worker_judge(struct kr_worker *w, const struct kr_candidate *cand,
                    const struct kr_judge_options *options, struct kr_verdict *v,
                    struct kr_err *err);
int kr_worker_confirm(struct kr_worker *w, const struct kr_candidate *cand,
                      const struct kr_confirm_options *options, struct kr_confirm_share *out,
                      struct kr_err *err);
// The two halves of a judgement, for a caller that has other things to do
// meanwhile.
int kr_worker_judge_begin(struct kr_worker *w, const struct kr_candidate *cand,
                          const struct kr_judge_options *options, struct kr_err *err);
int kr_worker_judge_end(struct kr_worker *w, struct kr_verdict *v, struct kr_err *err);

// What can be had here, for `auto` and for --version: fills `facts` and returns
// 0, or -1 with the reason. Asks a short-lived worker, so that the driver itself
// never loads libcuda.
int kr_worker_probe(const struct kr_worker_options *options, struct kr_device_facts *facts,
                    struct kr_err *err);

#endif
