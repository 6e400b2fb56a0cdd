#ifndef KR_SIZES_H
#define KR_SIZES_H

#include "instance.h"

// Sizes that nobody was told: which values of a case's bindings are tried
// beside its own. Inside evaluator/ only.

enum { SIZES_MAX_OVERRIDES = 12 };

// A case with some of its bindings changed.
struct sizes_point {
  size_t case_index;
  struct kr_override overrides[SIZES_MAX_OVERRIDES]; // paths borrowed from the contract
  size_t n;
  char *label; // "n = 31"; owned
};

enum sizes_role {
  SIZES_FIXED,   // fix(...), or follows from other bindings
  SIZES_EXTENT,  // an integer that reaches a section, grid or block
  SIZES_INTEGER, // another integer
  SIZES_REAL     // a floating scalar, drawn or given
};

struct sizes_binding {
  enum sizes_role role;
  int64_t value; // EXTENT, INTEGER: in this case
  double real;   // REAL: 0 when drawn
  int64_t unit;  // EXTENT: values are multiples of this; 1 until something says otherwise
};

// The bindings of a case and what they are; freed with free(). NULL with `err`
// set when the case itself cannot be evaluated. `base` holds overrides in force
// (a shrunk case).
struct sizes_binding *sizes_of_case(const struct kr_contract *c, size_t case_index,
                                    const struct kr_override *base, size_t n_base,
                                    struct kr_err *err);

// True when every `require` holds and every section has a length at these values.
bool sizes_allowed(const struct kr_contract *c, size_t case_index,
                   const struct kr_override *overrides, size_t n);

// The smallest unit >= 1 whose addition to or subtraction from `value` obeys
// every require; 0 when there is none up to 4096.
int64_t sizes_unit(const struct kr_contract *c, size_t case_index, const char *path, int64_t value,
                   const struct kr_override *base, size_t n_base);

int64_t sizes_prime_near(int64_t value); // the largest prime <= value; 2 below that
// A prime between 2 and `most`, by random bits.
int64_t sizes_random_prime(uint64_t bits, int64_t most);

// `extra` before `base`, into `out`, which has room: the first override of a
// name counts. Returns their number.
size_t sizes_join(struct kr_override *out, const struct kr_override *extra, size_t n_extra,
                  const struct kr_override *base, size_t n_base);

// "n = 31, m = 7".
char *sizes_label(const struct kr_override *overrides, size_t n);

#endif
