#include "internal.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "backend_cuda.h"

// --- errors ---

bool device_error_is_sticky(CUresult r)
{
  switch (r) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default:
    return false;
  }
}

// A context that is lost takes the whole process along: the next one fails with
// the same error.
static bool process_lost;

void device_lose(struct kr_device *dev, const char *why)
{
  if (dev->lost)
    return;
  dev->lost = process_lost = true;
  snprintf(dev->lost_why, sizeof dev->lost_why, "%s", why);
}

int device_check(struct kr_device *dev, CUresult r, const char *what, struct kr_err *err)
{
  if (r == CUDA_SUCCESS)
    return 0;
  if (r == CUDA_ERROR_NOT_READY) { // from device_wait()
    device_lose(dev, "it did not answer in time");
    return kr_err_set(err, "%s: %s did not answer in time", what, dev->facts.name);
  }
  if (device_error_is_sticky(r))
    device_lose(dev, libcuda_words(dev->cu, r));
  return libcuda_check(dev->cu, r, what, err);
}

CUresult device_wait(struct kr_device *dev, unsigned timeout_ms)
{
  double start = kr_now_ms();
  for (;;) {
    CUresult r = dev->cu->cuStreamQuery(dev->stream);
    if (r != CUDA_ERROR_NOT_READY)
      return r;
    double waited = kr_now_ms() - start;
    if (waited > timeout_ms)
      return CUDA_ERROR_NOT_READY;
    // Most launches end within microseconds; long ones need no spinning.
    if (waited > 2)
      nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    else
      sched_yield();
  }
}

// --- kernels of our own ---

// flush: reads as much as fits twice into L2, so that nothing of before is left
// there and, unlike a memset, no line has to be written back later.
// scrub: fills the shared memory of every multiprocessor, so that a kernel that
// reads what it did not write does not find the last run's data.
// differs, poisoned: whether memory is still what it was, without bringing it over.
static const char tools_text[] =
    "extern \"C\" __global__ void kr_flush(const float4 *p, unsigned long long n, float *out)\n"
    "{\n"
    "  float s = 0;\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  for (; i < n; i += (unsigned long long)gridDim.x * blockDim.x) {\n"
    "    float4 v = __ldcg(p + i);\n"
    "    s += v.x + v.y + v.z + v.w;\n"
    "  }\n"
    "  if (s == 1.2345e-30f) *out = s;\n"
    "}\n"
    "extern \"C\" __global__ void kr_scrub(unsigned words, unsigned pattern)\n"
    "{\n"
    "  extern __shared__ unsigned kr_words[];\n"
    "  volatile unsigned *p = kr_words;\n"
    "  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)\n"
    "    p[i] = pattern ^ (i * 2654435761u & 0x00010000u);\n"
    "  __syncthreads();\n"
    "}\n"
    "#define AT (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x)\n"
    "#define STEP ((unsigned long long)gridDim.x * blockDim.x)\n"
    "extern \"C\" __global__ void kr_differs(const unsigned char *a, const unsigned char *b,\n"
    "                                       unsigned long long n, unsigned *flag)\n"
    "{\n"
    "  bool differs = false;\n"
    "  unsigned long long words = 0;\n"
    "  if (!(((unsigned long long)a | (unsigned long long)b) & 3)) {\n"
    "    words = n / 4;\n"
    "    for (unsigned long long i = AT; i < words; i += STEP)\n"
    "      differs |= ((const unsigned *)a)[i] != ((const unsigned *)b)[i];\n"
    "  }\n"
    "  for (unsigned long long i = 4 * words + AT; i < n; i += STEP) differs |= a[i] != b[i];\n"
    "  if (differs) *flag = 1;\n"
    "}\n"
    "extern \"C\" __global__ void kr_poisoned(const unsigned char *p, unsigned long long n,\n"
    "                                        unsigned poison, unsigned *flag)\n"
    "{\n"
    "  bool differs = false;\n"
    "  for (unsigned long long i = AT; i < n; i += STEP) differs |= p[i] != poison;\n"
    "  if (differs) *flag = 1;\n"
    "}\n";

