#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../base/mem.h"

// Cold times of two kernels, side by side.
//
// A launch in a program rarely finds its data in L2, and a benchmark that
// repeats one launch on one set of buffers nearly always does. So there are K
// copies of all buffers, together more than twice L2, and each launch works on
// the next. K launches go into one graph between two events: what a launch and
// an event cost on the host, more than a small kernel itself, is then outside.
// Before every such batch the copies are restored: contents that the kernel
// changes from a shadow, outputs to poison, as in the check.
//
// Where 2 x L2 would take too many copies there are fewer, and L2 is flushed
// before each batch: every launch of it still meets data that nobody has
// touched since. Where K copies do not fit, or one launch is so long that an
// event costs nothing beside it, a batch is one launch after a flush.
//
// Batches of the two kernels stand in blocks A B B A or B A A B, drawn at
// random, so that drift of clocks and temperature hits both alike. A block
// gives one sample of each: the mean over its two batches.

enum {
  MAX_COPIES = 256,     // more are not made; L2 is flushed instead
  FLUSHED_COPIES = 128, // in that case
  MAX_BLOCKS_AT_ONCE = 8,
  EVENTS_A_BLOCK = 8,
  OFFSET_UNIT = 512,
  OFFSET_MAX = 64 << 10,
  KEPT_MAX = 16 << 20,
  WARM_LAUNCHES = 20,
  WARM_BATCHES = 3
};
static const double LONG_LAUNCH_US = 2000; // from here on single launches
static const double WARM_BATCH_US = 500;
static const double AT_ONCE_MS = 20;       // GPU work put into the stream before waiting
static const size_t SHADOW_MAX = (size_t)1 << 30;

struct cuda_copies {
  unsigned n;
  bool flush;
  size_t in_bytes, inout_bytes, out_bytes; // of the slabs
  CUdeviceptr in, inout, out, shadow;      // shadow 0: restored buffer by buffer
  CUdeviceptr *bases;                      // [copy * n_buffers + buffer]
  struct run_params *params;               // one a copy
};

// splitmix64 (Steele, Lea, Flood 2014): order and offsets, nothing that needs more.
static uint64_t rng_next(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// --- copies ---

void time_copies_free(struct kr_device *dev, struct kr_dataset *d)
{
  struct cuda_copies *c = d->copies;
  if (dev->copied == d)
    dev->copied = NULL;
  if (!c)
    return;
  CUdeviceptr slabs[] = {c->in, c->inout, c->out, c->shadow};
  for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++)
    if (slabs[i])
      memory_give(dev, slabs[i]);
  for (unsigned i = 0; c->params && i < c->n; i++)
    run_params_release(&c->params[i]);
  free(c->params);
  free(c->bases);
  free(c);
  d->copies = NULL;
}

static size_t *slab_size(struct cuda_copies *c, enum kr_role role)
{
  return role == KR_IN ? &c->in_bytes : role == KR_INOUT ? &c->inout_bytes : &c->out_bytes;
}

static bool has_memory(const struct kr_buffer *b)
{
  return !b->null && b->bytes;
}

// Lays the copies out: bases become offsets in their slabs.
static void copies_lay(struct cuda_copies *c, const struct kr_instance *in, bool random,
                       uint64_t *rng)
{
  for (unsigned k = 0; k < c->n; k++)
    for (size_t i = 0; i < in->n_buffers; i++) {
      const struct kr_buffer *b = &in->buffers[i];
      if (!has_memory(b))
        continue;
      size_t *size = slab_size(c, b->role), align = run_natural_align(in, i);
      int64_t shift = b->start * (int64_t)b->type->size;
      size_t at = *size;
      if (random)
        at += rng_next(rng) % (OFFSET_MAX / OFFSET_UNIT) * OFFSET_UNIT;
      // The pointer, not the first element, is aligned; slabs are to 256 bytes or more.
      uint64_t over = ((uint64_t)at - (uint64_t)shift) % align;
      if (over)
        at += align - over;
      c->bases[k * in->n_buffers + i] = at;
      *size = at + b->bytes;
    }
}

static size_t copies_bytes(const struct cuda_copies *c)
{
  return c->in_bytes + c->out_bytes + 2 * c->inout_bytes;
}

