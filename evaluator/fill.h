#ifndef KR_FILL_H
#define KR_FILL_H

#include "instance.h"

// Contents of buffers from a counter-based generator (Philox 4x32-10: J. Salmon
// et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Element i of
// a section is a pure function of (seed, section, leaf, i), so results depend
// neither on the number of threads nor on the machine: only operations that
// IEEE 754 rounds exactly are used, no libm. Inside evaluator/ only.

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

// 64 random bits: draw number `index` of `stream` under `seed`.
uint64_t fill_bits(uint64_t seed, uint32_t stream, uint64_t index);
// The same bits as a number in [0, 1), in [0, k), as a standard normal value.
double fill_unit(uint64_t bits);
uint64_t fill_below(uint64_t bits, uint64_t k);
double fill_normal(uint64_t bits);
// Draws 2 * pair and 2 * pair + 1, of the `draw`th generator call of an element.
void fill_bits_pair(uint64_t seed, uint32_t stream, uint32_t draw, uint64_t pair, uint64_t out[2]);

// Many at once, the same values in half the time. fill_words() puts the 4 n words of the
// n blocks from `block` on, of draw 0; fill_normals() for each word what fill_normal()
// makes of it in both halves of its bits.
void fill_words(uint64_t seed, uint32_t stream, uint64_t block, size_t n, uint32_t *out);
void fill_normals(const uint32_t *words, size_t n, double *out);
void fill_round_to_floats(const double *values, size_t n, float *out);

__extension__ typedef unsigned __int128 fill_u128;

struct fill_request {
  const struct kr_type *type;
  int64_t count;
  const int64_t *dims; // row-major; their product is `count`
  size_t n_dims;
  // What the user wrote, its names replaced by their values (only i, i0, i1,
  // ... and calls are left); NULL: by `dist`.
  const struct kr_expr *e;
  enum kr_distribution dist;
  uint64_t seed;
  uint32_t section;
  const char *path;  // for messages
  unsigned threads;  // 0: as many as are worth it
};

// Fills `into` (count * type->size bytes, zeroed by the caller: padding stays
// as it is). Returns 0; 1 when the filler has no value for this length (index
// of nothing); -1 for anything else, with a sentence.
int fill_buffer(unsigned char *into, const struct fill_request *q, struct kr_err *err);

// True for i, i0 ... i7.
bool fill_is_index_name(const char *name);

#endif
