#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"

enum { STATE_MAX = 64 << 20 };
enum { SHARED_DEFAULT = 48 << 10 }; // dynamic shared memory without an attribute raised

static int function_attribute(struct kr_device *dev, CUfunction f, CUfunction_attribute a)
{
  int v = 0;
  return dev->cu->cuFuncGetAttribute(&v, a, f) ? -1 : v;
}

static int load(struct kr_device *dev, struct kr_module *m, struct kr_err *err)
{
  CUmodule module = NULL;
  if (device_check(dev, dev->cu->cuModuleLoadDataEx(&module, m->code.cubin, 0, NULL, NULL),
                   "the driver does not take the kernel's machine code", err))
    return -1;
  CUfunction *functions = kr_xcalloc(m->n_kernels, sizeof *functions);
  for (size_t i = 0; i < m->n_kernels; i++) {
    if (!device_check(dev, dev->cu->cuModuleGetFunction(&functions[i], module, m->code.lowered[i]),
                      m->code.lowered[i], err))
      continue;
    dev->cu->cuModuleUnload(module);
    free(functions);
    return -1;
  }
  if (m->module)
    dev->cu->cuModuleUnload(m->module);
  m->module = module;
  int rc = 0;
  for (size_t i = 0; i < m->n_kernels && !rc; i++) {
    struct cuda_kernel *k = &m->kernels[i];
    k->function = functions[i];
    k->static_shared = function_attribute(dev, k->function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    k->max_threads = function_attribute(dev, k->function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    // The edited site will launch with what the site allows, so this does too.
    if (m->shared_limit > SHARED_DEFAULT)
      rc = device_check(dev,
                        dev->cu->cuFuncSetAttribute(
                            k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            (int)m->shared_limit),
                        "the launch sites' shared memory limit", err);
  }
  free(functions);
  return rc;
}

// cuLaunchKernel reads as many bytes from each parameter as the machine code
// says, so a kernel whose parameters are not the contract's must not get there.
static bool params_match(const struct kr_contract *c, size_t instantiation,
                         const struct cubin_facts *f, struct kr_bytes *log)
{
  const struct kr_param *params = kr_contract_params(c, instantiation);
  if (f->n_params != c->n_params || f->n_params > CUBIN_MAX_PARAMS) {
    kr_bytes_addf(log, "variant.cu: error: the kernel has %zu parameters, the contract %zu\n",
                  f->n_params, c->n_params);
    return false;
  }
  for (size_t i = 0; i < c->n_params; i++)
    if (f->param_sizes[i] != params[i].size) {
      kr_bytes_addf(log,
                    "variant.cu: error: parameter %zu of the kernel has %u bytes, the "
                    "contract's `%s` %zu\n",
                    i + 1, f->param_sizes[i], params[i].name ? params[i].name : "",
                    params[i].size);
      return false;
    }
  return true;
}

static void add_state(void *arg, const char *name)
{
  struct kr_module *m = arg;
  KR_GROW(m->state, m->n_state, m->cap_state);
  m->state[m->n_state++] = kr_xstrdup(name);
}

unsigned char *module_state(struct kr_device *dev, const struct kr_module *m, size_t *len)
{
  unsigned char *out = NULL;
  *len = 0;
  for (size_t i = 0; i < m->n_state; i++) {
    CUdeviceptr at = 0;
    size_t size = 0;
    if (dev->cu->cuModuleGetGlobal(&at, &size, m->module, m->state[i]) || !size)
      continue; // what nothing refers to is not there
    if (size > STATE_MAX - *len)
      break;
    out = kr_xrealloc(out, *len + size);
    if (memory_download(dev, out + *len, at, size, NULL)) {
      free(out);
      *len = 0;
      return NULL;
    }
    *len += size;
  }
  return out;
}

int module_compile(struct kr_device *dev, const struct kr_contract *c, const char *text,
                   size_t len, struct kr_module **out, struct kr_bytes *log, struct kr_err *err)
{
  if (dev->lost)
    return kr_err_set(err, "the GPU's context was lost: %s", dev->lost_why);
  struct kr_module *m = kr_xcalloc(1, sizeof *m);
  m->shared_limit = c->shared_limit;
  int rc = nvrtc_compile(&dev->nvrtc, c, dev->facts.arch, text, len, &m->code, log, err);
  if (rc) {
    free(m);
    return rc;
  }
  m->n_kernels = m->code.n_lowered;
  m->kernels = kr_xcalloc(m->n_kernels, sizeof *m->kernels);
  struct kr_hasher hasher;
  kr_hasher_init(&hasher);
  for (size_t i = 0; i < m->n_kernels && !rc; i++) {
    struct cubin_facts *f = &m->kernels[i].cubin;
    if (cubin_read(m->code.cubin, m->code.len, m->code.lowered[i], f, err))
      rc = -1;
    else if (!params_match(c, i, f, log))
      rc = 1;
    m->has_state = m->has_state || f->has_state;
    kr_hasher_field(&hasher, f->code.bytes, sizeof f->code.bytes);
  }
  if (m->has_state)
    cubin_each_state(m->code.cubin, m->code.len, add_state, m);
  m->hash = m->n_kernels == 1 ? m->kernels[0].cubin.code : kr_hasher_end(&hasher);
  if (!rc) {
    lock_shared(&dev->lock);
    rc = load(dev, m, err);
    lock_leave(&dev->lock);
  }
  if (rc) {
    module_free(dev, m);
    return rc;
  }
  *out = m;
  return 0;
}

int module_reload(struct kr_device *dev, struct kr_module *m, struct kr_err *err)
{
  return load(dev, m, err);
}

void module_free(struct kr_device *dev, struct kr_module *m)
{
  if (!m)
    return;
  if (m->module && !dev->lost) {
    lock_shared(&dev->lock);
    dev->cu->cuModuleUnload(m->module);
    lock_leave(&dev->lock);
  }
  cuda_code_release(&m->code);
  for (size_t i = 0; i < m->n_state; i++)
    free(m->state[i]);
  free(m->state);
  free(m->kernels);
  free(m);
}

struct kr_hash module_hash(struct kr_device *dev, const struct kr_module *m)
{
  (void)dev;
  return m->hash;
}

int module_resources(struct kr_device *dev, struct kr_module *m, const struct kr_launch *launch,
                     struct kr_resources *out)
{
  *out = (struct kr_resources){.registers = -1, .shared_bytes = -1, .local_bytes = -1,
                               .const_bytes = -1, .max_threads = -1};
  if (dev->lost)
    return -1;
  const struct cuda_kernel *k = &m->kernels[0];
  out->registers = function_attribute(dev, k->function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  out->shared_bytes = k->static_shared;
  out->local_bytes = function_attribute(dev, k->function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out->const_bytes = function_attribute(dev, k->function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  out->max_threads = k->max_threads;
  if (!launch)
    return 0;
  if (out->shared_bytes >= 0)
    out->shared_bytes += (int)launch->shared_bytes;
  int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
  int warps = (threads + 31) / 32, blocks = 0, most = 0;
  if (threads > 0 &&
      !dev->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->function, threads,
                                                            launch->shared_bytes) &&
      !dev->cu->cuDeviceGetAttribute(
          &most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, dev->device) &&
      most > 0)
    out->occupancy = (double)blocks * warps * 32 / most;
  return 0;
}

const struct cuda_kernel *module_kernel(const struct kr_module *m, const struct kr_instance *in)
{
  return &m->kernels[kr_case_kernel(in->contract, in->case_index)];
}

CUresult module_launch(struct kr_device *dev, const struct cuda_kernel *k,
                       const struct kr_launch *l, void **params)
{
  if (l->cooperative)
    return dev->cu->cuLaunchCooperativeKernel(k->function, l->grid[0], l->grid[1], l->grid[2],
                                              l->block[0], l->block[1], l->block[2],
                                              l->shared_bytes, dev->stream, params);
  return dev->cu->cuLaunchKernel(k->function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                 l->block[1], l->block[2], l->shared_bytes, dev->stream, params,
                                 NULL);
}

void module_refusal(struct kr_device *dev, const struct kr_module *m, const struct cuda_kernel *k,
                    const struct kr_launch *l, CUresult r, char *out, size_t size)
{
  int n = snprintf(out, size, "the launch was refused: %s", libcuda_words(dev->cu, r));
  if (n < 0 || (size_t)n >= size)
    return;
  out += n;
  size -= (size_t)n;
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  int64_t limit = m->shared_limit > SHARED_DEFAULT ? m->shared_limit : SHARED_DEFAULT;
  int64_t shared = (int64_t)l->shared_bytes + (k->static_shared > 0 ? k->static_shared : 0);
  if (threads > 1024)
    snprintf(out, size, "; a block of %llu threads is over the limit of 1024",
             (unsigned long long)threads);
  else if (k->max_threads > 0 && threads > (uint64_t)k->max_threads)
    snprintf(out, size, "; with its registers or launch bounds the kernel takes blocks of at most "
                        "%d threads, not %llu", k->max_threads, (unsigned long long)threads);
  else if (shared > limit)
    snprintf(out, size, "; %lld bytes of shared memory, the launch sites allow %lld",
             (long long)shared, (long long)limit);
  else if (l->grid[1] > 65535 || l->grid[2] > 65535 || l->block[2] > 64)
    snprintf(out, size, "; grid(%u, %u, %u) block(%u, %u, %u) is over the device's limits",
             l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
}
