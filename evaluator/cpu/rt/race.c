#include "race.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Time runs in steps: one at each barrier, at each meeting of a warp's lanes, and at
// each block. A word of memory remembers when it was last written and read, and by
// whom; 8 bytes for 4. A later access is in order behind an earlier one when a
// barrier lies between them, or, of the same warp, a meeting of its lanes. What
// another block did is never in order, unless both are atomic.
//
// Of the readers since the last barrier one is remembered. That others are of other
// warps, and that others are of the same warp since its lanes last met, are marks
// of their own: a reduction that calls __syncwarp() is told from one that does not.
//
// Accesses of less than 4 bytes write no mark: neighbours in a word would look like
// one.

bool race_on;

enum {
  TIME_SHIFT = 12,
  THREAD_SHIFT = 2,
  TIME_MAX = (1 << (32 - TIME_SHIFT)) - 1,
  WRITER_ATOMIC = 1,
  READER_LANES = 1, // several of the reader's warp, since they last met
  READER_WARPS = 2, // of several warps
  RACE_WORDS = 128, // of one request
  SHARED_STATIC = 16 << 20 // room for variables; the dynamic array comes after it
};

struct race_mark {
  uint32_t writer, reader; // time, thread, marks; 0: none
};

// A word that lanes of a request touch.
struct race_word {
  int32_t at; // words from the first lane's address
  uint8_t lane, several;
};

struct race_list {
  uint32_t n;
  struct race_word words[RACE_WORDS];
};

// Times of one kind of memory: its marks hold the time since `base`.
struct race_clock {
  uint64_t base;
  bool stopped; // the clock has run out
};

static struct {
  const struct kr_trace_access *accesses;
  struct race_list *lists; // 32 an access
  struct race_mark *shared, *global[KR_MAX_BUFFERS + 1];
  uint64_t global_address[KR_MAX_BUFFERS + 1];
  uint64_t now, block, barrier, met[KR_MAX_THREADS / 32];
  struct race_clock shared_clock, global_clock;
  int warp;
  // Who was at the watched word last.
  uint32_t watch_writer, watch_reader; // accesses, from 1
} r;

