#include "sass.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// An instruction has 128 bits. The low 9 are the operation, the next 3 the form of
// its operands. Four bits from 105 on are the cycles until the next instruction
// may go. What has no fixed latency names one of six barriers (bits 110 to 112)
// that it clears when it is done, and an instruction that needs values names all
// that it waits for (bits 116 to 121). A branch holds the distance from the next
// instruction in units of 4 bytes, in bits 16 to 23 (the low 8) and 34 on. Seen
// in the output of ptxas for sm_75 to sm_90; NVIDIA does not document it.

enum {
  INSTRUCTION = 16,
  NO_BARRIER = 7,
  ALWAYS = 7, // the predicate of what is not predicated
  MAX_FOUND = 256,
  OP_FMUL = 0x020,
  OP_FADD = 0x021,
  OP_FFMA = 0x023,
  OP_DMUL = 0x028,
  OP_DADD = 0x029,
  OP_DFMA = 0x02b,
  OP_HADD2 = 0x030,
  OP_HFMA2 = 0x031,
  OP_HMUL2 = 0x032,
  OP_MUFU = 0x108,
  OP_BRA = 0x147,
  OP_EXIT = 0x14d,
  OP_RET = 0x150,
  OP_LDG = 0x181,
  OP_LDS = 0x184,
  OP_STG = 0x186,
  OP_STS = 0x188,
  OP_ATOMS = 0x18c
};

struct span {
  size_t first, last; // instructions, both in it
};

struct word {
  uint64_t low, high;
};

static struct word word_at(const unsigned char *text, size_t i)
{
  struct word w;
  memcpy(&w.low, text + INSTRUCTION * i, sizeof w.low);
  memcpy(&w.high, text + INSTRUCTION * i + 8, sizeof w.high);
  return w;
}

static unsigned operation(struct word w)
{
  return (unsigned)(w.low & 0x1ff);
}

static bool is_always(struct word w)
{
  return (w.low >> 12 & 15) == ALWAYS;
}

static int64_t branch_target(struct word w, size_t i)
{
  uint64_t up = w.low >> 34 | w.high << 30; // from bit 34 on
  uint64_t raw = (up & (((uint64_t)1 << 48) - 1)) << 8 | (w.low >> 16 & 0xff);
  int64_t units = (int64_t)(raw << 8) >> 8; // 56 bits with their sign
  return (int64_t)i + 1 + units * 4 / INSTRUCTION;
}

struct scan {
  unsigned loading, busy; // barriers that loads, and that others, will clear
};

static void step(struct scan *s, struct word w, struct sass_part *p)
{
  unsigned waits = (unsigned)(w.high >> 52 & 63), sets = (unsigned)(w.high >> 46 & 7);
  if (s->loading & waits) {
    p->batches++;
    s->loading = 0; // what was asked for with it comes with it
  } else if (s->busy & waits) {
    p->waits++;
  }
  s->busy &= ~waits;
  p->instructions++;
  p->stalls += (double)(w.high >> 41 & 15);
  unsigned barrier = sets == NO_BARRIER ? 0 : 1u << sets;
  switch (operation(w)) {
  case OP_LDG:
    p->loads++;
    s->loading |= barrier;
    return;
  case OP_STG:
    p->stores++;
    break;
  case OP_LDS:
  case OP_STS:
  case OP_ATOMS:
    p->shared++;
    break;
  case OP_MUFU:
    p->special++;
    break;
  case OP_FMUL:
  case OP_FADD:
  case OP_FFMA:
  case OP_DMUL:
  case OP_DADD:
  case OP_DFMA:
  case OP_HADD2:
  case OP_HFMA2:
  case OP_HMUL2:
    p->floats++;
    break;
  default:
    break;
  }
  s->busy |= barrier;
}

static bool holds(struct span a, struct span b)
{
  return a.first <= b.first && b.last <= a.last && (a.first != b.first || a.last != b.last);
}

// Steps through `s` but for the loops in it.
static void read_loop(const unsigned char *text, struct span s, const struct span *loops, size_t n,
                      struct sass_part *out)
{
  struct scan scan = {0, 0};
  // Twice, because what is loaded at the end is waited for at the start.
  for (int pass = 0; pass < 2; pass++) {
    memset(out, 0, sizeof *out);
    for (size_t i = s.first; i <= s.last; i++) {
      for (size_t k = 0; k < n; k++) {
        if (i == loops[k].first && holds(s, loops[k]))
          i = loops[k].last + 1;
      }
      if (i <= s.last)
        step(&scan, word_at(text, i), out);
    }
  }
}

