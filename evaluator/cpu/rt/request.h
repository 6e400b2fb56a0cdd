#ifndef KR_CPU_RT_REQUEST_H
#define KR_CPU_RT_REQUEST_H

#include "race.h"
#include "rt.h"

// The fast way of request.c: what an access remembers of its last request, and
// whether the next one is like it. Seen by trace.c too, where it is compiled
// into the loop over rows.

enum space { SPACE_NONE, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONSTANT, SPACE_FOREIGN };

#define ADDRESS_MASK ((UINT64_C(1) << KR_TRACE_ID_SHIFT) - 1)

// What lanes at certain distances come to, for a place of the first one.
struct shape {
  uint64_t hits; // requests like it that are not in the sums yet
  uint8_t low, n_sectors;
  bool far; // sectors do not fit
  uint32_t wavefronts, ideal, partial, rows, passes;
  int32_t sector[32]; // from the first lane's
};

// The lanes of an access's last request.
struct memo {
  uint64_t delta[32]; // of a lane's address from the first lane's; 0 for lanes out of it
  uint32_t mask, used; // used: shapes that were made
  uint8_t space, lanes;
  struct shape shape[32];
};

extern struct memo *request_memos; // one an access

// What of the first lane's address matters. Shifted by whole words, lanes stay in
// each other's way in shared memory as they were.
static inline uint32_t memo_low(const struct memo *m, uint64_t base)
{
  return m->space == SPACE_GLOBAL ? base & 127 : base & 3;
}

static inline uint32_t memo_slot(const struct memo *m, uint64_t base)
{
  return m->space == SPACE_GLOBAL ? base >> 2 & 31 : 0;
}

// The L1 and what was touched, for one request to global memory.
void request_global(uint32_t access, const struct shape *s, uint32_t mask, uint64_t base,
                    const uint64_t *words);

// A request of all 32 lanes.
static inline __attribute__((always_inline)) void request_full(uint32_t access,
                                                               const uint64_t *words)
{
  struct memo *m = &request_memos[access];
  uint64_t first = words[0], base = first & ADDRESS_MASK, differ = 0;
  for (int l = 0; l < 32; l++)
    differ |= (words[l] - first) ^ m->delta[l];
  uint32_t slot = memo_slot(m, base);
  struct shape *s = &m->shape[slot];
  bool global = base >= KR_BUFFERS_BASE, shared = base >> 40 == KR_SHARED_BASE >> 40;
  if (differ || m->mask != ~0u || !(m->used >> slot & 1) || s->low != memo_low(m, base) ||
      s->far || !((global && m->space == SPACE_GLOBAL) || (shared && m->space == SPACE_SHARED))) {
    request_add(access, ~0u, words);
    return;
  }
  s->hits++;
  if (global)
    request_global(access, s, ~0u, base, words);
  else if (race_on)
    race_request(access, slot, -1, base);
}

#endif