static int copies_fill(struct kr_device *dev, struct kr_dataset *d, struct cuda_copies *c,
                       CUdeviceptr inout, bool in_too, struct kr_err *err)
{
  const struct kr_instance *in = d->in;
  for (unsigned k = 0; k < c->n; k++)
    for (size_t i = 0; i < in->n_buffers; i++) {
      const struct kr_buffer *b = &in->buffers[i];
      if (!d->buffers[i].pristine || b->role == KR_OUT || (b->role == KR_IN && !in_too))
        continue;
      CUdeviceptr to = c->bases[k * in->n_buffers + i];
      if (b->role == KR_INOUT)
        to = to - c->inout + inout;
      if (device_check(dev,
                       dev->cu->cuMemcpyDtoDAsync(to, d->buffers[i].pristine, b->bytes,
                                                  dev->stream),
                       "cannot copy buffers", err))
        return -1;
    }
  return 0;
}

static unsigned copies_wanted(struct kr_device *dev, const struct kr_instance *in, bool *flush)
{
  size_t bytes = 0, l2 = dev->facts.l2_bytes;
  for (size_t i = 0; i < in->n_buffers; i++)
    if (has_memory(&in->buffers[i]))
      bytes += in->buffers[i].bytes;
  uint64_t need = bytes ? (2 * (uint64_t)l2 + bytes - 1) / bytes + 1 : UINT64_MAX;
  *flush = need > MAX_COPIES;
  return *flush ? FLUSHED_COPIES : need < 2 ? 2 : (unsigned)need;
}

static int copies_make(struct kr_device *dev, struct kr_dataset *d, bool random, uint64_t *rng,
                       struct kr_err *err)
{
  const struct kr_instance *in = d->in;
  if (d->copies && !random)
    return 0;
  time_copies_free(dev, d);
  if (dev->copied)
    time_copies_free(dev, dev->copied);
  if (random)
    memory_trim(dev); // so that other pages are given
  struct cuda_copies *c = kr_xcalloc(1, sizeof *c);
  d->copies = c;
  dev->copied = d;
  bool flush = false;
  unsigned want = copies_wanted(dev, in, &flush);
  c->bases = kr_xcalloc(want * in->n_buffers + 1, sizeof *c->bases);
  size_t free_bytes = 0, total = 0;
  if (device_check(dev, dev->cu->cuMemGetInfo(&free_bytes, &total), "cuMemGetInfo", err))
    goto fail;
  for (c->n = want;; c->n = 1) {
    c->in_bytes = c->inout_bytes = c->out_bytes = 0;
    copies_lay(c, in, random, rng);
    if (copies_bytes(c) <= free_bytes / 10 * 8 || c->n == 1)
      break;
    memory_trim(dev);
    if (device_check(dev, dev->cu->cuMemGetInfo(&free_bytes, &total), "cuMemGetInfo", err))
      goto fail;
    if (copies_bytes(c) <= free_bytes / 10 * 8)
      break;
  }
  c->flush = flush || c->n == 1;
  bool shadow = c->inout_bytes && c->inout_bytes <= SHADOW_MAX;
  if ((c->in_bytes && !(c->in = memory_take(dev, c->in_bytes, err))) ||
      (c->inout_bytes && !(c->inout = memory_take(dev, c->inout_bytes, err))) ||
      (c->out_bytes && !(c->out = memory_take(dev, c->out_bytes, err))) ||
      (shadow && !(c->shadow = memory_take(dev, c->inout_bytes, err))) ||
      (!dev->flush_memory && !(dev->flush_memory = memory_take(dev, dev->flush_bytes, err))))
    goto fail;
  c->params = kr_xcalloc(c->n, sizeof *c->params);
  for (unsigned k = 0; k < c->n; k++) {
    CUdeviceptr *bases = c->bases + k * in->n_buffers;
    for (size_t i = 0; i < in->n_buffers; i++) {
      const struct kr_buffer *b = &in->buffers[i];
      if (has_memory(b))
        bases[i] += b->role == KR_IN ? c->in : b->role == KR_INOUT ? c->inout : c->out;
      else if (!b->null)
        bases[i] = dev->nowhere + dev->granularity / 2;
    }
    run_params_make(&c->params[k], in, bases);
  }
  if (copies_fill(dev, d, c, c->shadow ? c->shadow : c->inout, true, err))
    goto fail;
  return 0;
fail:
  time_copies_free(dev, d);
  return -1;
}

