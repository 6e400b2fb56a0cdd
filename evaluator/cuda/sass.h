#ifndef KR_CUDA_SASS_H
#define KR_CUDA_SASS_H

#include <stdbool.h>
#include <stddef.h>

// What machine code is made of: how many instructions a turn of a loop takes, and
// how many of its loads are under way together. Bitcode knows neither, since
// ptxas unrolls, merges and reorders; how often a loop is gone through is known
// from counting, and the two are put together here.

enum { SASS_MAX_LOOPS = 32 };

struct sass_part {
  double instructions;
  double stalls;  // cycles from one to the next that the code itself asks for
  double loads;   // of global memory
  double batches; // waits for them: a warp goes on after a load until it needs the value
  double waits;   // for anything else that has no fixed latency
  double stores;  // to global memory
  double shared;  // loads, stores and atomics of shared memory
  double special; // of the special function unit
  double floats;  // additions, multiplications and both at once, of any width
};

struct sass_facts {
  struct sass_part outside; // of all loops below, up to the end of the kernel
  // A turn of each loop without the loops in it, in the order of their places.
  struct sass_part loops[SASS_MAX_LOOPS];
  bool around[SASS_MAX_LOOPS]; // it holds others
  size_t n_loops;
};

// Reads the code of one kernel, as sm_70 and later have it: 16 bytes an
// instruction. Calls are not followed.
void sass_read(const unsigned char *text, size_t len, struct sass_facts *out);

// What was counted of a warp.
struct sass_counted {
  double loads, stores; // of global memory
  double shared;        // accesses of shared memory
  double floats;        // arithmetic on floats
};

// What a warp executes of which that was counted. Loops with accesses share them
// evenly, and those without share the arithmetic; a loop beside one with several
// times its loads is what unrolling left over. Returns false where the code cannot
// be told from it: loops with neither, or other accesses than were counted. Instructions, stalls and waits are then those of one
// turn of the loops that nothing is known of, or 0.
bool sass_execute(const struct sass_facts *f, const struct sass_counted *c, struct sass_part *out);

#endif
