#include "race.h"
#include "rt.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

// SIMT on one processor.
//
// Every CUDA thread of a block is a fiber with a stack of its own, and one
// block runs at a time. A thread runs until it has to wait: at a barrier, at a
// warp function, or when it spins on an atomic. Who runs next is read from bit
// masks, one word a warp, and the switch goes straight from fiber to fiber.
// The last thread to arrive computes what all of them get.
//
// Threads that cannot go on, with none left that can, are a deadlock, and it is
// told who waits where. Threads that meet at different barriers have diverged.
//
// A kernel that never waits needs no fibers: its threads are a loop.
//
// `reversed` runs the grid from the last block to the first and each block from
// the last thread to the first. A kernel without races cannot tell.

// One line of the cache.
struct lane {
  void *sp;
  uint64_t trace_at; // where its rows end
  uint32_t tid[3];
  // What it waits for.
  enum kr_wait wait;
  uint64_t value;
  const void *site;
  uint32_t mask;
  int32_t mode, arg, width;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lane) == 64, "one line of the cache");

struct warp {
  uint32_t alive, ready, at_barrier, at_warp, at_active, at_full;
  int last; // the lane that ran last
} __attribute__((aligned(32)));

static struct {
  struct lane lanes[KR_MAX_THREADS];
  struct warp warps[KR_MAX_THREADS / 32];
  uint32_t ready_warps;
  int n_threads, n_warps;
  int current; // thread
  int alive, arrived;
  const void *barrier_site;
  bool sites_differ;
  int count, all, any; // of the predicates at the barrier
  int result_count, result_all, result_any;
  bool reversed;
  void *home; // stack of simt_run()
  uint64_t undefined; // what a shuffle from a lane that is not there gives
} s;

// --- who is next ---

// The set bit that follows `after` in the order of this run, going round.
static inline int next_bit(uint32_t mask, int after)
{
  if (s.reversed) {
    uint32_t below = mask & ((1u << after) - 1);
    return 31 - __builtin_clz(below ? below : mask);
  }
  uint32_t above = after == 31 ? 0 : mask & (~0u << (after + 1));
  return __builtin_ctz(above ? above : mask);
}

static void resolve_active(void);
static _Noreturn void report_deadlock(void);

// A thread that can run. `leave`: rather one of another warp.
static int pick(bool leave)
{
  int w = s.current / 32;
  if (leave || !s.warps[w].ready) {
    if (!s.ready_warps)
      resolve_active();
    if (!s.ready_warps)
      report_deadlock();
    w = next_bit(s.ready_warps, w);
  }
  return w * 32 + next_bit(s.warps[w].ready, s.warps[w].last);
}

static inline void set_ready(int w, uint32_t lanes)
{
  s.warps[w].ready |= lanes;
  if (s.warps[w].ready)
    s.ready_warps |= 1u << w;
}

// None of these threads of a warp can go on: what they did becomes what the warp did.
static void merge_traces(int w, uint32_t which)
{
  struct lane *lanes = &s.lanes[w * 32];
  uint64_t at[32];
  int n = s.n_threads - w * 32 < 32 ? s.n_threads - w * 32 : 32;
  for (int l = 0; l < 32; l++)
    at[l] = l < n ? lanes[l].trace_at : simt_trace_start(w * 32 + l);
  uint32_t room = simt_trace_merge(w, which, s.warps[w].at_full & which, at);
  for (int l = 0; l < n; l++)
    lanes[l].trace_at = at[l];
  s.warps[w].at_full &= ~room;
  if (room)
    set_ready(w, room);
}

// The running thread waits.
static inline void set_waiting(int t)
{
  struct warp *w = &s.warps[t / 32];
  w->ready &= ~(1u << (t % 32));
  if (simt_traced)
    s.lanes[t].trace_at = SIMT_REGS->trace_at;
  if (!w->ready) {
    s.ready_warps &= ~(1u << (t / 32));
    if (simt_traced)
      merge_traces(t / 32, ~0u);
  }
}

