#include "rt.h"

#include <string.h>
#include <sys/mman.h>

// Which blocks of a large grid are counted.
//
// A block in the middle comes first, with its neighbours in x, y and z; then the
// first and the last block of the grid, which stand for themselves; then, if all
// blocks fit into the work allowed, the rest in their order, else further blocks
// with their neighbours, spread over the grid. Work is counted in events, not in time, so that a launch is counted
// the same wherever and whenever that is done.

enum { THREAD_EVENTS = 8 }; // what a thread costs before it does anything

static struct {
  uint64_t n, done;
  uint64_t *seen; // a bit a block
} g;

static bool sample_again(uint64_t block)
{
  uint64_t bit = UINT64_C(1) << (block & 63);
  bool was = g.seen[block / 64] & bit;
  g.seen[block / 64] |= bit;
  return was;
}

static uint64_t sample_work(void)
{
  const uint32_t *block = simt_job->block;
  return simt_trace_events() + g.done * THREAD_EVENTS * block[0] * block[1] * block[2];
}

static bool sample_enough(void)
{
  return g.done &&
         (sample_work() >= simt_job->trace_events || g.done >= simt_job->trace_blocks);
}

static void sample_block(uint64_t n, struct kr_trace_sums *into, bool base, int neighbour)
{
  simt_trace_block_begin();
  simt_run_block(n);
  const uint32_t *block = simt_job->block;
  uint64_t warps = ((uint64_t)block[0] * block[1] * block[2] + 31) / 32;
  simt_trace_block_end((int)warps);
  request_block_end(base, neighbour);
  into->blocks++;
  into->warps += warps;
  g.done++;
  simt_job->blocks_done = g.done;
}

// A block and its neighbours; returns whether it was not counted before.
static bool sample_cross(uint64_t block)
{
  const uint32_t *grid = simt_job->grid;
  if (sample_again(block))
    return false;
  struct kr_trace_sums *into = &simt_job->trace.inner;
  sample_block(block, into, true, -1);
  uint64_t stride = 1;
  for (int i = 0; i < 3; stride *= grid[i], i++) {
    if (grid[i] < 2 || sample_enough())
      continue;
    bool last = block / stride % grid[i] == grid[i] - 1;
    uint64_t other = last ? block - stride : block + stride;
    if (other > 0 && other < g.n - 1 && !sample_again(other))
      sample_block(other, into, false, i);
  }
  return true;
}

// Multiples of the golden ratio spread evenly over the grid, and over each of its
// dimensions too: no power of two, nor any other size, is in step with them.
static uint64_t spread(uint64_t i, uint64_t n)
{
  return (uint64_t)((double)(i * UINT64_C(0x9e3779b97f4a7c15)) * 0x1p-64 * (double)n);
}

int sample_setup(void)
{
  const uint32_t *grid = simt_job->grid;
  g.n = (uint64_t)grid[0] * grid[1] * grid[2];
  g.seen = mmap(NULL, g.n / 8 + 8, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return g.seen == MAP_FAILED ? -1 : 0;
}

void sample_run(void)
{
  struct kr_trace_result *out = &simt_job->trace;
  const uint32_t *grid = simt_job->grid;
  uint64_t middle = grid[0] / 2 + (uint64_t)grid[0] * (grid[1] / 2 + (uint64_t)grid[1] * (grid[2] / 2));
  if (g.n > 2) {
    sample_again(0);
    sample_again(g.n - 1);
    if (middle == 0 || middle == g.n - 1)
      middle = 1;
    sample_cross(middle);
    simt_trace_fold(&out->inner);
  }
  for (uint64_t i = 0; i < g.n && i < 2 && !sample_enough(); i++) {
    sample_block(i ? g.n - 1 : 0, &out->edge, false, -1);
    simt_trace_fold(&out->edge);
  }
  uint64_t each = sample_work() / (g.done ? g.done : 1) + 1;
  if (g.n <= simt_job->trace_blocks && each * g.n <= simt_job->trace_events + each) {
    for (uint64_t i = 1; i + 1 < g.n; i++)
      if (!sample_again(i))
        sample_block(i, &out->inner, false, -1);
  } else {
    for (uint64_t i = 1, misses = 0; !sample_enough() && misses < 1000; i++) {
      uint64_t at = spread(i, g.n);
      misses = at < g.n && sample_cross(at) ? 0 : misses + 1;
    }
  }
  simt_trace_fold(&out->inner);
  request_end();
  out->events = simt_trace_events();
}
