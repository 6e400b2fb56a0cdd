#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"

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
  CUfunction kernel = NULL;
  if (device_check(dev, dev->cu->cuModuleGetFunction(&kernel, module, m->code.lowered),
                   m->code.lowered, err)) {
    dev->cu->cuModuleUnload(module);
    return -1;
  }
  if (m->module)
    dev->cu->cuModuleUnload(m->module);
  m->module = module;
  m->kernel = kernel;
  m->static_shared = function_attribute(dev, kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  m->max_threads = function_attribute(dev, kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  // The edited site will launch with what the site allows, so this does too.
  if (m->shared_limit > SHARED_DEFAULT)
    return device_check(
        dev,
        dev->cu->cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)m->shared_limit),
        "the launch sites' shared memory limit", err);
  return 0;
}

// cuLaunchKernel reads as many bytes from each parameter as the machine code
// says, so a kernel whose parameters are not the contract's must not get there.
static bool params_match(const struct kr_contract *c, const struct cubin_facts *f,
                         struct kr_bytes *log)
{
  if (f->n_params != c->n_params || f->n_params > CUBIN_MAX_PARAMS) {
    kr_bytes_addf(log, "variant.cu: error: the kernel has %zu parameters, the contract %zu\n",
                  f->n_params, c->n_params);
    return false;
  }
  for (size_t i = 0; i < c->n_params; i++)
    if (f->param_sizes[i] != c->params[i].size) {
      kr_bytes_addf(log,
                    "variant.cu: error: parameter %zu of the kernel has %u bytes, the "
                    "contract's `%s` %zu\n",
                    i + 1, f->param_sizes[i], c->params[i].name ? c->params[i].name : "",
                    c->params[i].size);
      return false;
    }
  return true;
}

int module_compile(struct kr_device *dev, const struct kr_contract *c, const char *text,
                   size_t len, struct kr_module **out, struct kr_bytes *log, struct kr_err *err)
{
  if (dev->lost)
    return kr_err_set(err, "the GPU's context was lost: %s", dev->lost_why);
  struct kr_module *m = kr_xcalloc(1, sizeof *m);
  m->n_params = c->n_params;
  m->shared_limit = c->shared_limit;
  int rc = nvrtc_compile(&dev->nvrtc, c, dev->facts.arch, text, len, &m->code, log, err);
  if (rc) {
    free(m);
    return rc;
  }
  if (cubin_read(m->code.cubin, m->code.len, m->code.lowered, &m->cubin, err))
    rc = -1;
  else if (!params_match(c, &m->cubin, log))
    rc = 1;
  else
    rc = load(dev, m, err);
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
  if (m->module && !dev->lost)
    dev->cu->cuModuleUnload(m->module);
  cuda_code_release(&m->code);
  free(m);
}

struct kr_hash module_hash(struct kr_device *dev, const struct kr_module *m)
{
  (void)dev;
  return m->cubin.code;
}

int module_resources(struct kr_device *dev, struct kr_module *m, const struct kr_launch *launch,
                     struct kr_resources *out)
{
  *out = (struct kr_resources){.registers = -1, .shared_bytes = -1, .local_bytes = -1,
                               .const_bytes = -1, .max_threads = -1};
  if (dev->lost)
    return -1;
  out->registers = function_attribute(dev, m->kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
  out->shared_bytes = m->static_shared;
  out->local_bytes = function_attribute(dev, m->kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out->const_bytes = function_attribute(dev, m->kernel, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  out->max_threads = m->max_threads;
  if (!launch)
    return 0;
  if (out->shared_bytes >= 0)
    out->shared_bytes += (int)launch->shared_bytes;
  int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
  int warps = (threads + 31) / 32, blocks = 0, most = 0;
  if (threads > 0 &&
      !dev->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, m->kernel, threads,
                                                            launch->shared_bytes) &&
      !dev->cu->cuDeviceGetAttribute(
          &most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, dev->device) &&
      most > 0)
    out->occupancy = (double)blocks * warps * 32 / most;
  return 0;
}

CUresult module_launch(struct kr_device *dev, struct kr_module *m, const struct kr_launch *l,
                       void **params)
{
  if (l->cooperative)
    return dev->cu->cuLaunchCooperativeKernel(m->kernel, l->grid[0], l->grid[1], l->grid[2],
                                              l->block[0], l->block[1], l->block[2],
                                              l->shared_bytes, dev->stream, params);
  return dev->cu->cuLaunchKernel(m->kernel, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                 l->block[1], l->block[2], l->shared_bytes, dev->stream, params,
                                 NULL);
}

void module_refusal(struct kr_device *dev, struct kr_module *m, const struct kr_launch *l,
                    CUresult r, char *out, size_t size)
{
  int n = snprintf(out, size, "the launch was refused: %s", libcuda_words(dev->cu, r));
  if (n < 0 || (size_t)n >= size)
    return;
  out += n;
  size -= (size_t)n;
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  int64_t limit = m->shared_limit > SHARED_DEFAULT ? m->shared_limit : SHARED_DEFAULT;
  int64_t shared = (int64_t)l->shared_bytes + (m->static_shared > 0 ? m->static_shared : 0);
  if (threads > 1024)
    snprintf(out, size, "; a block of %llu threads is over the limit of 1024",
             (unsigned long long)threads);
  else if (m->max_threads > 0 && threads > (uint64_t)m->max_threads)
    snprintf(out, size, "; with its registers or launch bounds the kernel takes blocks of at most "
                        "%d threads, not %llu", m->max_threads, (unsigned long long)threads);
  else if (shared > limit)
    snprintf(out, size, "; %lld bytes of shared memory, the launch sites allow %lld",
             (long long)shared, (long long)limit);
  else if (l->grid[1] > 65535 || l->grid[2] > 65535 || l->block[2] > 64)
    snprintf(out, size, "; grid(%u, %u, %u) block(%u, %u, %u) is over the device's limits",
             l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
}
