#ifndef KR_CUDA_SASS_H
#define KR_CUDA_SASS_H

#include <stddef.h>

// What machine code does with its loads. A warp goes on after a load until it
// needs the value, so what counts is not how many there are but how many times it
// waits; that is written in the instructions themselves.

enum { SASS_MAX_LOOPS = 32 };

struct sass_loop {
  size_t instructions;
  size_t loads;   // of global memory, in the loop's body
  size_t batches; // waits for them
};

struct sass_facts {
  struct sass_loop whole; // the code from first to last, each loop once
  struct sass_loop loops[SASS_MAX_LOOPS]; // that hold no other, in the order of their places
  size_t n_loops;
};

// Reads the code of one kernel, as sm_70 and later have it: 16 bytes an
// instruction. Calls are not followed.
void sass_read(const unsigned char *text, size_t len, struct sass_facts *out);

// The waits for global loads of a warp that executes `loads` of them: unrolled
// loops share the loads evenly, and one that is unrolled wider than its share is
// left out for narrower code that waits once. -1 when the code has no such loads.
double sass_waits(const struct sass_facts *f, double loads);

#endif