static void *race_map(uint64_t bytes)
{
  void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

int race_setup(const struct kr_trace_access *accesses, uint32_t n_accesses)
{
  r.accesses = accesses;
  r.lists = race_map((uint64_t)n_accesses * 32 * sizeof *r.lists);
  r.shared = race_map(2 * ((uint64_t)SHARED_STATIC + KR_SHARED_MAX + 2 * KR_PAGE));
  race_on = true;
  return r.lists && r.shared ? 0 : -1;
}

int race_place(uint32_t place, uint64_t address, uint64_t bytes)
{
  r.global_address[place] = address;
  r.global[place] = race_map(2 * bytes + 64);
  return r.global[place] ? 0 : -1;
}

// --- time ---

static struct race_mark *shared_mark(uint64_t address)
{
  uint64_t at = address - KR_SHARED_BASE;
  if (at >> 32)
    at = at - (UINT64_C(1) << 32) + SHARED_STATIC;
  return at < SHARED_STATIC + KR_SHARED_MAX + KR_PAGE ? &r.shared[at / 4] : NULL;
}

static void shared_clear(void)
{
  for (uint32_t i = 0; i < simt_image->n_shared; i++)
    memset(shared_mark(simt_image->shared[i].address & ~UINT64_C(3)), 0,
           (simt_image->shared[i].bytes + 7) / 4 * sizeof(struct race_mark));
  if (simt_job->shared_bytes)
    memset(shared_mark(SIMT_REGS->dynamic_shared), 0,
           ((uint64_t)simt_job->shared_bytes + 3) / 4 * sizeof(struct race_mark));
}

static void race_tick(void)
{
  r.now++;
  r.shared_clock.stopped |= r.now - r.shared_clock.base > TIME_MAX;
  r.global_clock.stopped |= r.now - r.global_clock.base > TIME_MAX;
}

void race_barrier(void)
{
  race_tick();
  r.barrier = r.now;
  for (int w = 0; w < KR_MAX_THREADS / 32; w++)
    r.met[w] = r.now;
}

void race_block_begin(void)
{
  // Shared memory is another block's from here on.
  if (r.shared_clock.stopped || r.now - r.shared_clock.base > TIME_MAX / 2) {
    r.shared_clock = (struct race_clock){r.now, false};
    shared_clear();
  }
  race_barrier();
  r.block = r.now;
}

void race_warp_sync(int warp)
{
  race_tick();
  r.met[warp] = r.now;
}

void race_warp(int warp) { r.warp = warp; }

// --- the rule ---

static _Noreturn void race_found(uint32_t access, uint64_t address, uint32_t thread,
                                 uint32_t other, uint32_t other_access, bool other_writes,
                                 bool blocks)
{
  struct kr_job *job = simt_job;
  job->race = (struct kr_race){
      .line = r.accesses[access].line,
      .other_line = other_access ? r.accesses[other_access - 1].line : 0,
      .thread = thread,
      .other = other,
      .writes = r.accesses[access].kind != KR_TRACE_LOAD,
      .other_writes = other_writes,
      .blocks = blocks};
  simt_fail(KR_FAULT_RACE, address, 0);
}

struct race_times {
  uint32_t now, block, barrier, met;
  bool across; // other blocks can reach it
};

static inline uint32_t mark_time(uint32_t mark) { return mark >> TIME_SHIFT; }
static inline uint32_t mark_thread(uint32_t mark)
{
  return mark >> THREAD_SHIFT & (KR_MAX_THREADS - 1);
}

// Whether somebody who left `mark` is out of order with lanes of the running warp.
static inline bool race_with(uint32_t mark, const struct race_times *t, uint32_t thread,
                             bool several)
{
  uint32_t other = mark_thread(mark);
  if (other / 32 != thread / 32)
    return true;
  return mark_time(mark) >= t->met && (other != thread || several);
}

static inline void race_check(struct race_mark *m, const struct race_times *t, uint32_t access,
                              uint64_t address, uint32_t thread, bool several)
{
  const struct kr_trace_access *a = &r.accesses[access];
  bool atomic = a->kind == KR_TRACE_ATOMIC || (a->is_volatile && t->across);
  bool writes = a->kind != KR_TRACE_LOAD;
  uint32_t writer = m->writer, reader = m->reader;
  bool both_atomic = atomic && writer & WRITER_ATOMIC;
  if (mark_time(writer) >= t->barrier) {
    if (!both_atomic && race_with(writer, t, thread, several))
      race_found(access, address, thread, mark_thread(writer), r.watch_writer, true, false);
  } else if (writer && t->across && mark_time(writer) < t->block && !both_atomic) {
    race_found(access, address, thread, mark_thread(writer), r.watch_writer, true, true);
  }
  if (writes) {
    if (several && !atomic)
      race_found(access, address, thread, thread, access + 1, true, false);
    if (mark_time(reader) >= t->barrier) {
      if (reader & READER_WARPS ||
          race_with(reader, t, thread, several || reader & READER_LANES))
        race_found(access, address, thread, mark_thread(reader), r.watch_reader, false, false);
    } else if (reader && t->across && mark_time(reader) < t->block) {
      race_found(access, address, thread, mark_thread(reader), r.watch_reader, false, true);
    }
    m->writer = t->now << TIME_SHIFT | thread << THREAD_SHIFT | (atomic ? WRITER_ATOMIC : 0);
    return;
  }
  if (atomic)
    return; // a volatile read, of what others may be writing
  uint32_t marks = several ? READER_LANES : 0;
  if (mark_time(reader) >= t->barrier) {
    marks |= reader & READER_WARPS;
    if (mark_thread(reader) / 32 != thread / 32)
      marks |= READER_WARPS;
    else if (mark_time(reader) >= t->met)
      marks |= (reader & READER_LANES) | (mark_thread(reader) != thread ? READER_LANES : 0);
  }
  m->reader = t->now << TIME_SHIFT | thread << THREAD_SHIFT | marks;
}

// --- requests ---

void race_shape(uint32_t access, uint32_t slot, uint32_t mask, const uint64_t *address,
                uint64_t base)
{
  struct race_list *list = &r.lists[(uint64_t)access * 32 + slot];
  const struct kr_trace_access *a = &r.accesses[access];
  list->n = 0;
  if (a->bytes < 4 && a->kind != KR_TRACE_LOAD)
    return;
  for (uint32_t b = mask; b; b &= b - 1) {
    int l = __builtin_ctz(b);
    for (uint64_t w = address[l] / 4; w <= (address[l] + a->bytes - 1) / 4; w++) {
      int64_t at = (int64_t)(w - base / 4);
      uint32_t k = 0;
      while (k < list->n && list->words[k].at != at)
        k++;
      if (k < list->n)
        list->words[k].several = 1;
      else if (list->n < RACE_WORDS && at == (int32_t)at)
        list->words[list->n++] = (struct race_word){(int32_t)at, (uint8_t)l, 0};
    }
  }
}

// The sites of the word that is watched, so that the pair can be named.
static void race_watch(uint32_t access)
{
  if (r.accesses[access].kind == KR_TRACE_LOAD)
    r.watch_reader = access + 1;
  else
    r.watch_writer = access + 1;
}

void race_request(uint32_t access, uint32_t slot, int place, uint64_t base)
{
  const struct race_list *list = &r.lists[(uint64_t)access * 32 + slot];
  const struct race_clock *clock = place < 0 ? &r.shared_clock : &r.global_clock;
  if (clock->stopped)
    return;
  struct race_times t = {
      (uint32_t)(r.now - clock->base), (uint32_t)(r.block - clock->base),
      (uint32_t)(r.barrier - clock->base), (uint32_t)(r.met[r.warp] - clock->base), place >= 0};
  struct race_mark *marks = place < 0 ? shared_mark(base) : r.global[place];
  if (!marks)
    return;
  if (place >= 0)
    marks += (base - r.global_address[place]) / 4;
  uint64_t watch = simt_job->race_watch;
  for (uint32_t k = 0; k < list->n; k++) {
    const struct race_word *w = &list->words[k];
    uint64_t address = (base & ~UINT64_C(3)) + (uint64_t)((int64_t)w->at * 4);
    race_check(marks + w->at, &t, access, address, (uint32_t)(r.warp * 32 + w->lane), w->several);
    if (address == watch)
      race_watch(access);
  }
}
