#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../base/mem.h"

// One launch on fresh clones, between guards.
//
// Every buffer has a mapping of its own with unmapped memory on both sides, so
// an access past the side where the buffer ends (or starts) faults at once,
// exact to one element. What of the mapping is not buffer is filled with poison
// and looked at afterwards, byte for byte, so writes on the other side are found
// too.

bool run_launch_is_empty(const struct kr_launch *l)
{
  return !l->grid[0] || !l->grid[1] || !l->grid[2];
}

size_t run_natural_align(const struct kr_instance *in, size_t buffer)
{
  enum { MALLOC_ALIGN = 256 }; // what cudaMalloc promises
  const struct kr_buffer *b = &in->buffers[buffer];
  const struct kr_contract *c = in->contract;
  bool promised = c && b->section < c->n_sections && c->sections[b->section].align;
  size_t align = b->align ? b->align : 1;
  return promised || align > MALLOC_ALIGN ? align : MALLOC_ALIGN;
}

void run_params_make(struct run_params *p, const struct kr_instance *in, const CUdeviceptr *bases)
{
  const struct kr_contract *c = in->contract;
  const struct kr_param *params = kr_case_params(c, in->case_index);
  p->n = c->n_params;
  p->blocks = kr_xcalloc(p->n + 1, sizeof *p->blocks);
  p->pointers = kr_xcalloc(p->n + 1, sizeof *p->pointers);
  for (size_t i = 0; i < p->n; i++) {
    p->blocks[i] = kr_xcalloc(params[i].size + 1, 1);
    memcpy(p->blocks[i], in->params[i], params[i].size);
    p->pointers[i] = p->blocks[i];
  }
  for (size_t i = 0; i < in->n_slots; i++) {
    const struct kr_pointer_slot *s = &in->slots[i];
    uint64_t address = 0;
    if (s->buffer < in->n_buffers && !in->buffers[s->buffer].null)
      address = bases[s->buffer] +
                (uint64_t)s->element * (uint64_t)in->buffers[s->buffer].type->size;
    memcpy(p->blocks[s->param] + s->offset, &address, sizeof address);
  }
}

void run_params_release(struct run_params *p)
{
  for (size_t i = 0; i < p->n; i++)
    free(p->blocks[i]);
  free(p->blocks);
  free(p->pointers);
  memset(p, 0, sizeof *p);
}

// --- datasets ---

int run_load(struct kr_device *dev, const struct kr_instance *in, struct kr_dataset **out,
             struct kr_err *err)
{
  if (dev->lost)
    return kr_err_set(err, "the GPU's context was lost: %s", dev->lost_why);
  struct kr_dataset *d = kr_xcalloc(1, sizeof *d);
  d->in = in;
  d->buffers = kr_xcalloc(in->n_buffers + 1, sizeof *d->buffers);
  lock_shared(&dev->lock);
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (b->null || !b->bytes || !b->init)
      continue;
    d->buffers[i].pristine = memory_take(dev, b->bytes, err);
    if (!d->buffers[i].pristine ||
        memory_upload(dev, d->buffers[i].pristine, b->init, b->bytes, err)) {
      lock_leave(&dev->lock);
      run_unload(dev, d);
      return -1;
    }
  }
  lock_leave(&dev->lock);
  *out = d;
  return 0;
}

void run_unload(struct kr_device *dev, struct kr_dataset *d)
{
  if (!d)
    return;
  time_copies_free(dev, d);
  for (size_t i = 0; i < d->in->n_buffers; i++)
    if (d->buffers[i].pristine)
      memory_give(dev, d->buffers[i].pristine);
  free(d->buffers);
  free(d);
}

// --- placement ---

struct placed {
  struct cuda_region *region;
  size_t lead; // bytes of the mapping before the buffer
};

// The first address at or after (`up`) or at or before `at` where `shift` bytes
// before it are a multiple of `align`: a promise is about the pointer passed,
// whose element 0 the buffer's first element need not be.
static CUdeviceptr align_to(CUdeviceptr at, int64_t shift, size_t align, bool up)
{
  uint64_t over = (at - (uint64_t)shift) % align;
  if (!over)
    return at;
  return up ? at + (align - over) : at - over;
}