static inline void become(int t)
{
  s.current = t;
  if (simt_traced) {
    SIMT_REGS->trace_at = s.lanes[t].trace_at;
    SIMT_REGS->trace_end = simt_trace_last(t);
  }
  s.warps[t / 32].last = t % 32;
  memcpy(SIMT_REGS->sreg, s.lanes[t].tid, sizeof s.lanes[t].tid);
}

static void go(int t)
{
  if (t == s.current) {
    if (simt_traced)
      become(t); // its rows may have been merged
    return;
  }
  struct lane *from = &s.lanes[s.current];
  become(t);
  __builtin_prefetch(s.lanes[(t + 1) % KR_MAX_THREADS].sp);
  simt_switch(&from->sp, s.lanes[t].sp);
}

static _Noreturn void report_deadlock(void)
{
  struct kr_job *job = simt_job;
  job->waiting_block = job->waiting_warp = 0;
  int example = -1;
  for (int t = 0; t < s.n_threads; t++) {
    struct warp *w = &s.warps[t / 32];
    uint32_t bit = 1u << (t % 32);
    job->waiting_block += (w->at_barrier & bit) != 0;
    if (w->at_warp & bit) {
      job->waiting_warp++;
      if (example < 0)
        example = t;
    }
  }
  job->exited = (uint32_t)(s.n_threads - s.alive);
  job->threads = (uint32_t)s.n_threads;
  if (example < 0)
    example = s.current;
  become(example);
  job->mask = s.lanes[example].mask;
  simt_fail(KR_FAULT_DEADLOCK, 0, s.lanes[example].wait);
}

// --- the barrier of a block ---

static void barrier_release(void)
{
  if (s.sites_differ)
    simt_fail(KR_FAULT_DIVERGED, 0, KR_WAIT_BARRIER);
  if (race_on)
    race_barrier();
  s.result_count = s.count;
  s.result_all = s.all;
  s.result_any = s.any;
  s.arrived = s.count = s.any = 0;
  s.all = 1;
  s.barrier_site = NULL;
  for (int w = 0; w < s.n_warps; w++) {
    uint32_t lanes = s.warps[w].at_barrier;
    s.warps[w].at_barrier = 0;
    if (lanes)
      set_ready(w, lanes);
  }
}

static int __kr_sync(int op, int pred)
{
  int t = s.current;
  const void *site = __builtin_return_address(0);
  if (!s.arrived)
    s.barrier_site = site;
  else if (site != s.barrier_site)
    s.sites_differ = true;
  s.arrived++;
  if (op) {
    s.count += pred != 0;
    s.all &= pred != 0;
    s.any |= pred != 0;
  }
  s.lanes[t].wait = KR_WAIT_BARRIER;
  struct warp *w = &s.warps[(unsigned)t / 32];
  uint32_t bit = 1u << (t % 32), rest = w->ready & ~bit;
  w->at_barrier |= bit;
  if (rest && !simt_traced && s.arrived != s.alive) {
    // The rest of this does no more, and most arrivals end here.
    w->ready = rest;
    int next = (int)((unsigned)t & ~31u) + next_bit(rest, t % 32);
    become(next);
    // Most likely the one after it; its stack is long out of the first cache.
    __builtin_prefetch(s.lanes[(next + 1) % KR_MAX_THREADS].sp);
    simt_switch(&s.lanes[t].sp, s.lanes[next].sp);
  } else {
    set_waiting(t);
    if (s.arrived == s.alive)
      barrier_release();
    go(pick(false));
  }
  return op == 0 ? 0 : op == 1 ? s.result_count : op == 2 ? s.result_all : s.result_any;
}

// --- warps ---

