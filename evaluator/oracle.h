#ifndef KR_ORACLE_H
#define KR_ORACLE_H

#include "evaluate.h"

// The original computed in double: what its results would be without rounding.
// It says how far off the original itself is, and with that how much an output
// may be off (compare.h), and whether a candidate is less precise.
//
// The slice is widened (widen.h), parameters and buffers are laid out anew with
// double in the place of float, half and bfloat16, contents are those of the
// instance in hand, value by value. Geometry is the original's, with the dynamic
// shared memory that the wider type needs.
//
// There is none where the text cannot be widened with certainty, where the result
// does not compile, does not fit the device, or does not agree with the original
// on a declared case within the most that a tolerance is raised to. Inside
// evaluator/ only.

struct oracle;

// Looks whether the original can be widened; fills ref.oracle and ref.oracle_why.
// Compiles nothing.
void oracle_open(struct kr_evaluator *e);
void oracle_close(struct kr_evaluator *e);

// An instance as the oracle leaves it. Release in any case.
struct oracle_run {
  bool there;
  struct kr_instance in;
  struct trial trial;
};

// Runs the oracle on an instance of which `ref` is what the original made.
// Compiles and validates it when it was not needed before. Returns 1; 0 when there
// is none for this instance (`err` says why); -1 when the back end broke or the
// device went with it.
int oracle_run(struct kr_evaluator *e, const struct kr_instance *in, const struct trial *ref,
               struct oracle_run *out, struct kr_err *err);
void oracle_run_release(struct oracle_run *r);

// The tolerance of every leaf of every buffer, [buffer][leaf], 0 where the default
// stays: twice the largest |r - o| / (|r| + rms(r)), at most compare_rtol_most().
// `run` NULL: the most.
double **oracle_tolerances(const struct kr_instance *in, const struct trial *ref,
                           const struct oracle_run *run);
void oracle_tolerances_free(const struct kr_instance *in, double **t);

// An output whose rms error against the oracle is more than twice the original's.
// Both may have ORACLE_FLOOR of the type's rtol times rms(o) beside that: of an
// original that is exact, or lucky, nobody has to be better than rounding is. A
// quarter of rtol is half a unit of half and bfloat16, and 40 units of float: a
// sum in any order stays below, a sum in half does not.
#define ORACLE_FLOOR 0.25
struct oracle_worse {
  size_t buffer, leaf;
  double got, original; // rms(c - o) / rms(o), rms(r - o) / rms(o)
};
bool oracle_finds_worse(const struct kr_instance *in, const struct trial *ref,
                        unsigned char *const *got, const struct oracle_run *run,
                        struct oracle_worse *out);

// --- oracle_layout.c ---

// The contract in double, to be released. -1 with the reason why there is none.
int oracle_contract(const struct kr_contract *c, struct kr_contract *out, struct kr_err *why);
// `in` under the contract `wide` that oracle_contract() made of its own.
int oracle_instance(const struct kr_instance *in, const struct kr_contract *wide,
                    struct kr_instance *out, struct kr_err *why);

#endif