static int place(struct kr_device *dev, const struct kr_instance *in, size_t i,
                 enum kr_placement how, struct placed *out, CUdeviceptr *base, struct kr_err *err)
{
  const struct kr_buffer *b = &in->buffers[i];
  size_t align = how == KR_PLACE_END ? (b->align ? b->align : 1) : run_natural_align(in, i);
  int64_t shift = b->start * (int64_t)b->type->size;
  bool exact = how == KR_PLACE_START ? shift % (int64_t)align == 0
                                     : ((int64_t)b->bytes - shift) % (int64_t)align == 0 &&
                                           shift % (int64_t)align == 0;
  out->region = region_take(dev, b->bytes + (exact ? 0 : align), err);
  if (!out->region)
    return -1;
  CUdeviceptr start = out->region->addr, end = start + out->region->size;
  *base = how == KR_PLACE_START ? align_to(start, shift, align, true)
                                : align_to(end - b->bytes, shift, align, false);
  out->lead = *base - start;
  return 0;
}

// Poison everywhere, then the buffer's contents.
static int fill(struct kr_device *dev, const struct kr_dataset *d, size_t i,
                const struct placed *p, CUdeviceptr base, unsigned char poison, struct kr_err *err)
{
  const struct kr_buffer *b = &d->in->buffers[i];
  if (device_check(dev,
                   dev->cu->cuMemsetD8Async(p->region->addr, poison, p->region->size, dev->stream),
                   "cannot fill device memory", err))
    return -1;
  if (!d->buffers[i].pristine)
    return 0;
  return device_check(dev,
                      dev->cu->cuMemcpyDtoDAsync(base, d->buffers[i].pristine, b->bytes,
                                                 dev->stream),
                      "cannot clone a buffer", err);
}

// Looks, on the device, at what of the mappings is not buffer and at the buffers
// that must not change, and brings the others over.
static int fetch(struct kr_device *dev, struct kr_dataset *d, const struct placed *placed,
                 const CUdeviceptr *bases, unsigned char poison, struct kr_run_result *result,
                 struct kr_err *err)
{
  const struct kr_instance *in = d->in;
  // For buffer i: word 2i, something beside it was written; 2i + 1, it changed.
  unsigned flags[FLAGS_MAX] = {0};
  size_t used = 2 * in->n_buffers * sizeof *flags;
  if (2 * in->n_buffers > FLAGS_MAX)
    return kr_err_set(err, "more than %d buffers are not supported by the cuda back end",
                      FLAGS_MAX / 2);
  if (used && device_check(dev, dev->cu->cuMemsetD8Async(dev->flags, 0, used, dev->stream),
                           "cannot look at the gaps", err))
    return -1;
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct placed *p = &placed[i];
    const struct kr_buffer *b = &in->buffers[i];
    if (!p->region)
      continue;
    size_t end = p->lead + b->bytes;
    if (memory_flag_poison(dev, p->region->addr, p->lead, poison, 2 * (unsigned)i, err) ||
        memory_flag_poison(dev, p->region->addr + end, p->region->size - end, poison,
                           2 * (unsigned)i, err) ||
        (b->role == KR_IN && d->buffers[i].pristine &&
         memory_flag_differs(dev, bases[i], d->buffers[i].pristine, b->bytes,
                             2 * (unsigned)i + 1, err)))
      return -1;
  }
  if (memory_download(dev, flags, dev->flags, used, err))
    return -1;
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (!placed[i].region)
      continue;
    if (flags[2 * i] && !result->gap_written) {
      result->gap_written = true;
      result->gap_buffer = i;
    }
    if (b->role == KR_IN && d->buffers[i].pristine && !flags[2 * i + 1])
      continue;
    result->after[i] = memory_host(b->bytes);
    if (memory_download(dev, result->after[i], bases[i], b->bytes, err))
      return -1;
  }
  return 0;
}

// --- the launch ---

static void scrub(struct kr_device *dev, unsigned char poison)
{
  unsigned words = (unsigned)(dev->facts.shared_optin_bytes / 4), pattern = poison * 0x01010101u;
  void *params[] = {&words, &pattern};
  dev->cu->cuLaunchKernel(dev->scrub, (unsigned)dev->facts.sms * 2, 1, 1, 1024, 1, 1, words * 4,
                          dev->stream, params, NULL);
}