static uint64_t shuffle(const struct lane *w, uint32_t group, int lane)
{
  const struct lane *l = &w[lane];
  int width = l->width < 1 ? 1 : l->width > 32 ? 32 : l->width;
  int base = lane / width * width, from;
  switch (l->mode) {
  case 0:
    from = base + (int)((uint32_t)l->arg % (uint32_t)width);
    break;
  case 1:
    from = lane - base < l->arg ? lane : lane - l->arg;
    break;
  case 2:
    from = (int64_t)(lane - base) + (uint32_t)l->arg >= width ? lane : lane + l->arg;
    break;
  default:
    from = lane ^ l->arg;
    // Lanes of an earlier segment can be read, those of a later one cannot.
    if (from < 0 || from >= 32 || from >= base + width)
      from = lane;
    break;
  }
  return group >> from & 1 ? w[from].value : s.undefined;
}

static uint64_t reduce(const struct lane *w, uint32_t group, int op)
{
  uint32_t r = 0;
  bool first = true;
  for (uint32_t m = group; m; m &= m - 1) {
    uint32_t v = (uint32_t)w[__builtin_ctz(m)].value;
    switch (first ? -1 : op) {
    case -1:
      r = v;
      first = false;
      break;
    case 0:
      r += v;
      break;
    case 1:
      r = (int32_t)v < (int32_t)r ? v : r;
      break;
    case 2:
      r = (int32_t)v > (int32_t)r ? v : r;
      break;
    case 3:
      r = v < r ? v : r;
      break;
    case 4:
      r = v > r ? v : r;
      break;
    case 5:
      r &= v;
      break;
    case 6:
      r |= v;
      break;
    default:
      r ^= v;
      break;
    }
  }
  return r;
}

static uint64_t match(const struct lane *w, uint32_t group, int lane)
{
  uint32_t same = 0;
  for (uint32_t m = group; m; m &= m - 1)
    if (w[__builtin_ctz(m)].value == w[lane].value)
      same |= 1u << __builtin_ctz(m);
  if (w[lane].mode == 0)
    return same;
  return same == group ? (UINT64_C(1) << 32 | group) : 0;
}

// Gives every lane of a complete group what it waits for.
static void warp_complete(int warp, uint32_t group)
{
  struct lane *w = &s.lanes[warp * 32];
  uint64_t out[32];
  uint32_t ballot = 0;
  enum kr_wait kind = w[__builtin_ctz(group)].wait;
  if (kind == KR_WAIT_VOTE)
    for (uint32_t m = group; m; m &= m - 1)
      ballot |= (uint32_t)(w[__builtin_ctz(m)].value != 0) << __builtin_ctz(m);
  for (uint32_t m = group; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    switch (kind) {
    case KR_WAIT_SHUFFLE:
      out[lane] = shuffle(w, group, lane);
      break;
    case KR_WAIT_VOTE:
      out[lane] = w[lane].mode == 0 ? ballot : w[lane].mode == 1 ? ballot != 0 : ballot == group;
      break;
    case KR_WAIT_MATCH:
      out[lane] = match(w, group, lane);
      break;
    case KR_WAIT_REDUCE:
      out[lane] = reduce(w, group, w[lane].mode);
      break;
    default:
      out[lane] = 0;
      break;
    }
  }
  if (race_on) {
    merge_traces(warp, group); // what comes now is in order behind it
    race_warp_sync(warp);
  }
  for (uint32_t m = group; m; m &= m - 1)
    w[__builtin_ctz(m)].value = out[__builtin_ctz(m)]; // cppcheck-suppress uninitvar
  s.warps[warp].at_warp &= ~group;
  set_ready(warp, group);
}

