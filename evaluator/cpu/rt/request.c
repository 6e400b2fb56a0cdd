#include "request.h"

#include <string.h>
#include <sys/mman.h>

// What the accesses of a warp ask of memory.
//
// Global memory: distinct 32-byte sectors and 128-byte lines of a request; which
// of the sectors the L1 has; which sectors of a buffer a block has touched at
// all. The L1 is 4-way associative with 128-byte lines that hold their sectors
// one by one, has the size the job says, keeps nothing from block to block and
// no stores. Shared memory: 32 banks of 4 bytes; lanes that want the same word
// share it; accesses of 8 and 16 bytes go half and quarter warp by quarter warp
// unless the whole warp fits into one pass.
//
// Most requests of an access are like the one before: the same lanes at the same
// distances from each other. So each access remembers its last request, and what
// came of it.

// A line of the L1 and which of its sectors are there.
struct line {
  uint64_t tag;
  uint32_t generation;
  uint8_t sectors;
};

// Distinct sectors of the running block, of the block its neighbours are compared
// with, and of all.
struct reach_map {
  uint64_t *now, *base, *all;
  uint32_t *now_list, *base_list; // words of `now` and `base` that are not 0
  uint32_t n_now, n_base;
  uint64_t count[KR_MAX_BUFFERS + 1], common[KR_MAX_BUFFERS + 1];
};

struct place {
  uint64_t begin, end, first_sector;
};

struct hot {
  uint64_t address, count;
  uint32_t block, blocks;
};

enum { L1_WAYS = 4, HOT_SIZE = 1 << 16 };

struct memo *request_memos;

static struct {
  const struct kr_trace_access *accesses;
  uint32_t n_accesses;
  struct kr_trace_sums sums; // without what memos hold
  struct line *lines;
  uint8_t *victim;
  uint32_t n_sets, generation;
  struct place places[KR_MAX_BUFFERS + 1]; // by address; the image's variables first
  uint32_t place_reach[KR_MAX_BUFFERS + 1]; // index into the job's reach
  uint32_t n_places, last_place;
  struct reach_map reach[KR_TRACE_N_REACH];
  struct hot *hot;
} q;