// The launch itself. What the kernel did wrong goes to `result`.
static void launch(struct kr_device *dev, const struct kr_module *m, const struct cuda_kernel *k,
                   const struct kr_run_options *o, void **params, struct kr_run_result *result)
{
  unsigned timeout_ms = o->timeout_ms ? o->timeout_ms : dev->timeout_ms;
  double start = kr_now_ms();
  CUresult r = module_launch(dev, k, &o->launch, params);
  if (r && !device_error_is_sticky(r)) {
    result->status = KR_RUN_LAUNCH_FAILED;
    module_refusal(dev, m, k, &o->launch, r, result->text, sizeof result->text);
    return;
  }
  if (!r)
    r = device_wait(dev, timeout_ms);
  result->wall_ms = kr_now_ms() - start;
  if (r == CUDA_ERROR_NOT_READY) {
    result->status = KR_RUN_TIMEOUT;
    snprintf(result->text, sizeof result->text, "did not end within %u ms", timeout_ms);
  } else if (r) {
    result->status = KR_RUN_FAULT;
    snprintf(result->text, sizeof result->text, "%s", libcuda_words(dev->cu, r));
  }
  if (r) {
    device_lose(dev, result->text);
    result->device_lost = true;
  }
}

int run_once(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
             const struct kr_run_options *o, struct kr_run_result *result, struct kr_err *err)
{
  int rc = -1;
  const struct kr_instance *in = d->in;
  memset(result, 0, sizeof *result);
  if (dev->lost) {
    result->device_lost = true;
    return kr_err_set(err, "the GPU's context was lost: %s", dev->lost_why);
  }
  lock_shared(&dev->lock);
  double begin = kr_now_ms(), prepared;
  struct placed *placed = kr_xcalloc(in->n_buffers + 1, sizeof *placed);
  CUdeviceptr *bases = kr_xcalloc(in->n_buffers + 1, sizeof *bases);
  struct run_params params = {0};
  unsigned char *state = NULL, *state_after = NULL;
  size_t state_len = 0, state_after_len = 0;
  // Device variables must be as in a fresh process, whatever ran before.
  if (m->has_state) {
    if (module_reload(dev, m, err))
      goto out;
    state = module_state(dev, m, &state_len);
  }
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (b->null)
      continue;
    if (!b->bytes) { // nothing of it may be touched
      bases[i] = dev->nowhere + dev->granularity / 2;
      continue;
    }
    if (place(dev, in, i, o->placement, &placed[i], &bases[i], err) ||
        fill(dev, d, i, &placed[i], bases[i], o->poison, err))
      goto out;
  }
  run_params_make(&params, in, bases);
  if (!run_launch_is_empty(&o->launch)) {
    scrub(dev, o->poison);
    if (device_check(dev, device_wait(dev, 60000), "cannot prepare a launch", err))
      goto out;
    launch(dev, m, module_kernel(m, in), o, params.pointers, result);
  } else if (device_check(dev, device_wait(dev, 60000), "cannot prepare a launch", err)) {
    goto out;
  }
  rc = 0;
  prepared = kr_now_ms();
  if (result->status != KR_RUN_OK)
    goto out;
  result->n_buffers = in->n_buffers;
  result->after = kr_xcalloc(in->n_buffers + 1, sizeof *result->after);
  if (state) {
    state_after = module_state(dev, m, &state_after_len);
    result->state_written = !state_after || state_after_len != state_len ||
                            memcmp(state, state_after, state_len);
  }
  if (fetch(dev, d, placed, bases, o->poison, result, err)) {
    rc = -1;
    goto out;
  }
  kr_debug("verify", "a run: prepare and launch %.2f, launch %.2f, fetch %.2f ms",
           prepared - begin, result->wall_ms, kr_now_ms() - prepared);
out:
  // An endless kernel still runs, until this process is ended.
  if (!dev->lost)
    lock_leave(&dev->lock);
  if (dev->lost)
    result->device_lost = true;
  for (size_t i = 0; i < in->n_buffers; i++)
    if (placed[i].region)
      region_give(placed[i].region);
  run_params_release(&params);
  free(state);
  free(state_after);
  free(placed);
  free(bases);
  return rc;
}
