#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../base/clock.h"
#include "../base/mem.h"

// --- plain blocks ---

static size_t round_size(size_t size)
{
  size_t unit = size < (1 << 20) ? 4096 : 1 << 20;
  return (size + unit - 1) / unit * unit;
}

CUdeviceptr memory_take(struct kr_device *dev, size_t size, struct kr_err *err)
{
  size = round_size(size ? size : 1);
  struct cuda_block *best = NULL;
  for (size_t i = 0; i < dev->n_blocks; i++) {
    struct cuda_block *b = &dev->blocks[i];
    if (!b->busy && b->size >= size && b->size <= size + size / 2 && (!best || b->size < best->size))
      best = b;
  }
  if (best) {
    best->busy = true;
    return best->addr;
  }
  CUdeviceptr addr = 0;
  CUresult r = dev->cu->cuMemAlloc(&addr, size);
  if (r == CUDA_ERROR_OUT_OF_MEMORY) {
    memory_trim(dev);
    r = dev->cu->cuMemAlloc(&addr, size);
  }
  if (r) {
    device_check(dev, r, "no device memory", err);
    if (err && r == CUDA_ERROR_OUT_OF_MEMORY)
      kr_err_set(err, "%s has no %zu MiB of memory free", dev->facts.name, size >> 20);
    return 0;
  }
  KR_GROW(dev->blocks, dev->n_blocks, dev->cap_blocks);
  dev->blocks[dev->n_blocks++] = (struct cuda_block){addr, size, true};
  return addr;
}

void memory_give(struct kr_device *dev, CUdeviceptr addr)
{
  for (size_t i = 0; i < dev->n_blocks; i++)
    if (dev->blocks[i].addr == addr)
      dev->blocks[i].busy = false;
}

// Leaves an empty slot behind.
static void region_free(struct kr_device *dev, struct cuda_region *r)
{
  if (!r->size)
    return;
  dev->cu->cuMemUnmap(r->addr, r->size);
  dev->cu->cuMemRelease(r->handle);
  dev->cu->cuMemAddressFree(r->reserved, r->reserved_size);
  r->size = 0;
}

void memory_trim(struct kr_device *dev)
{
  if (dev->lost)
    return;
  size_t kept = 0;
  for (size_t i = 0; i < dev->n_blocks; i++) {
    if (dev->blocks[i].busy)
      dev->blocks[kept++] = dev->blocks[i];
    else
      dev->cu->cuMemFree(dev->blocks[i].addr);
  }
  dev->n_blocks = kept;
  for (size_t i = 0; i < dev->n_regions; i++)
    if (!dev->regions[i].busy)
      region_free(dev, &dev->regions[i]);
}

// --- guarded regions ---

struct cuda_region *region_take(struct kr_device *dev, size_t size, struct kr_err *err)
{
  size_t g = dev->granularity;
  size = (size + g - 1) / g * g;
  if (!size)
    size = g;
  for (size_t i = 0; i < dev->n_regions; i++) {
    struct cuda_region *r = &dev->regions[i];
    if (!r->busy && r->size == size) {
      r->busy = true;
      return r;
    }
  }
  // One granule on each side is reserved and stays unmapped; neighbours outside
  // could be somebody's.
  struct cuda_region n = {.size = size, .reserved_size = size + 2 * g, .busy = true};
  CUmemAllocationProp prop = {
      .type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->device},
  };
  CUmemAccessDesc access = {.location = prop.location,
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (device_check(dev, dev->cu->cuMemAddressReserve(&n.reserved, n.reserved_size, g, 0, 0),
                   "cannot reserve device addresses", err))
    return NULL;
  n.addr = n.reserved + g;
  CUresult r = dev->cu->cuMemCreate(&n.handle, size, &prop, 0);
  if (r == CUDA_ERROR_OUT_OF_MEMORY) {
    memory_trim(dev);
    r = dev->cu->cuMemCreate(&n.handle, size, &prop, 0);
  }
  if (r) {
    device_check(dev, r, "no device memory", err);
    dev->cu->cuMemAddressFree(n.reserved, n.reserved_size);
    return NULL;
  }
  r = dev->cu->cuMemMap(n.addr, size, 0, n.handle, 0);
  if (!r) {
    r = dev->cu->cuMemSetAccess(n.addr, size, &access, 1);
    if (r)
      dev->cu->cuMemUnmap(n.addr, size);
  }
  if (r) {
    device_check(dev, r, "cannot map device memory", err);
    dev->cu->cuMemRelease(n.handle);
    dev->cu->cuMemAddressFree(n.reserved, n.reserved_size);
    return NULL;
  }
  // Pointers into the array stay with their takers: it must not move while any
  // region is out, so it has its full size from the start.
  if (!dev->regions) {
    dev->cap_regions = 256;
    dev->regions = kr_xcalloc(dev->cap_regions, sizeof *dev->regions);
  }
  size_t at = 0, unused = SIZE_MAX;
  while (at < dev->n_regions && dev->regions[at].size) {
    if (!dev->regions[at].busy)
      unused = at;
    at++;
  }
  if (at == dev->cap_regions && unused == SIZE_MAX) {
    region_free(dev, &n);
    kr_err_set(err, "more than %zu buffers are not supported by the cuda back end",
               dev->cap_regions);
    return NULL;
  }
  if (at == dev->cap_regions)
    region_free(dev, &dev->regions[at = unused]);
  else if (at == dev->n_regions)
    dev->n_regions++;
  dev->regions[at] = n;
  return &dev->regions[at];
}