static int open_tools(struct kr_device *dev, struct kr_err *err)
{
  int rc = -1;
  char name[] = "kr_flush";
  struct kr_contract c = {.name_expression = name};
  struct cuda_code code;
  struct kr_bytes log;
  kr_bytes_init(&log, 1 << 16);
  int r = nvrtc_compile(&dev->nvrtc, &c, dev->facts.arch, tools_text, sizeof tools_text - 1,
                        &code, &log, err);
  if (r > 0)
    kr_err_set(err, "NVRTC %s does not compile what this program itself needs: %s",
               dev->facts.compiler, log.data);
  if (r)
    goto out;
  r = device_check(dev, dev->cu->cuModuleLoadDataEx(&dev->tools, code.cubin, 0, NULL, NULL),
                   "the driver does not take NVRTC's machine code (a toolkit newer than the "
                   "driver?)", err);
  cuda_code_release(&code);
  if (r ||
      device_check(dev, dev->cu->cuModuleGetFunction(&dev->flush, dev->tools, "kr_flush"),
                   "kr_flush", err) ||
      device_check(dev, dev->cu->cuModuleGetFunction(&dev->scrub, dev->tools, "kr_scrub"),
                   "kr_scrub", err) ||
      device_check(dev, dev->cu->cuModuleGetFunction(&dev->differs, dev->tools, "kr_differs"),
                   "kr_differs", err) ||
      device_check(dev, dev->cu->cuModuleGetFunction(&dev->poisoned, dev->tools, "kr_poisoned"),
                   "kr_poisoned", err) ||
      device_check(dev,
                   dev->cu->cuFuncSetAttribute(dev->scrub,
                                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               (int)dev->facts.shared_optin_bytes),
                   "shared memory", err))
    goto out;
  dev->flags = memory_take(dev, FLAGS_MAX * sizeof(unsigned), err);
  if (!dev->flags)
    goto out;
  dev->flush_bytes = 2 * dev->facts.l2_bytes / 16 * 16;
  rc = 0;
out:
  kr_bytes_release(&log);
  return rc;
}

// --- facts ---

static int attribute(struct kr_device *dev, CUdevice_attribute a)
{
  int v = 0;
  return dev->cu->cuDeviceGetAttribute(&v, a, dev->device) ? 0 : v;
}