// Puts the restoration into the stream.
static int copies_restore(struct kr_device *dev, struct kr_dataset *d, unsigned char poison,
                          struct kr_err *err)
{
  struct cuda_copies *c = d->copies;
  if (c->shadow) {
    if (device_check(dev,
                     dev->cu->cuMemcpyDtoDAsync(c->inout, c->shadow, c->inout_bytes, dev->stream),
                     "cannot restore buffers", err))
      return -1;
  } else if (c->inout_bytes && copies_fill(dev, d, c, c->inout, false, err)) {
    return -1;
  }
  if (c->out_bytes)
    return device_check(dev, dev->cu->cuMemsetD8Async(c->out, poison, c->out_bytes, dev->stream),
                        "cannot fill buffers", err);
  return 0;
}

static int flush_l2(struct kr_device *dev, struct kr_err *err)
{
  unsigned long long n = dev->flush_bytes / 16;
  CUdeviceptr at = dev->flush_memory;
  void *params[] = {&at, &n, &at};
  return device_check(dev,
                      dev->cu->cuLaunchKernel(dev->flush, (unsigned)dev->facts.sms * 8, 1, 1, 256,
                                              1, 1, 0, dev->stream, params, NULL),
                      "cannot flush the L2 cache", err);
}

// --- batches ---

// The launches that stand between two events.
struct batch {
  struct kr_module *m;
  const struct cuda_kernel *kernel; // the one of them that the dataset launches
  const struct kr_launch *launch;
  struct cuda_copies *copies;
  unsigned launches;
  bool warm;        // all on the first copy
  CUgraphExec exec; // NULL: put into the stream one by one
};

static int batch_queue(struct kr_device *dev, const struct batch *b, struct kr_err *err)
{
  for (unsigned k = 0; k < b->launches; k++) {
    CUresult r = module_launch(dev, b->kernel, b->launch,
                               b->copies->params[b->warm ? 0 : k].pointers);
    if (r && !device_error_is_sticky(r)) {
      char text[512];
      module_refusal(dev, b->m, b->kernel, b->launch, r, text, sizeof text);
      return kr_err_set(err, "%s", text);
    }
    if (device_check(dev, r, "a launch failed", err))
      return -1;
  }
  return 0;
}

