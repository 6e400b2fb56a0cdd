#include "babble.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

enum {
  BABBLE_LEAST = 4 << 10, // of text that repeats
  BABBLE_TIMES = 8,
  BABBLE_LINES = 32 << 10, // where lines are counted
  BABBLE_LINE = 24,
  BABBLE_SAME = 50,
  BABBLE_SLOTS = 4096, // over twice the lines that fit: 32 KiB / 25
  BABBLE_EVERY = 4 << 10
};

// A suffix of length n has the period p when it equals itself moved by p. Read from
// the end suffixes are prefixes, and their shortest periods n - border(n) are what
// the prefix function of Knuth, Morris and Pratt gives, all in one pass.
static bool babble_is_periodic(const char *text, size_t len)
{
  size_t n = len < BABBLE_WINDOW ? len : BABBLE_WINDOW;
  bool found = false;
  const char *last = text + len - 1;
  if (n < BABBLE_LEAST)
    return false;
  uint32_t *border = kr_xcalloc(n, sizeof *border);
  for (size_t i = 1; i < n && !found; i++) {
    size_t k = border[i - 1];
    while (k && last[-(ptrdiff_t)i] != last[-(ptrdiff_t)k])
      k = border[k - 1];
    k += last[-(ptrdiff_t)i] == last[-(ptrdiff_t)k];
    border[i] = (uint32_t)k;
    found = i + 1 >= BABBLE_LEAST && (i + 1 - k) * BABBLE_TIMES <= i + 1;
  }
  free(border);
  return found;
}

struct babble_line {
  const char *at;
  size_t len;
  unsigned count;
};

static bool babble_has_refrain(const char *text, size_t len)
{
  size_t n = len < BABBLE_LINES ? len : BABBLE_LINES;
  const char *p = text + len - n, *end = text + len;
  struct babble_line *slots = kr_xcalloc(BABBLE_SLOTS, sizeof *slots);
  bool found = false;
  while (p < end && !found) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    size_t line = (size_t)((stop ? stop : end) - p);
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < line; i++)
      h = (h ^ (unsigned char)p[i]) * 16777619u;
    size_t i = h % BABBLE_SLOTS;
    if (line >= BABBLE_LINE) {
      while (slots[i].at && (slots[i].len != line || memcmp(slots[i].at, p, line)))
        i = (i + 1) % BABBLE_SLOTS;
      slots[i].at = p;
      slots[i].len = line;
      found = ++slots[i].count > BABBLE_SAME;
    }
    p += line + 1;
  }
  free(slots);
  return found;
}

bool babble_at_end(const char *text, size_t len)
{
  return babble_is_periodic(text, len) || babble_has_refrain(text, len);
}

bool babble_is_due(size_t *looked, size_t len)
{
  if (len < *looked + BABBLE_EVERY)
    return false;
  *looked = len;
  return true;
}
