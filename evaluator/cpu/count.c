#include "internal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "../base/mem.h"
#include "child.h"
#include "report.h"

// Counting a launch: a traced image runs the blocks that a budget allows, on
// private pages of the dataset, and what it tells of them is scaled to the whole
// grid. The first and the last block stand for themselves, all others for what
// lies between.

enum { COUNT_BUDGET_MS = 300, COUNT_EVENTS_A_MS = 200000, COUNT_TIMEOUT_FACTOR = 20,
       COUNT_MAX_BLOCKS = 2048, COUNT_SMS = 132 };

// The L1 that a block has: of 128 KiB less what resident blocks hold as shared
// memory, its part. Registers are not known here.
static uint64_t count_l1_bytes(const struct kr_job *job, const struct kr_image *image)
{
  uint64_t threads = (uint64_t)job->block[0] * job->block[1] * job->block[2];
  uint64_t shared = job->shared_bytes + image->static_shared_bytes;
  uint64_t resident = 64 / ((threads + 31) / 32);
  if (resident > 32)
    resident = 32;
  if (shared && resident > (228u << 10) / (shared + 1024))
    resident = (228u << 10) / (shared + 1024);
  uint64_t blocks = (uint64_t)job->grid[0] * job->grid[1] * job->grid[2];
  uint64_t each = (blocks + COUNT_SMS - 1) / COUNT_SMS;
  if (resident > each)
    resident = each;
  if (resident < 1)
    resident = 1;
  uint64_t held = resident * shared, l1 = 128u << 10;
  l1 = held < l1 - (32u << 10) ? l1 - held : 32u << 10;
  return l1 / resident;
}

// --- from the counted blocks to the launch ---

struct scale {
  double inner; // what a sum over the counted inner blocks is multiplied with
};

static double count_sum(const struct scale *s, uint64_t edge, uint64_t inner)
{
  return (double)edge + s->inner * (double)inner;
}

static void count_traffic(const struct scale *s, const struct kr_trace_traffic *edge,
                          const struct kr_trace_traffic *inner, enum kr_trace_kind kind,
                          struct kr_traffic *out)
{
  out->requests = count_sum(s, edge->requests, inner->requests);
  out->lanes = count_sum(s, edge->lanes, inner->lanes);
  out->bytes = count_sum(s, edge->bytes, inner->bytes);
  out->sectors = count_sum(s, edge->sectors, inner->sectors);
  out->wavefronts = count_sum(s, edge->wavefronts, inner->wavefronts);
  // Stores go through the L1, atomics past it.
  out->l1_miss_sectors =
      kind == KR_TRACE_LOAD ? count_sum(s, edge->missed, inner->missed) : out->sectors;
  out->partial_sectors = count_sum(s, edge->partial, inner->partial);
  out->spread_rows = count_sum(s, edge->rows, inner->rows);
}

// How many times a block's own sectors `n` neighbours in one dimension touch
// together, if each shares the part `shared` with the one before it.
static double count_growth(uint64_t n, double shared)
{
  return 1 + (double)(n - 1) * (1 - shared);
}

// The sectors of a buffer that `blocks` consecutive blocks touch.
static double count_reach(const struct kr_trace_reach *r, const uint32_t grid[3], double whole,
                          uint64_t blocks, uint64_t counted)
{
  if (!r->sectors)
    return 0;
  double reach = (double)r->sectors / (double)counted;
  for (int i = 0; i < 3; i++) {
    uint64_t n = blocks < grid[i] ? blocks : grid[i];
    // A dimension whose neighbours were not counted is taken to share nothing.
    double shared = r->pair[i] ? (double)r->shared[i] / (double)r->pair[i] : 0;
    reach *= count_growth(n, shared);
    blocks = (blocks + grid[i] - 1) / grid[i];
  }
  return reach < whole ? reach : whole;
}