// Makes a graph of the batch. Kernels that cannot be captured stay in the stream.
static void batch_capture(struct kr_device *dev, struct batch *b)
{
  CUgraph graph = NULL;
  if (b->launches < 2 ||
      dev->cu->cuStreamBeginCapture(dev->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    return;
  int failed = batch_queue(dev, b, NULL);
  if (dev->cu->cuStreamEndCapture(dev->stream, &graph))
    graph = NULL;
  if (!failed && graph && dev->cu->cuGraphInstantiate(&b->exec, graph, 0))
    b->exec = NULL;
  if (b->exec)
    dev->cu->cuGraphUpload(b->exec, dev->stream);
  if (graph)
    dev->cu->cuGraphDestroy(graph);
}

static void batch_release(struct kr_device *dev, struct batch *b)
{
  if (b->exec && !dev->lost)
    dev->cu->cuGraphExecDestroy(b->exec);
  b->exec = NULL;
}

static int batch_put(struct kr_device *dev, const struct batch *b, CUevent start, CUevent stop,
                     struct kr_err *err)
{
  if (device_check(dev, dev->cu->cuEventRecord(start, dev->stream), "cuEventRecord", err))
    return -1;
  if (b->exec ? device_check(dev, dev->cu->cuGraphLaunch(b->exec, dev->stream), "cuGraphLaunch",
                             err)
              : batch_queue(dev, b, err))
    return -1;
  return device_check(dev, dev->cu->cuEventRecord(stop, dev->stream), "cuEventRecord", err);
}

static int elapsed_us(struct kr_device *dev, CUevent start, CUevent stop, double *us,
                      struct kr_err *err)
{
  float ms = 0;
  if (device_check(dev, dev->cu->cuEventElapsedTime(&ms, start, stop), "cuEventElapsedTime", err))
    return -1;
  *us = 1e3 * ms;
  return 0;
}

// --- one timing ---

struct timing {
  struct kr_device *dev;
  struct kr_dataset *d;
  struct batch a, b;
  CUevent events[MAX_BLOCKS_AT_ONCE * EVENTS_A_BLOCK];
  size_t n_events;
  uint64_t rng;
  unsigned char poison;
  double once_us; // one launch, the slower of the two; rough
};

static int settle(struct timing *t, double expected_ms, struct kr_err *err)
{
  struct kr_device *dev = t->dev;
  double patience = dev->timeout_ms + 4 * expected_ms;
  CUresult r = device_wait(dev, patience < 1e9 ? (unsigned)patience : 1000000000u);
  if (r == CUDA_ERROR_NOT_READY) {
    device_lose(dev, "a timed launch did not end");
    return kr_err_set(err, "a timed launch did not end within %u ms", dev->timeout_ms);
  }
  return device_check(dev, r, "a timed launch failed", err);
}

// Restores, flushes where needed, and puts a batch between two events.
static int position_put(struct timing *t, const struct batch *b, CUevent start, CUevent stop,
                        struct kr_err *err)
{
  if (copies_restore(t->dev, t->d, t->poison, err) ||
      (t->d->copies->flush && flush_l2(t->dev, err)))
    return -1;
  return batch_put(t->dev, b, start, stop, err);
}

// A first launch loads what is loaded lazily, a second says how long one takes.
static int measure_once(struct timing *t, struct kr_err *err)
{
  struct batch *both[] = {&t->a, &t->b};
  for (size_t i = 0; i < 2; i++) {
    unsigned all = both[i]->launches;
    double us = 0;
    both[i]->launches = 1;
    int failed = 0;
    for (int round = 0; round < 2 && !failed; round++)
      failed = position_put(t, both[i], t->events[0], t->events[1], err) || settle(t, 0, err) ||
               elapsed_us(t->dev, t->events[0], t->events[1], &us, err);
    both[i]->launches = all;
    if (failed)
      return -1;
    if (us > t->once_us)
      t->once_us = us;
  }
  return 0;
}

static bool keeps(const struct timing *t, const struct kr_time_options *o)
{
  const struct kr_instance *in = t->d->in;
  size_t bytes = 0;
  for (size_t i = 0; i < in->n_buffers; i++)
    if (has_memory(&in->buffers[i]) && in->buffers[i].role != KR_IN)
      bytes += in->buffers[i].bytes;
  return bytes <= KEPT_MAX || o->keep_after;
}

// Brings over what a launch of the last batch left in the copy that it worked on.
static int take_outputs(struct timing *t, unsigned launches, unsigned char ***out,
                        struct kr_err *err)
{
  const struct kr_instance *in = t->d->in;
  unsigned copy = (unsigned)(rng_next(&t->rng) % launches);
  *out = kr_xcalloc(in->n_buffers + 1, sizeof **out);
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *buffer = &in->buffers[i];
    if (!has_memory(buffer) || buffer->role == KR_IN)
      continue;
    (*out)[i] = memory_host(buffer->bytes);
    if (memory_download(t->dev, (*out)[i], t->d->copies->bases[copy * in->n_buffers + i],
                        buffer->bytes, err))
      return -1;
  }
  return 0;
}

static int run_blocks(struct timing *t, const struct kr_time_options *o, struct kr_time_result *out,
                      struct kr_err *err)
{
  struct kr_device *dev = t->dev;
  double start = kr_now_ms(), block_ms = 0;
  // A block whose last batch is looked at: b's, and no kernel can tell which it is.
  size_t looked_at = keeps(t, o) && o->pairs ? (size_t)(rng_next(&t->rng) % o->pairs) : SIZE_MAX;
  unsigned n_launches = t->a.launches;
  // How much goes into the stream before the host looks again.
  double guess_ms = 4 * n_launches * t->once_us / 1e3;
  while (out->n < o->pairs) {
    double each_ms = block_ms > 0 ? block_ms : guess_ms;
    size_t at_once = each_ms > 0 && AT_ONCE_MS / each_ms < MAX_BLOCKS_AT_ONCE
                         ? (size_t)(AT_ONCE_MS / each_ms)
                         : MAX_BLOCKS_AT_ONCE;
    if (at_once < 1)
      at_once = 1;
    if (at_once > o->pairs - out->n)
      at_once = o->pairs - out->n;
    bool look = out->n <= looked_at && looked_at < out->n + at_once;
    if (look)
      at_once = looked_at - out->n + 1;
    bool swapped[MAX_BLOCKS_AT_ONCE];
    double put = kr_now_ms();
    dev->cu->cuCtxResetPersistingL2Cache();
    for (size_t i = 0; i < at_once; i++) {
      swapped[i] = rng_next(&t->rng) >> 63;
      if (look && i + 1 == at_once)
        swapped[i] = true; // b stands last
      for (size_t p = 0; p < 4; p++) {
        bool outer = p == 0 || p == 3;
        CUevent *e = &t->events[i * EVENTS_A_BLOCK + 2 * p];
        if (position_put(t, outer != swapped[i] ? &t->a : &t->b, e[0], e[1], err))
          return -1;
      }
    }
    if (settle(t, each_ms * (double)at_once, err))
      return -1;
    for (size_t i = 0; i < at_once; i++) {
      double us[4];
      for (size_t p = 0; p < 4; p++) {
        CUevent *e = &t->events[i * EVENTS_A_BLOCK + 2 * p];
        if (elapsed_us(dev, e[0], e[1], &us[p], err))
          return -1;
      }
      double outer = (us[0] + us[3]) / 2 / n_launches, inner = (us[1] + us[2]) / 2 / n_launches;
      out->a_us[out->n] = swapped[i] ? inner : outer;
      out->b_us[out->n] = swapped[i] ? outer : inner;
      out->n++;
    }
    double now = kr_now_ms();
    block_ms = (now - put) / (double)at_once;
    if (look && take_outputs(t, n_launches, &out->b_during, err))
      return -1;
    bool enough = out->n >= 3 || block_ms > o->budget_ms;
    if (o->budget_ms && now - start + block_ms > o->budget_ms && enough)
      break;
  }
  return 0;
}

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The same launch over and over on one copy.
static int run_warm(struct timing *t, const struct batch *cold, double *out, struct kr_err *err)
{
  // Enough to bury what an event costs, and not more.
  double enough = WARM_BATCH_US / (t->once_us > 1 ? t->once_us : 1);
  struct batch b = {.m = cold->m, .kernel = cold->kernel, .launch = cold->launch, .copies = cold->copies, .warm = true,
                    .launches = enough > WARM_LAUNCHES ? WARM_LAUNCHES
                                : enough < 2           ? 2
                                                       : (unsigned)enough};
  double us[WARM_BATCHES];
  int rc = -1;
  batch_capture(t->dev, &b);
  if (copies_restore(t->dev, t->d, t->poison, err))
    goto out;
  for (size_t i = 0; i <= WARM_BATCHES; i++) // the first one warms
    if (batch_put(t->dev, &b, t->events[2 * i], t->events[2 * i + 1], err))
      goto out;
  if (settle(t, 4 * b.launches * t->once_us / 1e3, err))
    goto out;
  for (size_t i = 0; i < WARM_BATCHES; i++)
    if (elapsed_us(t->dev, t->events[2 * i + 2], t->events[2 * i + 3], &us[i], err))
      goto out;
  qsort(us, WARM_BATCHES, sizeof *us, compare_doubles);
  *out = us[WARM_BATCHES / 2] / b.launches;
  rc = 0;
out:
  batch_release(t->dev, &b);
  return rc;
}

// One more batch, told by nothing from those before it, whose results are kept.
static int run_kept(struct timing *t, const struct batch *b, const struct kr_time_options *o,
                    unsigned char ***out, struct kr_err *err)
{
  if (!keeps(t, o))
    return 0;
  if (position_put(t, b, t->events[0], t->events[1], err) ||
      settle(t, b->launches * t->once_us / 1e3, err))
    return -1;
  return take_outputs(t, b->launches, out, err);
}

static void look_at_clocks(struct kr_device *dev, struct nvml_clocks before,
                           struct kr_time_result *out, bool locked)
{
  if (dev->ml)
    nvml_clocks_compare(before, libnvml_clocks(dev->ml), out->note, sizeof out->note);
  if (!locked && !*out->note)
    snprintf(out->note, sizeof out->note,
             "no lock file can be written: others may have used the GPU meanwhile");
}

int time_pair(struct kr_device *dev, struct kr_module *a, struct kr_module *b,
              struct kr_dataset *d, const struct kr_time_options *o, struct kr_time_result *result,
              struct kr_err *err)
{
  int rc = -1;
  memset(result, 0, sizeof *result);
  if (dev->lost) {
    result->device_lost = true;
    return kr_err_set(err, "the GPU's context was lost: %s", dev->lost_why);
  }
  if (run_launch_is_empty(&o->launch_a) || run_launch_is_empty(&o->launch_b))
    return kr_err_set(err, "an empty grid launches nothing, so there is no time to take");
  struct timing t = {.dev = dev, .d = d, .rng = o->seed};
  t.poison = (unsigned char)(rng_next(&t.rng) | 0x80); // NaN or large in every type
  bool locked = lock_alone(&dev->lock);
  double begin = kr_now_ms();
  if (!dev->ml_tried) {
    dev->ml = libnvml_open(dev->facts.uuid);
    dev->ml_tried = true;
  }
  double opened = kr_now_ms();
  if (copies_make(dev, d, o->random_offsets, &t.rng, err))
    goto out;
  struct cuda_copies *c = d->copies;
  for (; t.n_events < sizeof t.events / sizeof *t.events; t.n_events++)
    if (device_check(dev, dev->cu->cuEventCreate(&t.events[t.n_events], CU_EVENT_DEFAULT),
                     "cuEventCreate", err))
      goto out;
  t.a = (struct batch){.m = a, .kernel = module_kernel(a, d->in), .launch = &o->launch_a,
                       .copies = c, .launches = c->n};
  t.b = (struct batch){.m = b, .kernel = module_kernel(b, d->in), .launch = &o->launch_b,
                       .copies = c, .launches = c->n};
  if (measure_once(&t, err))
    goto out;
  bool flush = c->flush; // a property of the copies; a long launch flushes too
  if (t.once_us > LONG_LAUNCH_US) {
    t.a.launches = t.b.launches = 1;
    c->flush = true;
  }
  batch_capture(dev, &t.a);
  batch_capture(dev, &t.b);
  size_t cap = o->pairs ? o->pairs : 1;
  result->a_us = kr_xcalloc(cap, sizeof *result->a_us);
  result->b_us = kr_xcalloc(cap, sizeof *result->b_us);
  result->copies = c->n;
  result->launches_a_batch = t.a.launches;
  result->cold = true;
  double ready = kr_now_ms();
  struct nvml_clocks before = libnvml_clocks(dev->ml);
  double clocks = kr_now_ms();
  int failed = run_blocks(&t, o, result, err);
  double timed = kr_now_ms();
  if (!failed)
    look_at_clocks(dev, before, result, locked);
  result->n_buffers = d->in->n_buffers;
  if (failed || run_kept(&t, &t.a, o, &result->a_after, err) ||
      run_kept(&t, &t.b, o, &result->b_after, err) ||
      (t.once_us * WARM_LAUNCHES < 2e5 &&
       (run_warm(&t, &t.a, &result->warm_a_us, err) ||
        run_warm(&t, &t.b, &result->warm_b_us, err)))) {
    c->flush = flush;
    goto out;
  }
  c->flush = flush;
  kr_debug("time", "%zu blocks of %u launches over %u copies: nvml %.1f, copies and graphs %.1f, "
           "clocks %.1f, blocks %.1f, rest %.1f ms", result->n, t.a.launches, c->n,
           opened - begin, ready - opened, clocks - ready, timed - clocks,
           kr_now_ms() - timed);
  rc = 0;
out:
  batch_release(dev, &t.a);
  batch_release(dev, &t.b);
  for (size_t i = 0; i < t.n_events && !dev->lost; i++)
    dev->cu->cuEventDestroy(t.events[i]);
  if (!dev->lost) // else a kernel may still run, until this process is ended
    lock_leave(&dev->lock);
  result->device_lost = dev->lost;
  return rc;
}
