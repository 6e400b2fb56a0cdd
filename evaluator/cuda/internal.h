#ifndef KR_CUDA_INTERNAL_H
#define KR_CUDA_INTERNAL_H

#include "../backend.h"
#include "compile.h"
#include "cubin.h"
#include "libcuda.h"
#include "libnvml.h"

// What the files of the cuda back end share. One context, one stream, one
// thread. After a fault the context is lost for the whole process (seen: a new
// context fails too): `lost` is set, and from then on nothing is asked of the
// driver, not even to free, since a call could wait for ever.

// Device memory from plain allocation, kept for reuse.
struct cuda_block {
  CUdeviceptr addr;
  size_t size;
  bool busy;
};

// Virtual memory with unmapped neighbours, kept for reuse by size.
struct cuda_region {
  CUdeviceptr reserved, addr; // the mapping lies in the middle of what is reserved
  size_t reserved_size, size;
  CUmemGenericAllocationHandle handle;
  bool busy;
};

// A GPU among processes; see lock.c.
struct gpu_lock {
  int gate, gpu; // files; -1: none
  bool held;
  void (*on_wait)(void *arg, bool waits); // of kr_backend_options
  void *on_wait_arg;
};

struct kr_device {
  const struct libcuda *cu;
  struct libnvml *ml; // NULL when there is none
  bool ml_tried;
  struct nvrtc_compiler nvrtc;
  struct kr_device_facts facts;
  CUdevice device;
  CUcontext context;
  CUstream stream;
  CUevent half_done[2]; // of the staging memory's halves
  size_t granularity;
  unsigned timeout_ms;
  bool lost;
  char lost_why[256];
  struct cuda_block *blocks;
  size_t n_blocks, cap_blocks;
  struct cuda_region *regions;
  size_t n_regions, cap_regions;
  CUdeviceptr flags;   // FLAGS_MAX words, for `differs` and `poisoned`
  CUdeviceptr nowhere; // reserved, never mapped: where empty buffers point
  struct gpu_lock lock;
  unsigned char *staging; // page-locked, STAGING_BYTES
  // Kernels of our own.
  CUmodule tools;
  CUfunction flush, scrub, differs, poisoned;
  CUdeviceptr flush_memory; // 2 x L2
  size_t flush_bytes;
  struct kr_dataset *copied; // whose timing copies are resident; NULL
};

enum { STAGING_BYTES = 16 << 20, FLAGS_MAX = 512 };

struct cuda_kernel {
  CUfunction function;
  struct cubin_facts cubin;
  int static_shared, max_threads;
};

struct kr_module {
  struct cuda_code code;
  CUmodule module;
  struct cuda_kernel *kernels; // one an instantiation of the contract
  size_t n_kernels;
  struct kr_hash hash;  // of all of them
  bool has_state;       // some of them
  char **state;         // names of those variables
  size_t n_state, cap_state;
  int64_t shared_limit; // dynamic shared memory that the launch sites allow
};

// One buffer of a dataset.
struct cuda_buffer {
  CUdeviceptr pristine; // initial contents; 0 for out buffers and empty ones
};

struct cuda_copies; // time.c

struct kr_dataset {
  const struct kr_instance *in;
  struct cuda_buffer *buffers; // one a buffer of the instance
  struct cuda_copies *copies;  // NULL until timed
};

// --- device.c ---

// Marks the device as lost, with the driver's words.
void device_lose(struct kr_device *dev, const char *why);
// Checks a call that should not fail; a sticky error loses the device.
int device_check(struct kr_device *dev, CUresult r, const char *what, struct kr_err *err);
// True for errors after which the context is gone.
bool device_error_is_sticky(CUresult r);
// Waits until the stream is idle. CUDA_SUCCESS, CUDA_ERROR_NOT_READY when
// `timeout_ms` passed first, or the error.
CUresult device_wait(struct kr_device *dev, unsigned timeout_ms);

// --- memory.c ---