// Distinct sectors of one way of access, of all buffers, for runs of blocks and for
// the launch.
static void count_footprint(const struct kr_job *job, const struct kr_instance *in,
                            const struct kr_image *image, int way, uint64_t counted,
                            struct kr_traffic *out)
{
  const struct kr_trace_result *t = &job->trace;
  uint64_t blocks = (uint64_t)job->grid[0] * job->grid[1] * job->grid[2];
  for (size_t b = 0; b <= KR_MAX_BUFFERS; b++) {
    bool own = b == KR_MAX_BUFFERS; // variables of the image
    if (!own && b >= in->n_buffers)
      continue;
    const struct kr_trace_reach *r = &t->reach[b][way];
    double bytes = own ? (double)(image->ro_bytes + image->rw_bytes) : (double)in->buffers[b].bytes;
    double whole = ceil(bytes / 32);
    // Once all blocks were counted, it is known.
    double all = counted == blocks ? (double)r->all
                                   : fmax(count_reach(r, job->grid, whole, blocks, counted),
                                          (double)r->all);
    out->footprint += 32 * all;
    for (int i = 0; i < KR_N_WINDOWS; i++) {
      uint64_t n = (uint64_t)1 << i;
      double part = count_reach(r, job->grid, whole, n < blocks ? n : blocks, counted);
      out->window[i] += 32 * (part < all ? part : all);
    }
  }
}

static void count_scale(const struct kr_job *job, const struct kr_instance *in,
                        const struct kr_image *image, struct kr_counters *out)
{
  const struct kr_trace_result *t = &job->trace;
  const struct kr_trace_sums *e = &t->edge, *n = &t->inner;
  uint64_t blocks = (uint64_t)job->grid[0] * job->grid[1] * job->grid[2];
  uint64_t counted = e->blocks + n->blocks;
  struct scale s = {n->blocks ? (double)(blocks - e->blocks) / (double)n->blocks : 0};
  memset(out, 0, sizeof *out);
  memcpy(out->grid, job->grid, sizeof out->grid);
  memcpy(out->block, job->block, sizeof out->block);
  out->blocks = blocks;
  out->blocks_counted = counted;
  out->sampled = counted < blocks;
  out->warps = count_sum(&s, e->warps, n->warps);
  double total = 0;
  for (int i = 0; i < KR_N_INST; i++) {
    out->inst[i] = count_sum(&s, e->inst[i], n->inst[i]);
    total += out->inst[i];
  }
  out->lane_inst = count_sum(&s, e->lane_inst, n->lane_inst);
  out->divergent_branches = count_sum(&s, e->divergent, n->divergent);
  struct kr_traffic *traffic[] = {&out->loads, &out->stores, &out->atomics};
  for (int k = 0; k < KR_TRACE_N_KINDS; k++)
    count_traffic(&s, &e->traffic[k], &n->traffic[k], (enum kr_trace_kind)k, traffic[k]);
  count_footprint(job, in, image, 0, counted, &out->loads);
  // What is written and what is changed by atomics is one footprint.
  count_footprint(job, in, image, 1, counted, out->stores.requests ? &out->stores : &out->atomics);
  out->shared_wavefronts = count_sum(&s, e->shared_wavefronts, n->shared_wavefronts);
  out->shared_ideal = count_sum(&s, e->shared_ideal, n->shared_ideal);
  out->shared_atomic_passes = count_sum(&s, e->shared_atomic_passes, n->shared_atomic_passes);
  out->atomic_passes = count_sum(&s, e->atomic_passes, n->atomic_passes);
  // One address that several blocks hit is hit by those that were not counted too.
  out->hottest_atomic = (double)t->hottest_atomic;
  if (t->hottest_blocks > 1 && counted)
    out->hottest_atomic *= (double)blocks / (double)counted;
  out->local_bytes = count_sum(&s, e->local_bytes, n->local_bytes);
  out->barriers = out->inst[KR_INST_BARRIER];
  if (out->warps > 0) {
    out->chain_global = count_sum(&s, e->chain_global, n->chain_global) / out->warps;
    out->chain_shared = count_sum(&s, e->chain_shared, n->chain_shared) / out->warps;
    out->chain_inst = total / out->warps;
  }
  double waits = out->chain_global * out->warps;
  out->loads_in_flight = waits > 0 ? out->loads.requests / waits : 0;
  out->longest_warp = out->chain_inst > 0 ? (double)t->longest_warp / out->chain_inst : 0;
  out->static_shared_bytes = image->static_shared_bytes;
  out->dynamic_shared_bytes = job->shared_bytes;
}