void sass_read(const unsigned char *text, size_t len, struct sass_facts *out)
{
  struct span loops[SASS_MAX_LOOPS];
  size_t n = len / INSTRUCTION, n_loops = 0, end = n;
  memset(out, 0, sizeof *out);
  if (!n)
    return;
  for (size_t i = 0; i < n; i++) {
    struct word w = word_at(text, i);
    // Behind the kernel's code stand functions that it calls when a fast path
    // does not do, and a branch to itself.
    if (operation(w) == OP_RET && is_always(w) && end == n)
      end = i;
    int64_t to = operation(w) == OP_BRA ? branch_target(w, i) : -1;
    if (to < 0 || to >= (int64_t)i)
      continue;
    size_t same = 0;
    while (same < n_loops && loops[same].first != (size_t)to)
      same++;
    if (same < n_loops) // two ways back to one place are one loop
      loops[same].last = i;
    else if (n_loops < SASS_MAX_LOOPS)
      loops[n_loops++] = (struct span){(size_t)to, i};
  }
  // In the order of their places; what holds another stands before it.
  for (size_t a = 1; a < n_loops; a++) {
    struct span s = loops[a];
    size_t k = a;
    for (; k && loops[k - 1].first > s.first; k--)
      loops[k] = loops[k - 1];
    loops[k] = s;
  }
  out->n_loops = n_loops;
  for (size_t a = 0; a < n_loops; a++) {
    for (size_t b = 0; b < n_loops; b++)
      out->around[a] |= holds(loops[a], loops[b]);
    read_loop(text, loops[a], loops, n_loops, &out->loops[a]);
  }
  // What follows an exit behind the last loop is not the usual way.
  for (size_t i = n_loops ? loops[n_loops - 1].last : 0; i < end; i++) {
    struct word w = word_at(text, i);
    if (operation(w) == OP_EXIT && is_always(w))
      end = i + 1;
  }
  struct scan scan = {0, 0};
  for (size_t i = 0; i < end; i++) {
    for (size_t k = 0; k < n_loops; k++)
      if (i == loops[k].first)
        i = loops[k].last + 1;
    if (i < end)
      step(&scan, word_at(text, i), &out->outside);
  }
  out->outside.batches += scan.loading != 0;
}

static void add(struct sass_part *to, const struct sass_part *p, double times)
{
  to->instructions += times * p->instructions;
  to->stalls += times * p->stalls;
  to->loads += times * p->loads;
  to->batches += times * p->batches;
  to->waits += times * p->waits;
  to->stores += times * p->stores;
  to->shared += times * p->shared;
  to->special += times * p->special;
  to->floats += times * p->floats;
}

static bool is_multiple(double many, double few)
{
  return many > few && many / few == (double)(int)(many / few);
}

static bool is_left_over(const struct sass_facts *f, size_t i)
{
  const struct sass_part *l = &f->loops[i];
  return l->loads > 0 && !f->around[i] &&
         ((i + 1 < f->n_loops && is_multiple(l[1].loads, l->loads)) ||
          (i > 0 && is_multiple(l[-1].loads, l->loads)));
}

enum kind { OF_LOADS, OF_SHARED, OF_FLOATS, OF_NOTHING };

// What says how often a loop is gone through.
static enum kind kind_of(const struct sass_part *l)
{
  return l->loads > 0    ? OF_LOADS
         : l->shared > 0 ? OF_SHARED
         : l->floats > 0 ? OF_FLOATS
                         : OF_NOTHING;
}

static double width_of(const struct sass_part *l, enum kind kind)
{
  return kind == OF_LOADS ? l->loads : kind == OF_SHARED ? l->shared : l->floats;
}

// Loops of a kind share what of it was counted and is not done outside of them.
static void add_loops(const struct sass_facts *f, enum kind kind, double left, struct sass_part *out)
{
  size_t n = 0;
  for (size_t i = 0; i < f->n_loops; i++)
    n += kind_of(&f->loops[i]) == kind && !is_left_over(f, i);
  for (size_t i = 0; i < f->n_loops && left > 0.5; i++) {
    if (kind_of(&f->loops[i]) != kind || is_left_over(f, i))
      continue;
    struct sass_part turn = f->loops[i];
    double share = left / (double)n, width = width_of(&turn, kind);
    // Unrolled wider than there is to do: narrower code that waits once.
    if (share < width && turn.batches > 0)
      turn.batches = fmax(turn.batches, width / share);
    add(out, &turn, share / width);
  }
}

bool sass_execute(const struct sass_facts *f, const struct sass_counted *c, struct sass_part *out)
{
  struct sass_part unknown = {0};
  bool loops_of_loads = false;
  memset(out, 0, sizeof *out);
  add(out, &f->outside, 1);
  for (size_t i = 0; i < f->n_loops; i++) {
    const struct sass_part *l = &f->loops[i];
    loops_of_loads |= l->loads > 0;
    // A loop around others is a small part of them.
    if (kind_of(l) == OF_NOTHING && !(l->stores > 0) && !f->around[i])
      add(&unknown, l, 1);
  }
  double left = c->loads - f->outside.loads;
  if (f->outside.loads > 0 && (left < 0 || (left > 0.5 && !loops_of_loads))) {
    // Guards, or narrower code for what loops leave over, was not gone through.
    out->batches *= c->loads / f->outside.loads;
    out->loads = left < 0 ? c->loads : out->loads;
  }
  add_loops(f, OF_LOADS, left, out);
  add_loops(f, OF_SHARED, c->shared - out->shared, out);
  add_loops(f, OF_FLOATS, c->floats - out->floats, out);
  bool loads_fit = out->loads >= 0.8 * c->loads && out->loads <= 1.25 * c->loads;
  bool stores_fit = out->stores >= 0.7 * c->stores - 1;
  // What stands under a condition is a small part of the whole, or is not told apart.
  bool shared_fit = out->shared >= 0.7 * c->shared - 2 &&
                    (out->shared <= 1.5 * c->shared + 2 ||
                     out->shared - c->shared <= 0.2 * out->instructions);
  if (!(unknown.instructions > 0) && loads_fit && stores_fit && shared_fit)
    return true;
  out->instructions = unknown.instructions;
  out->stalls = unknown.stalls;
  out->waits = unknown.waits;
  return false;
}