void region_give(struct cuda_region *r)
{
  r->busy = false;
}

void memory_close(struct kr_device *dev)
{
  if (!dev->lost) {
    for (size_t i = 0; i < dev->n_regions; i++)
      region_free(dev, &dev->regions[i]);
    for (size_t i = 0; i < dev->n_blocks; i++)
      dev->cu->cuMemFree(dev->blocks[i].addr);
    if (dev->nowhere)
      dev->cu->cuMemAddressFree(dev->nowhere, dev->granularity);
    if (dev->staging)
      dev->cu->cuMemFreeHost(dev->staging);
  }
  free(dev->regions);
  free(dev->blocks);
}

// --- transfers ---

int memory_upload(struct kr_device *dev, CUdeviceptr to, const void *from, size_t size,
                  struct kr_err *err)
{
  for (size_t at = 0; at < size; at += STAGING_BYTES) {
    size_t n = size - at < STAGING_BYTES ? size - at : STAGING_BYTES;
    memcpy(dev->staging, (const char *)from + at, n);
    if (device_check(dev, dev->cu->cuMemcpyHtoDAsync(to + at, dev->staging, n, dev->stream),
                     "cannot copy to the GPU", err) ||
        device_check(dev, device_wait(dev, 60000), "cannot copy to the GPU", err))
      return -1;
  }
  return 0;
}

void *memory_host(size_t size)
{
  enum { HUGE_PAGE = 2 << 20 };
  if (size < 2 * HUGE_PAGE)
    return kr_xmalloc(size ? size : 1);
  void *p = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
  if (!p)
    return kr_xmalloc(size); // which ends the program
  madvise(p, size, MADV_HUGEPAGE); // a wish; small pages do too
  return p;
}

int memory_flag_differs(struct kr_device *dev, CUdeviceptr a, CUdeviceptr b, size_t size,
                        unsigned flag, struct kr_err *err)
{
  unsigned long long n = size;
  CUdeviceptr word = dev->flags + flag * sizeof(unsigned);
  void *params[] = {&a, &b, &n, &word};
  unsigned blocks = (unsigned)(size / 4096 < 4096 ? size / 4096 + 1 : 4096);
  if (!size)
    return 0;
  return device_check(dev,
                      dev->cu->cuLaunchKernel(dev->differs, blocks, 1, 1, 256, 1, 1, 0,
                                              dev->stream, params, NULL),
                      "cannot compare buffers", err);
}

int memory_flag_poison(struct kr_device *dev, CUdeviceptr at, size_t size, unsigned char poison,
                       unsigned flag, struct kr_err *err)
{
  unsigned long long n = size;
  unsigned byte = poison;
  CUdeviceptr word = dev->flags + flag * sizeof(unsigned);
  void *params[] = {&at, &n, &byte, &word};
  unsigned blocks = (unsigned)(size / 4096 < 4096 ? size / 4096 + 1 : 4096);
  if (!size)
    return 0;
  return device_check(dev,
                      dev->cu->cuLaunchKernel(dev->poisoned, blocks, 1, 1, 256, 1, 1, 0,
                                              dev->stream, params, NULL),
                      "cannot look at the gaps", err);
}

static CUresult wait_half(struct kr_device *dev, int half)
{
  double start = kr_now_ms();
  CUresult r;
  while ((r = dev->cu->cuEventQuery(dev->half_done[half])) == CUDA_ERROR_NOT_READY)
    if (kr_now_ms() - start > 60000)
      break;
  return r;
}

// One half of the staging memory is filled while the other is emptied.
int memory_download(struct kr_device *dev, void *to, CUdeviceptr from, size_t size,
                    struct kr_err *err)
{
  enum { HALF = STAGING_BYTES / 2 };
  size_t chunks = (size + HALF - 1) / HALF;
  for (size_t k = 0; k <= chunks; k++) {
    if (k < chunks) {
      size_t at = k * HALF, n = size - at < HALF ? size - at : HALF;
      if (device_check(dev,
                       dev->cu->cuMemcpyDtoHAsync(dev->staging + k % 2 * HALF, from + at, n,
                                                  dev->stream),
                       "cannot copy from the GPU", err) ||
          device_check(dev, dev->cu->cuEventRecord(dev->half_done[k % 2], dev->stream),
                       "cuEventRecord", err))
        return -1;
    }
    if (k > 0) {
      size_t at = (k - 1) * HALF, n = size - at < HALF ? size - at : HALF;
      if (device_check(dev, wait_half(dev, (k - 1) % 2), "cannot copy from the GPU", err))
        return -1;
      memcpy((char *)to + at, dev->staging + (k - 1) % 2 * HALF, n);
    }
  }
  return 0;
}