// Whether the lanes that `lane` waits for are all there, at the same function.
static bool warp_try(int warp, int lane)
{
  const struct lane *w = &s.lanes[warp * 32], *me = &w[lane];
  uint32_t group = me->mask & s.warps[warp].alive;
  if ((s.warps[warp].at_warp & group) != group)
    return false;
  for (uint32_t m = group; m; m &= m - 1) {
    const struct lane *o = &w[__builtin_ctz(m)];
    if (o->mask != me->mask || o->wait != me->wait)
      return false;
    if (o->site != me->site && me->wait != KR_WAIT_SYNCWARP) {
      become(warp * 32 + lane);
      simt_fail(KR_FAULT_DIVERGED, 0, me->wait);
    }
  }
  warp_complete(warp, group);
  return true;
}

static uint64_t warp_wait(enum kr_wait kind, uint32_t mask, int mode, uint64_t value, int arg,
                          int width, const void *site)
{
  int t = s.current;
  struct lane *me = &s.lanes[t];
  if (!(mask >> (t % 32) & 1)) {
    simt_job->mask = mask;
    simt_fail(KR_FAULT_NOT_IN_MASK, 0, kind);
  }
  me->wait = kind;
  me->mask = mask;
  me->mode = mode;
  me->value = value;
  me->arg = arg;
  me->width = width;
  me->site = site;
  s.warps[t / 32].at_warp |= 1u << (t % 32);
  set_waiting(t);
  warp_try(t / 32, t % 32);
  go(pick(false));
  return me->value;
}

static void __kr_syncwarp(unsigned mask)
{
  warp_wait(KR_WAIT_SYNCWARP, mask, 0, 0, 0, 0, __builtin_return_address(0));
}

static unsigned long long __kr_shfl(unsigned mask, int mode, unsigned long long value, int arg,
                                    int width)
{
  return warp_wait(KR_WAIT_SHUFFLE, mask, mode, value, arg, width, __builtin_return_address(0));
}

static unsigned __kr_vote(unsigned mask, int op, int pred)
{
  return (unsigned)warp_wait(KR_WAIT_VOTE, mask, op, pred != 0, 0, 0,
                             __builtin_return_address(0));
}

static unsigned long long __kr_match(unsigned mask, int op, unsigned long long value)
{
  return warp_wait(KR_WAIT_MATCH, mask, op, value, 0, 0, __builtin_return_address(0));
}

static unsigned __kr_reduce(unsigned mask, int op, unsigned value)
{
  return (unsigned)warp_wait(KR_WAIT_REDUCE, mask, op, value, 0, 0, __builtin_return_address(0));
}

// Which lanes run together is known when no other lane of the block can get
// here first: then those of a warp that wait at the same place are together.
static unsigned __kr_activemask(void)
{
  int t = s.current;
  s.lanes[t].wait = KR_WAIT_ACTIVEMASK;
  s.lanes[t].site = __builtin_return_address(0);
  s.warps[t / 32].at_active |= 1u << (t % 32);
  set_waiting(t);
  go(pick(false));
  return (unsigned)s.lanes[t].value;
}

static void resolve_active(void)
{
  for (int w = 0; w < s.n_warps; w++) {
    uint32_t waiting = s.warps[w].at_active, group = 0;
    if (!waiting)
      continue;
    const void *site = s.lanes[w * 32 + __builtin_ctz(waiting)].site;
    for (uint32_t m = waiting; m; m &= m - 1)
      if (s.lanes[w * 32 + __builtin_ctz(m)].site == site)
        group |= 1u << __builtin_ctz(m);
    for (uint32_t m = group; m; m &= m - 1)
      s.lanes[w * 32 + __builtin_ctz(m)].value = group;
    s.warps[w].at_active &= ~group;
    set_ready(w, group);
  }
}

static void __kr_spin(void)
{
  if (simt_traced)
    s.lanes[s.current].trace_at = SIMT_REGS->trace_at;
  if (simt_image->flags & KR_IMAGE_FIBERS)
    go(pick(true));
}

// No room in the running thread's trace for what comes next.
static void __kr_trace_full(void)
{
  int t = s.current;
  s.warps[t / 32].at_full |= 1u << (t % 32);
  set_waiting(t);
  go(pick(true));
}