static void *request_map(uint64_t bytes)
{
  void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

int request_setup(const struct kr_trace_access *accesses, uint32_t n)
{
  q.accesses = accesses;
  q.n_accesses = n;
  request_memos = request_map(n * sizeof *request_memos);
  uint64_t sets = simt_job->trace_l1_bytes / 128 / L1_WAYS;
  q.n_sets = 1;
  while (2 * (uint64_t)q.n_sets <= sets)
    q.n_sets *= 2;
  q.lines = request_map((uint64_t)q.n_sets * L1_WAYS * sizeof *q.lines);
  q.victim = request_map(q.n_sets);
  q.hot = request_map(HOT_SIZE * sizeof *q.hot);
  if (!request_memos || !q.lines || !q.victim || !q.hot)
    return -1;
  if (simt_job->races && race_setup(accesses, n))
    return -1;
  uint64_t sectors = 0;
  for (uint32_t i = 0; i <= simt_job->n_buffers; i++) {
    struct place *p = &q.places[q.n_places];
    if (i == 0) {
      p->begin = KR_IMAGE_BASE;
      p->end = p->begin + simt_image->text_bytes + simt_image->ro_bytes + simt_image->rw_bytes;
    } else {
      p->begin = simt_job->buffers[i - 1].address;
      p->end = p->begin + simt_job->buffers[i - 1].bytes;
    }
    if (p->begin == p->end)
      continue;
    p->first_sector = sectors;
    sectors += (p->end - p->begin) / 32;
    if (simt_job->races && race_place(q.n_places, p->begin, p->end - p->begin))
      return -1;
    q.place_reach[q.n_places++] = i ? i - 1 : KR_MAX_BUFFERS;
  }
  uint64_t words = sectors / 64 + 1;
  for (int k = 0; k < KR_TRACE_N_REACH; k++) {
    struct reach_map *r = &q.reach[k];
    r->now = request_map(8 * words);
    r->base = request_map(8 * words);
    r->all = request_map(8 * words);
    r->now_list = request_map(4 * words);
    r->base_list = request_map(4 * words);
    if (!r->now || !r->base || !r->all || !r->now_list || !r->base_list)
      return -1;
  }
  return 0;
}

// --- where ---

static inline enum space space_of(uint64_t address)
{
  if (address >= KR_BUFFERS_BASE)
    return address < KR_TRACE_BASE ? SPACE_GLOBAL : SPACE_FOREIGN;
  if (address >= KR_STACKS_BASE)
    return SPACE_LOCAL;
  if (address >= KR_IMAGE_BASE)
    return SPACE_GLOBAL;
  if (address >= KR_SHARED_BASE && address < KR_REGS_BASE)
    return SPACE_SHARED;
  for (uint32_t i = 0; i < simt_job->n_params; i++)
    if (address >= (uint64_t)simt_arguments[i] &&
        address - (uint64_t)simt_arguments[i] < KR_MAX_PARAM_BYTES)
      return SPACE_CONSTANT;
  return SPACE_FOREIGN;
}

static inline uint32_t place_of(uint64_t address)
{
  const struct place *p = &q.places[q.last_place];
  if (address - p->begin < p->end - p->begin)
    return q.last_place;
  for (uint32_t i = 0; i < q.n_places; i++)
    if (address - q.places[i].begin < q.places[i].end - q.places[i].begin)
      return q.last_place = i;
  simt_fail(KR_FAULT_NOT_ITS_OWN, address, 0);
}

static void reach_touch(struct reach_map *r, uint64_t address, struct kr_trace_reach *into)
{
  uint32_t place = place_of(address);
  uint64_t sector = q.places[place].first_sector + (address - q.places[place].begin) / 32;
  uint64_t bit = UINT64_C(1) << (sector & 63), word = sector / 64;
  if (r->now[word] & bit)
    return;
  if (!r->now[word])
    r->now_list[r->n_now++] = (uint32_t)word;
  r->now[word] |= bit;
  uint32_t k = q.place_reach[place];
  r->count[k]++;
  r->common[k] += (r->base[word] & bit) != 0;
  if (!(r->all[word] & bit)) {
    r->all[word] |= bit;
    into[k * KR_TRACE_N_REACH].all++;
  }
}

// Whether the L1 has a sector; it has it from now on.
static bool l1_has(uint64_t sector)
{
  uint64_t line = sector / 4;
  uint8_t bit = (uint8_t)(1 << (sector & 3));
  uint64_t hash = line * UINT64_C(0x9e3779b97f4a7c15) >> 40;
  uint32_t set = (uint32_t)hash & (q.n_sets - 1);
  struct line *ways = &q.lines[(uint64_t)set * L1_WAYS];
  for (int w = 0; w < L1_WAYS; w++) {
    if (ways[w].tag != line || ways[w].generation != q.generation)
      continue;
    bool has = ways[w].sectors & bit;
    ways[w].sectors |= bit;
    return has;
  }
  struct line *out = &ways[q.victim[set]];
  for (int w = 0; w < L1_WAYS; w++)
    if (ways[w].generation != q.generation)
      out = &ways[w];
  if (out == &ways[q.victim[set]])
    q.victim[set] = (uint8_t)((q.victim[set] + 1) % L1_WAYS);
  *out = (struct line){line, q.generation, bit};
  return false;
}

static void count_hot(uint64_t address, uint32_t n)
{
  uint64_t at = (address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
  for (int tries = 0; tries < 16; tries++, at = (at + 1) % HOT_SIZE) {
    struct hot *h = &q.hot[at];
    if (h->count && h->address != address)
      continue;
    h->address = address;
    h->count += n;
    if (h->block != q.generation) {
      h->block = q.generation;
      h->blocks++;
    }
    return;
  }
}

// --- what one request comes to ---

// Distinct values among the lanes of `mask`, in `out`; `at` tells which of them each
// lane has.
static uint32_t distinct(const uint64_t *value, uint32_t mask, uint64_t *out, uint8_t *at)
{
  uint32_t n = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    uint32_t k = 0;
    while (k < n && out[k] != value[l])
      k++;
    if (k == n)
      out[n++] = value[l];
    if (at)
      at[l] = (uint8_t)k;
  }
  return n;
}

static uint32_t bits(uint32_t n) { return n >= 32 ? ~0u : (1u << n) - 1; }

// `address` holds clean addresses, `base` the first lane's.
static void global_shape(struct memo *m, struct shape *s, enum kr_trace_kind kind, uint32_t bytes,
                         const uint64_t *address, uint64_t base)
{
  uint64_t value[32], seen[32];
  uint8_t at[32];
  for (int l = 0; l < 32; l++)
    value[l] = address[l] >> 5;
  s->n_sectors = (uint8_t)distinct(value, m->mask, seen, at);
  for (uint32_t k = 0; k < s->n_sectors; k++) {
    int64_t from = (int64_t)(seen[k] - (base >> 5));
    s->sector[k] = (int32_t)from;
    if (from != s->sector[k])
      s->far = true;
  }
  uint32_t written[32] = {0};
  for (uint32_t b = m->mask; b; b &= b - 1) {
    int l = __builtin_ctz(b);
    written[at[l]] |= bits(bytes) << (address[l] & 31);
  }
  for (uint32_t k = 0; k < s->n_sectors; k++)
    s->partial += written[k] != ~0u;
  for (int l = 0; l < 32; l++)
    value[l] = address[l] >> 7;
  s->wavefronts = distinct(value, m->mask, seen, NULL);
  for (int l = 0; l < 32; l++)
    value[l] = address[l] >> 11;
  s->rows = distinct(value, m->mask, seen, NULL);
  // Atomics: the lanes at one address come one after the other, addresses of a
  // sector together.
  if (kind != KR_TRACE_ATOMIC)
    return;
  uint64_t words[32];
  uint32_t n = distinct(address, m->mask, words, at), times[32] = {0};
  for (uint32_t b = m->mask; b; b &= b - 1)
    times[at[__builtin_ctz(b)]]++;
  for (uint32_t k = 0; k < s->n_sectors; k++) {
    uint32_t most = 0;
    for (uint32_t w = 0; w < n; w++)
      if ((int64_t)((words[w] >> 5) - (base >> 5)) == s->sector[k] && times[w] > most)
        most = times[w];
    s->passes += most;
  }
}

// The passes that the lanes of `mask` take: of the bank with the most words.
static uint32_t bank_passes(const uint64_t *address, uint32_t mask, uint32_t n_words,
                            uint32_t *n_distinct)
{
  uint64_t words[128];
  uint32_t per_bank[32] = {0}, n = 0, most = 0;
  for (uint32_t b = mask; b; b &= b - 1)
    for (uint32_t k = 0; k < n_words; k++) {
      uint64_t word = address[__builtin_ctz(b)] / 4 + k;
      uint32_t i = 0;
      while (i < n && words[i] != word)
        i++;
      if (i < n)
        continue;
      words[n++] = word;
      if (++per_bank[word & 31] > most)
        most = per_bank[word & 31];
    }
  *n_distinct = n;
  return most;
}

static void shared_shape(const struct memo *m, struct shape *s, enum kr_trace_kind kind,
                         uint32_t bytes, const uint64_t *address)
{
  uint32_t n_words = bytes <= 4 ? 1 : bytes / 4u, n = 0;
  uint32_t whole = bank_passes(address, m->mask, n_words, &n);
  s->ideal = n > 32 ? (n + 31) / 32 : 1;
  s->wavefronts = whole;
  uint32_t phases = n_words > 4 ? 4 : n_words;
  if (whole > 1 && phases > 1) {
    s->wavefronts = 0;
    uint32_t lanes = 32 / phases;
    for (uint32_t p = 0; p < phases; p++) {
      uint32_t part = m->mask & (bits(lanes) << (p * lanes));
      if (part)
        s->wavefronts += bank_passes(address, part, n_words, &n);
    }
  }
  if (kind != KR_TRACE_ATOMIC)
    return;
  uint32_t per_bank[32] = {0};
  for (uint32_t b = m->mask; b; b &= b - 1) {
    uint32_t bank = (uint32_t)(address[__builtin_ctz(b)] / 4) & 31;
    if (++per_bank[bank] > s->passes)
      s->passes = per_bank[bank];
  }
}

// --- memos ---

static void shape_flush(const struct memo *m, struct shape *shape, const struct kr_trace_access *a)
{
  struct kr_trace_sums *s = &q.sums;
  uint64_t n = shape->hits;
  shape->hits = 0;
  switch (m->space) {
  case SPACE_GLOBAL: {
    struct kr_trace_traffic *f = &s->traffic[a->kind];
    s->inst[a->kind == KR_TRACE_ATOMIC ? KR_INST_ATOMIC_GLOBAL : KR_INST_GLOBAL] += n;
    f->requests += n;
    f->lanes += n * m->lanes;
    f->bytes += n * m->lanes * a->bytes;
    f->sectors += n * shape->n_sectors;
    f->wavefronts += n * shape->wavefronts;
    f->rows += n * shape->rows;
    if (a->kind == KR_TRACE_STORE)
      f->partial += n * shape->partial;
    s->atomic_passes += n * shape->passes;
    break;
  }
  case SPACE_SHARED:
    if (a->kind == KR_TRACE_ATOMIC) {
      s->inst[KR_INST_ATOMIC_SHARED] += n;
      s->shared_atomic_passes += n * shape->passes;
    } else {
      s->inst[KR_INST_SHARED] += n;
      s->shared_wavefronts += n * shape->wavefronts;
      s->shared_ideal += n * shape->ideal;
    }
    break;
  case SPACE_LOCAL:
    s->inst[KR_INST_LOCAL] += n;
    s->local_bytes += n * m->lanes * a->bytes;
    break;
  default:
    s->inst[KR_INST_CONSTANT] += n * shape->wavefronts;
    break;
  }
}

// Adds what a memo stands for to the sums.
static void memo_flush(struct memo *m, const struct kr_trace_access *a)
{
  for (uint32_t used = m->used; used; used &= used - 1)
    if (m->shape[__builtin_ctz(used)].hits)
      shape_flush(m, &m->shape[__builtin_ctz(used)], a);
}

// The memo becomes one of lanes at these distances.
static void memo_make(struct memo *m, const struct kr_trace_access *a, uint32_t mask,
                      enum space space, const uint64_t *address, uint64_t base)
{
  memo_flush(m, a);
  m->used = 0;
  m->mask = mask;
  m->space = (uint8_t)space;
  m->lanes = (uint8_t)__builtin_popcount(mask);
  for (int l = 0; l < 32; l++)
    m->delta[l] = mask >> l & 1 ? address[l] - base : 0;
}

static struct shape *memo_shape(struct memo *m, const struct kr_trace_access *a,
                                const uint64_t *address, uint64_t base)
{
  uint32_t slot = memo_slot(m, base);
  struct shape *s = &m->shape[slot];
  if (m->used >> slot & 1)
    shape_flush(m, s, a);
  m->used |= 1u << slot;
  *s = (struct shape){.low = (uint8_t)memo_low(m, base), .wavefronts = 1, .ideal = 1};
  if (m->space == SPACE_GLOBAL) {
    global_shape(m, s, (enum kr_trace_kind)a->kind, a->bytes, address, base);
  } else if (m->space == SPACE_SHARED) {
    shared_shape(m, s, (enum kr_trace_kind)a->kind, a->bytes, address);
  } else if (m->space == SPACE_CONSTANT) {
    uint64_t value[32], seen[32];
    for (int l = 0; l < 32; l++)
      value[l] = address[l] / 4;
    s->wavefronts = distinct(value, m->mask, seen, NULL);
  }
  if (race_on && (m->space == SPACE_GLOBAL || m->space == SPACE_SHARED))
    race_shape((uint32_t)(m - request_memos), slot, m->mask, address, base);
  return s;
}

void request_global(uint32_t index, const struct shape *s, uint32_t mask, uint64_t base,
                    const uint64_t *words)
{
  const struct kr_trace_access *a = &q.accesses[index];
  struct kr_trace_reach *into = &simt_job->trace.reach[0][a->kind != KR_TRACE_LOAD];
  struct reach_map *r = &q.reach[a->kind != KR_TRACE_LOAD];
  for (uint32_t k = 0; k < s->n_sectors; k++) {
    uint64_t sector = (base >> 5) + (uint64_t)(int64_t)s->sector[k];
    if (a->kind == KR_TRACE_LOAD) {
      if (l1_has(sector))
        continue;
      q.sums.traffic[KR_TRACE_LOAD].missed++;
    }
    reach_touch(r, sector << 5, into);
  }
  if (a->kind == KR_TRACE_ATOMIC)
    for (uint32_t b = mask; b; b &= b - 1)
      count_hot(words[__builtin_ctz(b)] & ADDRESS_MASK, 1);
  if (race_on && !s->far)
    race_request(index, memo_slot(&request_memos[index], base), (int)place_of(base), base);
}

static bool memo_is(const struct memo *m, uint32_t mask, enum space space, uint64_t first,
                    const uint64_t *words)
{
  if (m->mask != mask || m->space != space)
    return false;
  uint64_t differ = 0;
  for (uint32_t b = mask; b; b &= b - 1)
    differ |= (words[__builtin_ctz(b)] - first) ^ m->delta[__builtin_ctz(b)];
  return !differ;
}

// Sectors too far apart for a shape: one by one.
static void request_far(uint32_t index, uint32_t mask, const uint64_t *address)
{
  for (uint32_t b = mask; b; b &= b - 1) {
    struct shape one = {.n_sectors = 1, .far = true};
    request_global(index, &one, b & -b, address[__builtin_ctz(b)], address);
  }
}

static void request_in(uint32_t index, uint32_t mask, enum space space, const uint64_t *words)
{
  const struct kr_trace_access *a = &q.accesses[index];
  struct memo *m = &request_memos[index];
  uint64_t first = words[__builtin_ctz(mask)], base = first & ADDRESS_MASK, clean[32];
  struct shape *s = &m->shape[0];
  bool is = memo_is(m, mask, space, first, words);
  if (is) {
    uint32_t slot = memo_slot(m, base);
    s = &m->shape[slot];
    is = m->used >> slot & 1 && s->low == memo_low(m, base) && !s->far;
  }
  if (!is) {
    for (int l = 0; l < 32; l++)
      clean[l] = mask >> l & 1 ? words[l] & ADDRESS_MASK : base;
    if (!memo_is(m, mask, space, first, words))
      memo_make(m, a, mask, space, clean, base);
    s = memo_shape(m, a, clean, base);
  }
  s->hits++;
  if (space == SPACE_GLOBAL && s->far)
    request_far(index, mask, clean);
  else if (space == SPACE_GLOBAL)
    request_global(index, s, mask, base, words);
  else if (space == SPACE_SHARED && race_on)
    race_request(index, memo_slot(m, base), -1, base);
}

void request_add(uint32_t index, uint32_t mask, const uint64_t *words)
{
  // Most requests stay in one space; one that does not is one for each.
  uint64_t first = words[__builtin_ctz(mask)] & ADDRESS_MASK;
  enum space space = q.accesses[index].constant ? SPACE_CONSTANT : space_of(first);
  uint32_t same = mask;
  if (!q.accesses[index].constant)
    for (uint32_t b = mask; b; b &= b - 1) {
      uint64_t address = words[__builtin_ctz(b)] & ADDRESS_MASK;
      if ((address ^ first) >> 40 && space_of(address) != space)
        same &= ~(b & -b);
    }
  if (space == SPACE_FOREIGN)
    simt_fail(KR_FAULT_NOT_ITS_OWN, first, 0);
  request_in(index, same, space, words);
  if (same != mask)
    request_add(index, mask & ~same, words);
}

void request_fold(struct kr_trace_sums *sums)
{
  for (uint32_t i = 0; i < q.n_accesses; i++)
    memo_flush(&request_memos[i], &q.accesses[i]);
  const uint64_t *from = (const uint64_t *)&q.sums;
  uint64_t *to = (uint64_t *)sums;
  for (size_t i = 0; i < sizeof q.sums / sizeof *from; i++)
    to[i] += from[i];
  memset(&q.sums, 0, sizeof q.sums);
}

void request_block_begin(void)
{
  q.generation++;
  if (race_on)
    race_block_begin();
}

void request_block_end(bool base, int neighbour)
{
  for (int k = 0; k < KR_TRACE_N_REACH; k++) {
    struct reach_map *r = &q.reach[k];
    for (uint32_t i = 0; i < q.n_places; i++) {
      uint32_t b = q.place_reach[i];
      struct kr_trace_reach *into = &simt_job->trace.reach[b][k];
      into->sectors += r->count[b];
      into->blocks += r->count[b] != 0;
      if (neighbour >= 0) {
        into->pair[neighbour] += r->count[b];
        into->shared[neighbour] += r->common[b];
      }
      r->count[b] = r->common[b] = 0;
    }
    if (base) {
      for (uint32_t i = 0; i < r->n_base; i++)
        r->base[r->base_list[i]] = 0;
      uint64_t *map = r->base;
      uint32_t *list = r->base_list;
      r->base = r->now;
      r->base_list = r->now_list;
      r->n_base = r->n_now;
      r->now = map;
      r->now_list = list;
    } else {
      for (uint32_t i = 0; i < r->n_now; i++)
        r->now[r->now_list[i]] = 0;
    }
    r->n_now = 0;
  }
}

void request_end(void)
{
  struct kr_trace_result *out = &simt_job->trace;
  for (int i = 0; i < HOT_SIZE; i++)
    if (q.hot[i].count > out->hottest_atomic) {
      out->hottest_atomic = q.hot[i].count;
      out->hottest_blocks = q.hot[i].blocks;
    }
}
