#ifndef KR_CPU_RT_RACE_H
#define KR_CPU_RT_RACE_H

#include "rt.h"

// Two threads at the same word, one of them writing, with nothing between them that
// puts one before the other. The first such pair ends the run.

extern bool race_on;

// Shadows of shared memory and of `n` places; before the lock. 0, or -1 with errno.
int race_setup(const struct kr_trace_access *accesses, uint32_t n_accesses);
// Of global memory that begins at `address`. 0, or -1 with errno.
int race_place(uint32_t place, uint64_t address, uint64_t bytes);

void race_block_begin(void);
void race_barrier(void);
void race_warp_sync(int warp);
// The warp whose requests follow.
void race_warp(int warp);

// What the lanes of a request touch, for as long as they are at the same distances:
// `slot` tells such shapes of an access apart. `address` holds clean addresses.
void race_shape(uint32_t access, uint32_t slot, uint32_t mask, const uint64_t *address,
                uint64_t base);
// A request of that shape. `place`: of global memory; -1: shared memory.
void race_request(uint32_t access, uint32_t slot, int place, uint64_t base);

#endif