static _Noreturn void __kr_trap(int why)
{
  simt_fail(why == 1 ? KR_FAULT_ASSERT : KR_FAULT_TRAP, 0, 0);
}

// --- threads ---

// Tops at the same place of each page would all fall into the same few lines of the
// first cache.
static void *stack_top(int t)
{
  uint64_t stagger = (uint64_t)t * 192 % KR_PAGE;
  return (void *)(KR_STACKS_BASE + (uint64_t)(t + 1) * (KR_STACK_BYTES + KR_STACK_GUARD) - stagger);
}

int simt_stacks(void)
{
  const uint32_t *b = simt_job->block;
  int n = simt_image->flags & KR_IMAGE_FIBERS ? (int)(b[0] * b[1] * b[2]) : 1;
  uint64_t stride = KR_STACK_BYTES + KR_STACK_GUARD;
  void *base = mmap((void *)KR_STACKS_BASE, (uint64_t)n * stride, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (base != (void *)KR_STACKS_BASE)
    return -1;
  for (int t = 0; t < n; t++)
    if (mprotect((char *)base + (uint64_t)t * stride + KR_STACK_GUARD, KR_STACK_BYTES,
                 PROT_READ | PROT_WRITE))
      return -1;
  return 0;
}

static void fiber_main(void)
{
  ((simt_entry *)simt_image->entry)(simt_arguments);
  int t = s.current, w = t / 32;
  uint32_t bit = 1u << (t % 32);
  s.warps[w].alive &= ~bit;
  set_waiting(t);
  if (--s.alive == 0)
    simt_switch(&s.lanes[t].sp, s.home);
  // Those that only waited for this one go on without it.
  if (s.arrived && s.arrived == s.alive)
    barrier_release();
  for (uint32_t m = s.warps[w].at_warp; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    if (s.lanes[w * 32 + lane].mask & bit && warp_try(w, lane))
      break;
  }
  go(pick(false));
  __builtin_unreachable();
}

static void start_fiber(int t)
{
  uint64_t *top = stack_top(t);
  top[-1] = 0; // nobody to return to
  top[-2] = (uint64_t)fiber_main;
  memset(top - 8, 0, 6 * sizeof *top);
  s.lanes[t].sp = top - 8;
}

static void run_block(void)
{
  s.alive = s.n_threads;
  s.arrived = s.count = s.any = 0;
  s.all = 1;
  s.sites_differ = false;
  s.ready_warps = 0;
  for (int w = 0; w < s.n_warps; w++) {
    int lanes = s.n_threads - w * 32;
    uint32_t all = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    s.warps[w] = (struct warp){.alive = all, .last = s.reversed ? 0 : 31};
    set_ready(w, all);
  }
  for (int t = 0; t < s.n_threads; t++) {
    start_fiber(t);
    s.lanes[t].trace_at = simt_trace_start(t);
  }
  s.current = s.reversed ? 0 : s.n_threads - 1;
  int first = s.reversed ? s.n_threads - 1 : 0;
  become(first);
  simt_switch(&s.home, s.lanes[first].sp);
}

// All threads one after the other, on one stack.
static void loop_main(void)
{
  for (int i = 0; i < s.n_threads; i++) {
    become(s.reversed ? s.n_threads - 1 - i : i);
    ((simt_entry *)simt_image->entry)(simt_arguments);
  }
  simt_switch(&s.lanes[0].sp, s.home);
}

static void run_loop(void)
{
  uint64_t *top = stack_top(0);
  top[-1] = 0;
  top[-2] = (uint64_t)loop_main;
  memset(top - 8, 0, 6 * sizeof *top);
  simt_switch(&s.home, top - 8);
}

// Shared memory holds nothing a kernel may count on: noise, other in each block
// and in each run.
static void fill_noise(uint64_t address, uint64_t bytes, uint64_t *state)
{
  unsigned char *p = (unsigned char *)address;
  for (; bytes; ) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    uint64_t word = *state | UINT64_C(0x4000000040000000); // no small number, as int or float
    size_t n = bytes < 8 ? bytes : 8;
    memcpy(p, &word, n);
    p += n;
    bytes -= n;
  }
}

