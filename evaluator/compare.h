#ifndef KR_COMPARE_H
#define KR_COMPARE_H

#include "instance.h"

// Did it compute what the original computes? Everything that two launches of
// each left in the buffers is compared: outputs by the tolerance below, inputs
// bit for bit with what they were.
//
// An element c passes against r when |c - r| <= rtol * (|r| + rms(r)), rms over
// that output (over one leaf of a struct: leaves are outputs of their own,
// padding is nothing). rtol is 1e-12, 1e-5, 2e-3, 1.6e-2 for double, float,
// half, bfloat16. compare(tol(rtol)) puts its own rtol there; tol(rtol, atol)
// asks |c - r| <= atol + rtol * |r|. Integers and compare(exact) are exact.
// The default rtol of an output is raised by need alone: where the original is
// known to be off itself (oracle.h), to twice that, at most to 1e-9, 1e-4, 1e-2,
// 4e-2. Where nothing says how far off the original is, nothing is raised.
// Values that are not finite must match in kind and place. An output all zero
// where the original's is not is wrong whatever the tolerance, and so is zero at more
// than an eighth of the elements where the original has a value (unless an atol is given).
//
// The two launches of each differ in the poison that filled `out` buffers
// before; an element that holds its poison after both was not written, and what
// the original leaves unwritten must stay so. Inside evaluator/ only.

enum compare_kind {
  COMPARE_EQUAL,
  COMPARE_VALUE,     // out of tolerance
  COMPARE_NONFINITE, // NaN or infinity in one only, or of another kind
  COMPARE_ALL_ZERO,
  COMPARE_MISSING,  // zero at many elements where the original is not
  COMPARE_CONST,       // an input was changed
  COMPARE_UNWRITTEN,   // still poison where the original writes
  COMPARE_OVERWRITTEN, // written where the original does not
  COMPARE_UNSTABLE     // the two launches differ
};

struct compare_input {
  const struct kr_instance *in;
  unsigned char *const *ref[2]; // contents after two launches of the original, one a buffer
  unsigned char *const *got[2]; // ... of the candidate
  unsigned char ref_poison[2], got_poison[2];
  bool exact_values; // values must be equal (0 and -0 are): integer inputs, exact original
  bool stable;       // the candidate's two launches must be equal bit for bit
  // rtol of [buffer][leaf] where that is more than the default; NULL: nowhere.
  double *const *raised;
  // `got` is from timed launches, under a poison that nobody knows: what the
  // original leaves unwritten is passed over, and inputs are not there.
  bool timed;
};

struct compare_result {
  enum compare_kind kind; // EQUAL: passed
  bool exact;             // every output equal bit for bit
  double max_rel_err;     // largest |c - r| / (|r| + rms(r)) of floating outputs; 0 of none
  // The first element that fails, in buffer order.
  size_t buffer, leaf;
  int64_t index;
  double expected, got;
  int64_t n_wrong, n_compared; // of that output
};

// Returns 0 (see `kind`), or -1 when a tolerance cannot be evaluated.
int compare_runs(const struct compare_input *q, struct compare_result *out, struct kr_err *err);
// The default rtol of a kind, and the most that it is raised to; 0 for integers.
double compare_rtol(enum kr_kind kind);
double compare_rtol_most(enum kr_kind kind);
// "wrong: y[17] is 1.5, expected 2.25 (3 of 1000 elements), in the case n = 1000".
void compare_describe(const struct compare_input *q, const struct compare_result *r,
                      struct kr_bytes *out);
// "y[3].x"
void compare_where(const struct kr_instance *in, const struct compare_result *r,
                   struct kr_bytes *out);
// True when all outputs are whole numbers that their type holds exactly, so that
// nothing was rounded on the way (integer inputs).
bool compare_all_whole(const struct kr_instance *in, unsigned char *const *after);
// True when every floating input and scalar is a small whole number. Outputs of
// others may be whole by chance (a float beyond 2^23 always is, one beyond 2^22
// every other time), and say nothing about whether something was rounded.
bool compare_inputs_whole(const struct kr_instance *in);
// Outputs that are not finite: their number.
size_t compare_count_nonfinite(const struct kr_instance *in, unsigned char *const *after);

#endif