// "580.159.04" from the kernel's side of the driver; "" when it does not say.
static void driver_release(char *out, size_t size)
{
  *out = 0;
  FILE *f = fopen("/proc/driver/nvidia/version", "re");
  char line[256];
  if (!f)
    return;
  if (fgets(line, sizeof line, f))
    for (char *save, *w = strtok_r(line, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
      size_t digits = strspn(w, "0123456789");
      if (digits && w[digits] == '.' && w[strspn(w, "0123456789.")] == 0) {
        snprintf(out, size, "%s", w);
        break;
      }
    }
  fclose(f);
}

static int read_facts(struct kr_device *dev, struct kr_err *err)
{
  struct kr_device_facts *f = &dev->facts;
  CUuuid uuid;
  size_t memory = 0;
  if (libcuda_check(dev->cu, dev->cu->cuDeviceGetName(f->name, sizeof f->name, dev->device),
                    "cuDeviceGetName", err) ||
      libcuda_check(dev->cu, dev->cu->cuDeviceGetUuid(&uuid, dev->device), "cuDeviceGetUuid",
                    err) ||
      libcuda_check(dev->cu, dev->cu->cuDeviceTotalMem(&memory, dev->device), "cuDeviceTotalMem",
                    err))
    return -1;
  int n = snprintf(f->uuid, sizeof f->uuid, "GPU-");
  for (int i = 0; i < 16; i++)
    n += snprintf(f->uuid + n, sizeof f->uuid - (size_t)n, "%s%02x",
                  i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                  (unsigned char)uuid.bytes[i]);
  int cc = attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  snprintf(f->arch, sizeof f->arch, "sm_%d", cc);
  f->sms = attribute(dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  f->warp = attribute(dev, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  f->l2_bytes = (size_t)attribute(dev, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  f->memory_bytes = memory;
  f->shared_optin_bytes =
      (size_t)attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  // Both HBM and GDDR move data on both edges of the clock reported in kHz.
  f->peak_bytes_per_s = 2.0 * 1e3 * attribute(dev, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                        attribute(dev, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  int version = 0;
  dev->cu->cuDriverGetVersion(&version);
  driver_release(f->driver, sizeof f->driver);
  if (!*f->driver)
    snprintf(f->driver, sizeof f->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  snprintf(f->compiler, sizeof f->compiler, "NVRTC %d.%d", dev->nvrtc.lib->major,
           dev->nvrtc.lib->minor);
  if (!attribute(dev, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
    return kr_err_set(err, "%s has no virtual memory management, without which accesses out of "
                           "bounds cannot be seen", f->name);
  return 0;
}

// --- open and close ---

static void cuda_close(struct kr_device *dev)
{
  if (!dev)
    return;
  if (!dev->lock.held)
    lock_shared(&dev->lock);
  if (dev->context && !dev->lost) {
    if (dev->flush_memory)
      memory_give(dev, dev->flush_memory);
    if (dev->tools)
      dev->cu->cuModuleUnload(dev->tools);
    for (int i = 0; i < 2; i++)
      if (dev->half_done[i])
        dev->cu->cuEventDestroy(dev->half_done[i]);
    if (dev->stream)
      dev->cu->cuStreamDestroy(dev->stream);
  }
  if (dev->context)
    memory_close(dev);
  if (dev->context && !dev->lost)
    dev->cu->cuDevicePrimaryCtxRelease(dev->device);
  lock_close(&dev->lock);
  nvrtc_compiler_release(&dev->nvrtc);
  free(dev);
}

// Up to where work reaches the GPU.
static int open_driver(struct kr_device *dev, int ordinal, struct kr_err *err)
{
  const struct libcuda *cu = dev->cu;
  int n = 0;
  CUresult r = cu->cuInit(0);
  if (r == CUDA_ERROR_NO_DEVICE)
    return kr_err_set(err, "the CUDA driver sees no GPU here; use --evaluator=cpu");
  if (libcuda_check(cu, r, "the CUDA driver does not start", err) ||
      libcuda_check(cu, cu->cuDeviceGetCount(&n), "cuDeviceGetCount", err))
    return -1;
  if (ordinal < 0 || ordinal >= n)
    return kr_err_set(err, "there is no GPU %d: the CUDA driver sees %d", ordinal, n);
  if (libcuda_check(cu, cu->cuDeviceGet(&dev->device, ordinal), "cuDeviceGet", err) ||
      read_facts(dev, err))
    return -1;
  lock_open(&dev->lock, dev->facts.uuid);
  return 0;
}

static int open_context(struct kr_device *dev, struct kr_err *err)
{
  const struct libcuda *cu = dev->cu;
  if (libcuda_check(cu, cu->cuDevicePrimaryCtxRetain(&dev->context, dev->device),
                    "no context on the GPU", err))
    return -1;
  CUmemAllocationProp prop = {
      .type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->device},
  };
  void *staging = NULL;
  if (libcuda_check(cu, cu->cuCtxSetCurrent(dev->context), "cuCtxSetCurrent", err) ||
      libcuda_check(cu, cu->cuStreamCreate(&dev->stream, CU_STREAM_NON_BLOCKING),
                    "cuStreamCreate", err) ||
      libcuda_check(cu,
                    cu->cuMemGetAllocationGranularity(&dev->granularity, &prop,
                                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "cuMemGetAllocationGranularity", err) ||
      libcuda_check(cu,
                    cu->cuMemAddressReserve(&dev->nowhere, dev->granularity, dev->granularity, 0,
                                            0),
                    "cuMemAddressReserve", err) ||
      libcuda_check(cu, cu->cuEventCreate(&dev->half_done[0], CU_EVENT_DISABLE_TIMING),
                    "cuEventCreate", err) ||
      libcuda_check(cu, cu->cuEventCreate(&dev->half_done[1], CU_EVENT_DISABLE_TIMING),
                    "cuEventCreate", err) ||
      libcuda_check(cu, cu->cuMemHostAlloc(&staging, STAGING_BYTES, 0), "cuMemHostAlloc", err))
    return -1;
  dev->staging = staging;
#ifdef __GLIBC__
  // Every run brings its buffers back into memory of their own. By default large
  // blocks are mapped and unmapped one by one, and faulting them in costs many
  // times the copy (seen: 300 ms for 256 MiB), so they come from the heap here,
  // which keeps what was freed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
  // No kernel may reserve part of L2 for itself; devices without it say so here.
  cu->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
  return 0;
}

static int cuda_open(const struct kr_backend_options *options, struct kr_device **out,
                     struct kr_err *err)
{
  struct kr_device *dev = kr_xcalloc(1, sizeof *dev);
  dev->lock = (struct gpu_lock){.gate = -1, .gpu = -1};
  if (options) {
    dev->lock.on_wait = options->on_wait;
    dev->lock.on_wait_arg = options->on_wait_arg;
  }
  dev->timeout_ms = options && options->timeout_ms ? options->timeout_ms : 10000;
  double start = kr_now_ms();
  if (process_lost) {
    free(dev);
    return kr_err_set(err, "a fault lost the GPU for this process; only a new process can use it");
  }
  dev->cu = libcuda_open(err);
  if (!dev->cu || nvrtc_compiler_open(&dev->nvrtc, options ? options->cuda_path : NULL, err) ||
      open_driver(dev, options ? options->device : 0, err)) {
    cuda_close(dev);
    return -1;
  }
  lock_shared(&dev->lock);
  int rc = open_context(dev, err) || open_tools(dev, err) ? -1 : 0;
  lock_leave(&dev->lock);
  if (rc) {
    cuda_close(dev);
    return -1;
  }
  kr_debug("compile", "%s, %s, driver %s, %s: open in %.0f ms", dev->facts.name, dev->facts.arch,
           dev->facts.driver, dev->facts.compiler, kr_now_ms() - start);
  *out = dev;
  return 0;
}

static const struct kr_device_facts *cuda_facts(struct kr_device *dev)
{
  return &dev->facts;
}

const struct kr_backend kr_backend_cuda = {
    .name = "cuda",
    .can_time = true,
    .open = cuda_open,
    .close = cuda_close,
    .facts = cuda_facts,
    .compile = module_compile,
    .module_free = module_free,
    .module_hash = module_hash,
    .module_resources = module_resources,
    .load = run_load,
    .dataset_free = run_unload,
    .run = run_once,
    .time = time_pair,
};
