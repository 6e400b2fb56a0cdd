#ifndef KR_COUNTERS_H
#define KR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

// What one launch does, with every access seen. The CPU back end counts it; a
// model of a GPU's time (gpu_model.h) is a function of it and of nothing else.
// All figures are of the whole launch, scaled up where blocks were sampled. An
// "instruction" is executed by a warp, whatever number of its lanes take part;
// a "sector" is 32 bytes aligned to 32, a "wavefront" what the L1 or shared
// memory serves in one cycle (128 bytes of global memory, 32 banks of 4 bytes).

// By the pipe that executes it, as the front end's IR shows it.
enum kr_inst_class {
  KR_INST_FP32,    // add, multiply, fused, compare, select, convert between floats
  KR_INST_FP64,
  KR_INST_FP16,
  KR_INST_INT,     // arithmetic, logic, shifts, compares, addresses
  KR_INST_INT_DIV, // a division or remainder by what is not a constant; each is many SASS instructions
  KR_INST_SFU,     // one pass of the special function unit; rcp, rsqrt, ex2, lg2, sin, cos
  KR_INST_CONVERT, // between integers and floats
  KR_INST_CONTROL, // branches, calls, returns
  KR_INST_GLOBAL,  // loads and stores
  KR_INST_SHARED,
  KR_INST_LOCAL,   // of private arrays that live in memory
  KR_INST_CONSTANT,
  KR_INST_ATOMIC_GLOBAL,
  KR_INST_ATOMIC_SHARED,
  KR_INST_SHUFFLE, // shuffles, votes, matches, warp reductions
  KR_INST_BARRIER,
  KR_INST_OTHER,
  KR_N_INST
};
const char *kr_inst_name(enum kr_inst_class kind); // "fp32", "atomic_global"

enum { KR_N_WINDOWS = 16 };

// Global memory, one direction.
struct kr_traffic {
  double requests;       // warp instructions
  double lanes;          // lanes that took part
  double bytes;          // asked for by lanes
  double sectors;        // distinct within a request, summed
  double wavefronts;     // distinct 128-byte lines within a request, summed
  double l1_miss_sectors; // past a 128 KiB (less shared memory) L1 a multiprocessor, blocks resident together
  double footprint;      // bytes of distinct sectors in the whole launch
  // Bytes of distinct sectors that 2^i consecutive blocks touch, no more than
  // `footprint`: what an L2 has to hold, and DRAM to deliver, for blocks that run
  // at the same time. Of sampled launches it comes from what a block shares with
  // its neighbours in x, y and z.
  double window[KR_N_WINDOWS];
  double partial_sectors; // stores: sectors that a request wrote only in part
  double spread_rows;    // distinct 2 KiB pieces within a request, summed
};

struct kr_counters {
  unsigned grid[3], block[3];
  uint64_t blocks, blocks_counted; // of the launch, and those that were run
  double warps;                    // of the launch
  double inst[KR_N_INST];          // warp instructions
  double lane_inst;                // of all classes, summed over active lanes: divergence is 1 - lane_inst / (32 * sum)
  double divergent_branches;       // warps whose lanes went both ways
  struct kr_traffic loads, stores, atomics; // global
  double shared_wavefronts, shared_ideal;   // what conflicts made of it; with none
  double shared_atomic_passes;     // the lanes of a request at one address are served one after another
  double atomic_passes;            // the same in global memory, per sector and address
  double hottest_atomic;           // most atomics at one address in the launch
  double local_bytes;
  double barriers;                 // arrivals of warps
  // A warp's latency, on the mean, of one warp from start to end.
  //
  // Between two barriers and in one basic block (loops unrolled as the compiler
  // does), loads are taken to be issued together unless the address of one depends
  // on the value of another, or a store stands between them that may write what the
  // later one reads (no __restrict__, no __ldg) and that waits for the earlier one: a
  // block's chain is its longest such dependence, and a warp's the sum over the
  // blocks that it executes.
  double chain_global;  // loads that wait for an earlier load or barrier, one after another
  double chain_shared;
  double chain_inst;    // instructions issued
  double chain_cycles;  // that they take by themselves, and waits for units without a fixed
  double chain_waits;   // latency: from machine code; 0 where only bitcode was seen
  double loads_in_flight; // independent global loads between waits, on the mean
  double longest_warp;  // instructions of the longest warp over those of the mean warp
  unsigned static_shared_bytes, dynamic_shared_bytes;
  bool sampled;
  bool from_machine_code; // instructions are counted as ptxas made them, not as bitcode has them
};

#endif