// Returns 0 and sets `err` when there is no memory.
CUdeviceptr memory_take(struct kr_device *dev, size_t size, struct kr_err *err);
void memory_give(struct kr_device *dev, CUdeviceptr addr);
// Frees what is cached and unused.
void memory_trim(struct kr_device *dev);
struct cuda_region *region_take(struct kr_device *dev, size_t size, struct kr_err *err);
void region_give(struct cuda_region *r);
void memory_close(struct kr_device *dev);
// Host memory for what is brought back; free() gives it back.
void *memory_host(size_t size);
// Copies through page-locked memory.
int memory_upload(struct kr_device *dev, CUdeviceptr to, const void *from, size_t size,
                  struct kr_err *err);
// Sets word `flag` of dev->flags to 1 where two ranges differ, or where a range
// holds another byte than `poison`. Put into the stream; sizes of 0 do nothing.
int memory_flag_differs(struct kr_device *dev, CUdeviceptr a, CUdeviceptr b, size_t size,
                        unsigned flag, struct kr_err *err);
int memory_flag_poison(struct kr_device *dev, CUdeviceptr at, size_t size, unsigned char poison,
                       unsigned flag, struct kr_err *err);
int memory_download(struct kr_device *dev, void *to, CUdeviceptr from, size_t size,
                    struct kr_err *err);

// --- module.c ---

int module_compile(struct kr_device *dev, const struct kr_contract *c, const char *text,
                   size_t len, struct kr_module **out, struct kr_bytes *log, struct kr_err *err);
void module_free(struct kr_device *dev, struct kr_module *m);
struct kr_hash module_hash(struct kr_device *dev, const struct kr_module *m);
int module_resources(struct kr_device *dev, struct kr_module *m, const struct kr_launch *launch,
                     struct kr_resources *out);
// Loads the machine code anew, so that its device variables are as at the start.
int module_reload(struct kr_device *dev, struct kr_module *m, struct kr_err *err);
// What the module's variables hold, one after the other; the caller frees it. NULL
// when there are none, they cannot be found or are larger than STATE_MAX together.
unsigned char *module_state(struct kr_device *dev, const struct kr_module *m, size_t *len);
// The kernel that an instance launches.
const struct cuda_kernel *module_kernel(const struct kr_module *m, const struct kr_instance *in);
// Puts a launch into the stream. Not for an empty grid.
CUresult module_launch(struct kr_device *dev, const struct cuda_kernel *k,
                       const struct kr_launch *launch, void **params);
// Why a launch of this shape is refused, as far as can be told.
void module_refusal(struct kr_device *dev, const struct kr_module *m, const struct cuda_kernel *k,
                    const struct kr_launch *launch, CUresult r, char *out, size_t size);

// --- run.c ---

int run_load(struct kr_device *dev, const struct kr_instance *in, struct kr_dataset **out,
             struct kr_err *err);
void run_unload(struct kr_device *dev, struct kr_dataset *d);
int run_once(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
             const struct kr_run_options *options, struct kr_run_result *result,
             struct kr_err *err);
bool run_launch_is_empty(const struct kr_launch *launch);

// Kernel parameters with their pointers set.
struct run_params {
  unsigned char **blocks; // one a parameter
  void **pointers;        // to those, as cuLaunchKernel wants them
  size_t n;
};
// `bases` holds the address of each buffer's element 0.
void run_params_make(struct run_params *p, const struct kr_instance *in, const CUdeviceptr *bases);
void run_params_release(struct run_params *p);
// The alignment that an ordinary allocation of the program would have there:
// what the contract promises, or cudaMalloc's.
size_t run_natural_align(const struct kr_instance *in, size_t buffer);

// --- time.c ---

int time_pair(struct kr_device *dev, struct kr_module *a, struct kr_module *b,
              struct kr_dataset *d, const struct kr_time_options *options,
              struct kr_time_result *result, struct kr_err *err);
void time_copies_free(struct kr_device *dev, struct kr_dataset *d);

// --- lock.c ---

// Opens the files of the GPU of that UUID; where none can be had, nothing is locked.
void lock_open(struct gpu_lock *l, const char *uuid);
void lock_close(struct gpu_lock *l);
// Wait until nobody else works on the GPU, or nobody times on it. Not to be nested.
// False where there is no lock.
bool lock_alone(struct gpu_lock *l);
bool lock_shared(struct gpu_lock *l);
// Lets go, if it is held.
void lock_leave(struct gpu_lock *l);

#endif
