#include "request.h"

#include <string.h>
#include <sys/mman.h>

// From what each thread did to what a warp does.
//
// The threads of a warp append to traces of their own while they run one after
// the other. When none of them can go on, the traces are merged: of the segments
// that come next, the one with the smallest number is executed, by all lanes
// that stand at it. Numbers follow the control flow (instrument.c), so that lanes
// that parted meet again where the ways join.
//
// A lane whose trace is full stops too, until the warp was merged as far as all
// full lanes have told what comes next.

bool simt_traced;

struct tally {
  uint64_t warps, lanes;
};

static struct {
  const struct kr_trace_segment *segments;
  uint32_t n_segments;
  struct tally *tallies; // a segment each
  uint64_t divergent;
  uint64_t events;
  uint64_t warp_inst[KR_MAX_THREADS / 32];
} t;

static void *trace_map(uint64_t bytes)
{
  void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

int simt_trace_setup(const void *tables, uint64_t bytes)
{
  const struct kr_trace_head *head = tables;
  t.segments = (const struct kr_trace_segment *)(head + 1);
  t.n_segments = head->n_segments;
  const struct kr_trace_access *accesses =
      (const struct kr_trace_access *)(t.segments + head->n_segments);
  if (bytes != sizeof *head + head->n_segments * sizeof *t.segments +
                   head->n_accesses * sizeof *accesses)
    return -1;
  void *rows = (void *)KR_TRACE_BASE;
  uint64_t all = (uint64_t)KR_MAX_THREADS / 32 * KR_TRACE_WARP_BYTES;
  if (mmap(rows, all, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != rows)
    return -1;
  t.tallies = trace_map(t.n_segments * sizeof *t.tallies);
  simt_traced = true;
  return t.tallies && !request_setup(accesses, head->n_accesses) ? 0 : -1;
}

uint64_t simt_trace_start(int thread)
{
  return KR_TRACE_BASE + (uint64_t)(thread / 32) * KR_TRACE_WARP_BYTES +
         (uint64_t)(thread % 32) * KR_TRACE_LANE_BYTES;
}

// A row that ends here is the last one of the lane.
uint64_t simt_trace_last(int thread) { return simt_trace_start(thread) + KR_TRACE_WARP_BYTES; }

// One segment, executed by the lanes of `mask`; each one's rows start at its row `at`.
static void trace_execute(int warp, uint32_t id, uint32_t mask, const uint64_t *rows,
                          const uint32_t *at, bool together)
{
  const struct kr_trace_segment *s = &t.segments[id];
  uint32_t lanes = (uint32_t)__builtin_popcount(mask);
  t.tallies[id].warps++;
  t.tallies[id].lanes += lanes;
  t.warp_inst[warp] += s->total;
  t.events += (uint64_t)lanes * (1 + s->n_accesses);
  if (together) {
    const uint64_t *row = rows + (uint64_t)at[__builtin_ctz(mask)] * 32;
    for (uint32_t k = 0; k < s->n_accesses; k++, row += 32)
      request_add(s->first_access + k, mask, row);
    return;
  }
  uint64_t words[32] __attribute__((aligned(64)));
  for (uint32_t k = 0; k < s->n_accesses; k++) {
    for (uint32_t m = mask; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      words[l] = rows[(uint64_t)(at[l] + k) * 32 + (uint64_t)l];
    }
    request_add(s->first_access + k, mask, words);
  }
}

static uint32_t segment_rows(uint32_t id)
{
  return t.segments[id].n_accesses ? t.segments[id].n_accesses : 1;
}

// All 32 lanes together, as long as they are, from row `from` to the last one that all
// of them have. Returns how far.
__attribute__((target_clones("avx2", "default"))) static uint32_t
trace_together(int warp, const uint64_t *rows, uint32_t from, uint32_t to)
{
  while (from < to) {
    const uint64_t *row = rows + (uint64_t)from * 32;
    uint64_t first = row[0], differ = 0;
    for (int l = 0; l < 32; l++)
      differ |= row[l] ^ first;
    uint64_t id = first >> KR_TRACE_ID_SHIFT;
    if (differ >> KR_TRACE_ID_SHIFT || !id || id >= t.n_segments)
      return from;
    const struct kr_trace_segment *s = &t.segments[id];
    uint32_t n = s->n_accesses ? s->n_accesses : 1;
    if (from + n > to)
      return from;
    t.tallies[id].warps++;
    t.tallies[id].lanes += 32;
    t.warp_inst[warp] += s->total;
    t.events += UINT64_C(32) * (1 + s->n_accesses);
    for (uint32_t k = 0; k < s->n_accesses; k++)
      request_full(s->first_access + k, row + (uint64_t)k * 32);
    from += n;
  }
  return from;
}

uint32_t simt_trace_merge(int warp, uint32_t lanes, uint32_t full, uint64_t at[32])
{
  uint64_t *rows = (uint64_t *)(KR_TRACE_BASE + (uint64_t)warp * KR_TRACE_WARP_BYTES);
  uint32_t next[32], end[32], id[32], left = 0;
  for (int l = 0; l < 32; l++) {
    uint64_t start = (uint64_t)(rows + l);
    next[l] = 0;
    end[l] = (uint32_t)((at[l] - start) / KR_TRACE_ROW_BYTES);
    // The kernel can write there; it shall not lead us astray.
    if (at[l] < start || (at[l] - start) % KR_TRACE_ROW_BYTES || end[l] > KR_TRACE_ROWS)
      simt_fail(KR_FAULT_NOT_ITS_OWN, KR_REGS_BASE, 0);
    if (lanes >> l & 1 && end[l]) {
      left |= 1u << l;
      id[l] = (uint32_t)(rows[l] >> KR_TRACE_ID_SHIFT);
    }
  }
  race_warp(warp);
  uint32_t before = 0; // those that executed the last segment together
  while (left && !(full & ~left)) {
    if (left == ~0u) {
      uint32_t to = end[0];
      bool level = true;
      for (int l = 1; l < 32; l++) {
        level &= next[l] == next[0];
        to = end[l] < to ? end[l] : to;
      }
      uint32_t now = level ? trace_together(warp, rows, next[0], to) : 0;
      if (level && now != next[0]) {
        before = ~0u;
        for (int l = 0; l < 32; l++) {
          next[l] = now;
          if (now == end[l])
            left &= ~(1u << l);
          else
            id[l] = (uint32_t)(rows[(uint64_t)now * 32 + (uint64_t)l] >> KR_TRACE_ID_SHIFT);
        }
        continue;
      }
    }
    uint32_t least = ~0u, mask = 0, row = 0;
    bool together = true;
    for (uint32_t m = left; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      if (id[l] < least) {
        least = id[l];
        mask = 0;
        row = next[l];
        together = true;
      }
      if (id[l] == least) {
        mask |= 1u << l;
        together &= next[l] == row;
      }
    }
    if (!least || least >= t.n_segments)
      simt_fail(KR_FAULT_NOT_ITS_OWN, KR_TRACE_BASE, 0);
    // Some of those that were together go elsewhere.
    if (mask & before && before & left & ~mask)
      t.divergent++;
    before = mask;
    trace_execute(warp, least, mask, rows, next, together);
    uint32_t n = segment_rows(least);
    for (uint32_t m = mask; m; m &= m - 1) {
      int l = __builtin_ctz(m);
      next[l] += n;
      if (next[l] > end[l])
        simt_fail(KR_FAULT_NOT_ITS_OWN, KR_TRACE_BASE, 0);
      if (next[l] == end[l])
        left &= ~(1u << l);
      else
        id[l] = (uint32_t)(rows[(uint64_t)next[l] * 32 + (uint64_t)l] >> KR_TRACE_ID_SHIFT);
    }
  }
  uint32_t room = 0;
  for (int l = 0; l < 32; l++) {
    uint32_t kept = end[l] - next[l];
    if (next[l])
      for (uint32_t r = 0; r < kept; r++)
        rows[(uint64_t)r * 32 + (uint64_t)l] = rows[(uint64_t)(next[l] + r) * 32 + (uint64_t)l];
    at[l] = (uint64_t)(rows + l) + (uint64_t)kept * KR_TRACE_ROW_BYTES;
    if (kept <= KR_TRACE_ROWS - KR_TRACE_SEGMENT_ROWS)
      room |= 1u << l;
  }
  return full & room;
}

void simt_trace_block_begin(void)
{
  memset(t.warp_inst, 0, sizeof t.warp_inst);
  request_block_begin();
}

void simt_trace_block_end(int n_warps)
{
  for (int w = 0; w < n_warps; w++)
    if (t.warp_inst[w] > simt_job->trace.longest_warp)
      simt_job->trace.longest_warp = t.warp_inst[w];
}

uint64_t simt_trace_events(void) { return t.events; }

void simt_trace_fold(struct kr_trace_sums *sums)
{
  for (uint32_t i = 1; i < t.n_segments; i++) {
    const struct kr_trace_segment *s = &t.segments[i];
    const struct tally *y = &t.tallies[i];
    if (!y->warps)
      continue;
    for (int k = 0; k < KR_N_INST; k++)
      sums->inst[k] += y->warps * s->inst[k];
    sums->total += y->warps * s->total;
    sums->lane_inst += y->lanes * s->total;
    sums->chain_global += y->warps * s->chain_global;
    sums->chain_shared += y->warps * s->chain_shared;
    sums->local_bytes += y->lanes * s->local_bytes;
  }
  memset(t.tallies, 0, t.n_segments * sizeof *t.tallies);
  sums->divergent += t.divergent;
  t.divergent = 0;
  request_fold(sums);
}
