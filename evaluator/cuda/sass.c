#include "sass.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// An instruction has 128 bits. The low 12 are the operation. A load names one of
// six barriers (bits 110 to 112) that it clears when the value is there, and an
// instruction that needs values names all barriers it waits for (bits 116 to
// 121). A branch holds the distance from the next instruction in units of 4
// bytes, in bits 16 to 23 (the low 8) and 34 on. Seen in the output of ptxas for
// sm_75 to sm_90; NVIDIA does not document it.

enum { INSTRUCTION = 16, OP_LDG = 0x981, OP_BRA = 0x947, NO_BARRIER = 7, MAX_FOUND = 256 };

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
  return (unsigned)(w.low & 0xfff);
}

static int64_t branch_target(struct word w, size_t i)
{
  uint64_t up = w.low >> 34 | w.high << 30; // from bit 34 on
  uint64_t raw = (up & (((uint64_t)1 << 48) - 1)) << 8 | (w.low >> 16 & 0xff);
  int64_t units = (int64_t)(raw << 8) >> 8; // 56 bits with their sign
  return (int64_t)i + 1 + units * 4 / INSTRUCTION;
}

// Loads and the waits for them from `first` to `last`. A loop is gone through twice,
// because what is loaded at its end is waited for at its start.
static void count(const unsigned char *text, struct span s, bool again, struct sass_loop *out)
{
  unsigned pending = 0;
  for (int pass = 0; pass < 1 + again; pass++) {
    out->loads = out->batches = 0;
    for (size_t i = s.first; i <= s.last; i++) {
      struct word w = word_at(text, i);
      unsigned waits = (unsigned)(w.high >> 52 & 63), sets = (unsigned)(w.high >> 46 & 7);
      if (pending & waits) {
        out->batches++;
        pending = 0;
      }
      if (operation(w) != OP_LDG)
        continue;
      out->loads++;
      if (sets != NO_BARRIER)
        pending |= 1u << sets;
    }
  }
  out->instructions = s.last - s.first + 1;
  if (!again && pending)
    out->batches++;
}

void sass_read(const unsigned char *text, size_t len, struct sass_facts *out)
{
  struct span loops[MAX_FOUND];
  size_t n = len / INSTRUCTION, n_loops = 0;
  memset(out, 0, sizeof *out);
  if (!n)
    return;
  for (size_t i = 0; i < n && n_loops < MAX_FOUND; i++) {
    struct word w = word_at(text, i);
    if (operation(w) != OP_BRA)
      continue;
    int64_t to = branch_target(w, i);
    // A branch to itself is what lies behind the code.
    if (to >= 0 && to < (int64_t)i)
      loops[n_loops++] = (struct span){(size_t)to, i};
  }
  count(text, (struct span){0, n - 1}, false, &out->whole);
  for (size_t a = 0; a < n_loops; a++) {
    bool innermost = true;
    for (size_t b = 0; b < n_loops; b++)
      innermost &= b == a || loops[b].first < loops[a].first || loops[b].last > loops[a].last ||
                   (loops[b].first == loops[a].first && loops[b].last == loops[a].last);
    if (innermost && out->n_loops < SASS_MAX_LOOPS)
      count(text, loops[a], true, &out->loops[out->n_loops++]);
  }
}

double sass_waits(const struct sass_facts *f, double loads)
{
  if (!f->whole.loads || !f->whole.batches || !(loads > 0))
    return -1;
  double straight = loads * (double)f->whole.batches / (double)f->whole.loads;
  if (loads <= (double)f->whole.loads)
    return straight;
  // A loop of one load beside one of several is what an unrolled one leaves over.
  const struct sass_loop *main[SASS_MAX_LOOPS];
  size_t n = 0;
  for (size_t i = 0; i < f->n_loops; i++) {
    const struct sass_loop *l = &f->loops[i];
    bool left_over = l->loads == 1 && ((i + 1 < f->n_loops && l[1].loads > 1) ||
                                       (i > 0 && l[-1].loads > 1));
    if (l->loads && !left_over)
      main[n++] = l;
  }
  if (!n)
    return straight;
  double share = loads / (double)n, waits = 0;
  for (size_t i = 0; i < n; i++) {
    double width = (double)main[i]->loads, batches = main[i]->batches ? (double)main[i]->batches : 1;
    waits += share < width ? (share * batches > width ? share * batches / width : 1)
                           : share * batches / width;
  }
  return waits;
}