// One run of the traced image; how it ended is in `r`.
static int count_run(struct kr_device *dev, const struct kr_module *traced, struct kr_dataset *d,
                     const struct kr_count_options *options, uint64_t watch, struct kr_job **out,
                     struct kr_run_result *r, struct kr_err *err)
{
  unsigned budget_ms = options->budget_ms ? options->budget_ms : COUNT_BUDGET_MS;
  unsigned timeout_ms = dev->timeout_ms;
  if (timeout_ms / COUNT_TIMEOUT_FACTOR < budget_ms)
    timeout_ms = budget_ms < UINT_MAX / COUNT_TIMEOUT_FACTOR ? COUNT_TIMEOUT_FACTOR * budget_ms
                                                             : UINT_MAX / 2;
  struct cpu_layout *lay = kr_xcalloc(1, sizeof *lay);
  struct kr_run_options run = {.launch = options->launch, .placement = KR_PLACE_DEVICE};
  struct kr_bytes words;
  kr_bytes_init(&words, 4096);
  int rc = -1;
  if (cpu_prepare(d, &run, timeout_ms, CPU_COUNT_JOB, lay, err))
    goto out;
  d->filled = true;
  struct kr_job *job = d->job[CPU_COUNT_JOB];
  job->private_buffers = 1;
  job->races = options->races;
  job->race_watch = watch;
  job->trace_events = (uint64_t)budget_ms * COUNT_EVENTS_A_MS;
  job->trace_blocks = options->max_blocks ? options->max_blocks : COUNT_MAX_BLOCKS;
  job->trace_l1_bytes = count_l1_bytes(job, &traced->image);
  char *argv[] = {(char *)"kevin-simt", NULL};
  struct child child = {.program = dev->simt, .argv = argv, .in = -1, .log = &words,
                        .fd3 = d->fd[CPU_COUNT_JOB], .fd4 = traced->fd, .timeout_ms = timeout_ms};
  if (child_run(&child, err))
    goto out;
  if (words.len) {
    kr_err_set(err, "the CPU runtime could not be set up: %s", words.data);
    goto out;
  }
  report_end(job, &traced->image, d->in, lay->data, child.status, child.late, timeout_ms, r);
  r->cpu_ms = child.cpu_ms;
  *out = job;
  rc = 0;
out:
  kr_bytes_release(&words);
  free(lay);
  return rc;
}

int cpu_count(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
              const struct kr_count_options *options, struct kr_counters *out,
              struct kr_run_result *r, struct kr_err *err)
{
  memset(r, 0, sizeof *r);
  memset(out, 0, sizeof *out);
  m = cpu_kernel_of(m, d->in);
  const struct kr_launch *l = &options->launch;
  if (cpu_launch_refused(m, l, r))
    return 0;
  if (!l->grid[0] || !l->grid[1] || !l->grid[2])
    return 0;
  if (cpu_compile_traced(dev, m, err))
    return -1;
  const struct kr_module *traced = m->traced;
  if (cpu_launch_refused(traced, l, r))
    return 0;
  struct kr_job *job = NULL;
  if (count_run(dev, traced, d, options, 0, &job, r, err))
    return -1;
  // The same once more, with an eye on the word, tells who was there before.
  if (r->status == KR_RUN_FAULT && job->fault == KR_FAULT_RACE && job->address &&
      count_run(dev, traced, d, options, job->address, &job, r, err))
    return -1;
  if (r->status == KR_RUN_OK)
    count_scale(job, d->in, &traced->image, out);
  kr_debug("count", "%llu of %llu blocks, %.0f ms, %llu events",
           (unsigned long long)out->blocks_counted, (unsigned long long)out->blocks, r->cpu_ms,
           (unsigned long long)job->trace.events);
  return 0;
}