// The few bytes that alignment leaves between a variable and its guard page.
static uint64_t shared_gap(const struct kr_shared_var *v)
{
  uint64_t end = v->address + v->bytes;
  return (KR_PAGE - end % KR_PAGE) % KR_PAGE;
}

static void shared_noise(uint64_t block)
{
  uint64_t state = (simt_job->noise + block + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  for (uint32_t i = 0; i < simt_image->n_shared; i++) {
    const struct kr_shared_var *v = &simt_image->shared[i];
    fill_noise(v->address, v->bytes, &state);
    // Noise to a reader, and known to the check.
    memset((void *)(v->address + v->bytes), (int)(0x80 | (simt_job->noise & 0x7f)),
           shared_gap(v));
  }
  if (simt_job->shared_bytes && simt_image->uses_dynamic_shared)
    fill_noise(SIMT_REGS->dynamic_shared, simt_job->shared_bytes, &state);
}

static void shared_check(void)
{
  for (uint32_t i = 0; i < simt_image->n_shared; i++) {
    const struct kr_shared_var *v = &simt_image->shared[i];
    const unsigned char *p = (const unsigned char *)(v->address + v->bytes);
    for (uint64_t k = 0, n = shared_gap(v); k < n; k++)
      if (p[k] != (0x80 | (simt_job->noise & 0x7f)))
        simt_fail(KR_FAULT_SHARED_END, 0, i);
  }
}

void simt_run_block(uint64_t n)
{
  const uint32_t *grid = simt_job->grid;
  uint32_t *sreg = SIMT_REGS->sreg;
  sreg[3] = (uint32_t)(n % grid[0]);
  sreg[4] = (uint32_t)(n / grid[0] % grid[1]);
  sreg[5] = (uint32_t)(n / grid[0] / grid[1]);
  shared_noise(n);
  if (simt_image->flags & KR_IMAGE_FIBERS)
    run_block();
  else
    run_loop();
  shared_check();
}

void simt_run(void)
{
  const uint32_t *grid = simt_job->grid, *block = simt_job->block;
  uint32_t *sreg = SIMT_REGS->sreg;
  s.reversed = simt_job->reversed != 0;
  s.n_threads = (int)(block[0] * block[1] * block[2]);
  s.n_warps = (s.n_threads + 31) / 32;
  s.undefined = (simt_job->noise * UINT64_C(0x9e3779b97f4a7c15)) | UINT64_C(0x4000000040000000);
  int t = 0;
  for (uint32_t z = 0; z < block[2]; z++)
    for (uint32_t y = 0; y < block[1]; y++)
      for (uint32_t x = 0; x < block[0]; x++, t++)
        s.lanes[t] = (struct lane){.tid = {x, y, z}};
  for (int i = 0; i < 3; i++) {
    sreg[6 + i] = block[i];
    sreg[9 + i] = grid[i];
  }
  if (simt_traced) {
    sample_run();
    return;
  }
  uint64_t n_blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  for (uint64_t i = 0; i < n_blocks; i++) {
    simt_run_block(s.reversed ? n_blocks - 1 - i : i);
    simt_job->blocks_done = i + 1;
  }
}

// --- imports ---

// Under the names of imports.def; everything else there is the C library's.
uint64_t simt_import(enum kr_import which)
{
  // Whole names: macros that a header makes of them must not get in.
  switch (which) {
#define KR_IMPORT(name)                                                                            \
  case KR_IMPORT_##name:                                                                           \
    return (uint64_t)(name);
#include "../imports.def"
#undef KR_IMPORT
  default:
    return 0;
  }
}
