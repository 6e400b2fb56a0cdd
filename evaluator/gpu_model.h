#ifndef KR_GPU_MODEL_H
#define KR_GPU_MODEL_H

#include "backend.h"
#include "counters.h"

// A modelled time of one launch on a GPU: a roofline over what the launch was
// counted to do (counters.h). It ranks variants; it is no measurement, and
// whatever carries its figures says `modelled`.

// What a GPU can do. Figures from NVIDIA's data sheets and the CUDA C++
// Programming Guide unless a comment in gpu_model.c names another source.
struct kr_gpu {
  const char *name; // "NVIDIA H200"
  const char *arch; // "sm_90"
  bool validated;   // the model was held against measurements on it
  int sms, max_warps, max_blocks, registers, shared_bytes, shared_block_bytes, max_threads;
  double clock_hz;
  double dram_bytes_per_s, l2_bytes_per_s; // what a kernel reaches, not the data sheet's peak
  double l2_bytes;
  double fp32, fp64, fp16, integer, sfu, convert; // lanes a cycle a multiprocessor
};

const struct kr_gpu *kr_gpu_find(const char *name_or_arch); // NULL: unknown
const struct kr_gpu *kr_gpu_default(void);                  // H200
const struct kr_gpu *kr_gpu_at(size_t index);               // NULL behind the last

// What bounds it: one row each, microseconds it would take if it were alone.
enum kr_term {
  KR_TERM_ISSUE,
  KR_TERM_FP32,
  KR_TERM_FP64,
  KR_TERM_INT,
  KR_TERM_SFU,
  KR_TERM_L1,     // load-store unit: global wavefronts
  KR_TERM_SHARED, // the same unit: shared wavefronts, shuffles
  KR_TERM_L2,
  KR_TERM_DRAM,
  KR_TERM_ATOMIC,
  KR_TERM_BLOCKS,  // a multiprocessor starts one block after another
  KR_TERM_LATENCY, // too few warps in flight for the length of a warp's chain
  KR_TERM_LAUNCH,
  KR_N_TERMS
};
const char *kr_term_name(enum kr_term term); // "issue", "DRAM"

struct kr_modelled {
  double us;
  double term_us[KR_N_TERMS];
  enum kr_term bound; // the largest
  double occupancy;   // resident warps over the most possible
  unsigned resident_blocks; // a multiprocessor
  double waves;
  double dram_bytes;
};

// `res` may hold -1 where unknown: registers are then guessed from the counters.
void kr_gpu_model(const struct kr_gpu *gpu, const struct kr_counters *counters,
                  const struct kr_resources *res, struct kr_modelled *out);

// The factor that a modelled ratio of two variants of one kernel may well be off
// by: a modelled speed-up stands in [speedup / error, speedup * error]. Of pairs
// whose modelled ratio is above it at least 90 % were measured to be faster.
double kr_gpu_model_error(void);
// The standard error of a launch's figures, relative, where blocks were sampled.
// Nothing is kept of single blocks; what varies between 0 and L times its mean
// has a variance of at most L - 1 times the mean's square (Bhatia and Davis 2000),
// with L the longest warp over the mean one. 0 where all blocks were counted.
double kr_gpu_model_sampling_error(const struct kr_counters *c);

#endif
