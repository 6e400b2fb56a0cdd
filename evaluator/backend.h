#ifndef KR_BACKEND_H
#define KR_BACKEND_H

#include "counters.h"
#include "instance.h"

// A way to run kernels: one table of functions. `kr_backend_cuda` launches on a
// GPU through NVRTC and the driver API, `kr_backend_cpu` emulates SIMT on the
// CPU. The evaluator above knows no other difference, and the same tests run
// on both.

struct kr_device;  // an open back end
struct kr_module;  // a compiled translation unit with its kernel
struct kr_dataset; // an instance with its pristine contents resident

struct kr_backend_options {
  int device;             // ordinal; 0
  const char *cuda_path;  // where the toolkit is; NULL: found
  unsigned timeout_ms;    // one launch; 0 means 10000
  const char *gpu;        // whose time is modelled where nothing is timed: a name or an
                          // architecture (gpu_model.h); NULL: the default
  // Hears when this process begins and ends to wait for one that has the device to
  // itself; may be NULL. Does not travel.
  void (*on_wait)(void *arg, bool waits);
  void *on_wait_arg;
};

enum kr_run_status {
  KR_RUN_OK,
  KR_RUN_LAUNCH_FAILED, // refused by the driver: geometry, shared memory, registers
  KR_RUN_FAULT,         // touched what it may not, trapped, diverged at a barrier, called what is forbidden
  KR_RUN_TIMEOUT,
  KR_RUN_UNSUPPORTED // the back end cannot run this, by name
};

// Where each buffer's last element stands.
enum kr_placement {
  KR_PLACE_END,   // ends exactly at unmapped memory
  KR_PLACE_ALIGN, // ends at the promised alignment, the gap filled with poison
  KR_PLACE_START, // starts at the mapping's start, unmapped memory before it
  KR_PLACE_DEVICE // as a GPU's allocator gives it: element 0 on 256 bytes, for counting
};

struct kr_run_options {
  struct kr_launch launch;
  enum kr_placement placement;
  unsigned char poison; // byte that fills out buffers and gaps before the launch
  unsigned timeout_ms;  // 0: the device's
};

struct kr_run_result {
  enum kr_run_status status;
  char text[512]; // for all but OK: what happened, with block and thread where known
  // Contents after the launch, one a buffer; owned by the result. NULL for a null
  // pointer, an empty buffer, and an `in` buffer that is as it was before.
  unsigned char **after;
  size_t n_buffers;
  bool gap_written; // poison beside a buffer was overwritten
  size_t gap_buffer;
  bool state_written; // a variable of the module, which the next launch finds, was changed
  double wall_ms;
  double cpu_ms; // processor time of the launch, which does not grow with load; 0: not known
  bool device_lost; // nothing more can run in this process
};

void kr_run_result_release(struct kr_run_result *r);

struct kr_resources {
  int registers, shared_bytes, local_bytes, const_bytes; // -1 when unknown
  int max_threads;
  double occupancy; // resident warps over the most possible, for the last launch; 0 when unknown
};

// Times from time(): for each of `pairs` ABBA blocks the mean time of one launch of each.
struct kr_time_options {
  struct kr_launch launch_a, launch_b;
  unsigned pairs;
  unsigned budget_ms;    // stop early after this; 0: never
  uint64_t seed;         // order of the blocks, placement of the copies
  bool random_offsets;   // allocate anew at random offsets
  bool keep_after;       // bring outputs back whatever their size (kr_time_result.a_after)
};

struct kr_time_result {
  double *a_us, *b_us; // n samples each; owned
  size_t n;
  unsigned copies, launches_a_batch;
  bool cold;
  double warm_a_us, warm_b_us; // 0 when not measured
  // What inout and out buffers held after one more batch of each, on a copy
  // drawn at random; NULL for the others. Owned. For a kernel that computes
  // when it is checked and not when it is timed. NULL when they are larger than
  // 16 MiB together and `keep_after` was not set.
  unsigned char **a_after, **b_after;
  // The same of `b` after a batch in the midst of the timed ones, drawn at random.
  unsigned char **b_during;
  size_t n_buffers;
  bool device_lost; // nothing more can run in this process
  char note[128];              // a clock drop, a throttle; "" when none
};

void kr_time_result_release(struct kr_time_result *r);

// How much of a launch is counted.
struct kr_count_options {
  struct kr_launch launch;
  unsigned max_blocks; // sampled blocks at most; 0: the back end's choice
  unsigned budget_ms;  // processor time to aim at; 0: 300
  bool races;          // look for races as well, at a price
};

struct kr_backend {
  const char *name; // "cuda", "cpu"
  bool can_time;

  // Returns -1 with a sentence that says what is missing and what to do.
  int (*open)(const struct kr_backend_options *options, struct kr_device **out, struct kr_err *err);
  void (*close)(struct kr_device *dev);
  const struct kr_device_facts *(*facts)(struct kr_device *dev);

  // Compiles a translation unit and finds the kernel, or one for each instantiation
  // of the contract's template; run() and time() launch the one of the dataset's
  // case. `log` receives the compiler's words in any case. Returns 0; 1 when the text does not compile
  // (the log says why); -1 when the compiler could not be run (`err`).
  int (*compile)(struct kr_device *dev, const struct kr_contract *c, const char *text, size_t len,
                 struct kr_module **out, struct kr_bytes *log, struct kr_err *err);
  void (*module_free)(struct kr_device *dev, struct kr_module *m);
  // Fingerprint of the machine code of the kernel, or kernels, and all they call.
  struct kr_hash (*module_hash)(struct kr_device *dev, const struct kr_module *m);
  // Of the kernel of the first instantiation.
  int (*module_resources)(struct kr_device *dev, struct kr_module *m,
                          const struct kr_launch *launch, struct kr_resources *out);

  // Makes an instance's contents resident. Borrows `in`, which must outlive it.
  int (*load)(struct kr_device *dev, const struct kr_instance *in, struct kr_dataset **out,
              struct kr_err *err);
  void (*dataset_free)(struct kr_device *dev, struct kr_dataset *d);

  // One launch on fresh clones of the dataset. What the kernel did is in
  // `result`; -1 only when the back end itself broke (`err`).
  int (*run)(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
             const struct kr_run_options *options, struct kr_run_result *result,
             struct kr_err *err);

  // Cold times of two modules in randomised ABBA blocks over copies of the
  // dataset. NULL when !can_time.
  int (*time)(struct kr_device *dev, struct kr_module *a, struct kr_module *b,
              struct kr_dataset *d, const struct kr_time_options *options,
              struct kr_time_result *result, struct kr_err *err);

  // Counts what one launch on a fresh clone of the dataset does, by sampled
  // blocks where the grid is large. What went wrong is in `result` (without
  // contents), as with run(). NULL where nothing is counted.
  int (*count)(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
               const struct kr_count_options *options, struct kr_counters *out,
               struct kr_run_result *result, struct kr_err *err);
};

// NULL where it was not built (no toolkit, no LLVM).
const struct kr_backend *kr_backend_find(const char *name);

#endif
