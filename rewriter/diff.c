// A unified diff, by Myers' O(ND) algorithm in its linear-space form over line
// numbers. Lines are interned first, so that comparing two is comparing two
// integers; what both texts share at head and tail is cut off before.

#include "rewriter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

enum { DIFF_CONTEXT = 3 };

struct diff_line {
  const char *text;
  size_t len; // with its newline, if it has one
};

struct diff_text {
  struct diff_line *lines;
  size_t n;
  size_t *ids; // equal lines of both texts have equal ids
  bool *changed;
};

static void text_split(struct diff_text *t, const char *data, size_t len)
{
  size_t cap = 0;
  *t = (struct diff_text){0};
  for (size_t i = 0; i < len;) {
    const char *nl = memchr(data + i, '\n', len - i);
    size_t n = nl ? (size_t)(nl - data) + 1 - i : len - i;
    KR_GROW(t->lines, t->n, cap);
    t->lines[t->n++] = (struct diff_line){data + i, n};
    i += n;
  }
  t->ids = kr_xcalloc(t->n + 1, sizeof *t->ids);
  t->changed = kr_xcalloc(t->n + 1, sizeof *t->changed);
}

static void text_release(struct diff_text *t)
{
  free(t->lines);
  free(t->ids);
  free(t->changed);
}

static uint64_t line_hash(struct diff_line l)
{
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < l.len; i++)
    h = (h ^ (unsigned char)l.text[i]) * 1099511628211u;
  return h;
}

static void text_intern(struct diff_text *a, struct diff_text *b)
{
  size_t size = 16;
  while (size < 2 * (a->n + b->n))
    size *= 2;
  struct {
    struct diff_line line;
    size_t id; // from 1
  } *table = kr_xcalloc(size, sizeof *table);
  size_t next = 1;
  struct diff_text *texts[2] = {a, b};
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < texts[k]->n; i++) {
      struct diff_line l = texts[k]->lines[i];
      size_t at = (size_t)line_hash(l) & (size - 1);
      while (table[at].id &&
             (table[at].line.len != l.len || memcmp(table[at].line.text, l.text, l.len)))
        at = (at + 1) & (size - 1);
      if (!table[at].id) {
        table[at].line = l;
        table[at].id = next++;
      }
      texts[k]->ids[i] = table[at].id;
    }
  }
  free(table);
}

struct diff_myers {
  struct diff_text *a, *b;
  long *forward, *backward; // furthest x on each diagonal, offset by `zero`
  long zero;
};

// Marks the lines of a[a0, a1) and b[b0, b1) that are not in a longest common
// subsequence, by the middle snake.
static void myers(struct diff_myers *m, long a0, long a1, long b0, long b1)
{
  const size_t *a = m->a->ids, *b = m->b->ids;
  while (a0 < a1 && b0 < b1 && a[a0] == b[b0])
    a0++, b0++;
  while (a0 < a1 && b0 < b1 && a[a1 - 1] == b[b1 - 1])
    a1--, b1--;
  if (a0 == a1 || b0 == b1) {
    for (long i = a0; i < a1; i++)
      m->a->changed[i] = true;
    for (long i = b0; i < b1; i++)
      m->b->changed[i] = true;
    return;
  }
  long n = a1 - a0, k_b = b1 - b0, delta = n - k_b;
  bool odd = delta & 1;
  long *f = m->forward + m->zero, *r = m->backward + m->zero;
  f[1] = 0;
  r[1] = 0;
  long x = 0, y = 0;
  for (long d = 0;; d++) {
    for (long k = -d; k <= d; k += 2) {
      x = k == -d || (k != d && f[k - 1] < f[k + 1]) ? f[k + 1] : f[k - 1] + 1;
      y = x - k;
      while (x < n && y < k_b && y >= 0 && a[a0 + x] == b[b0 + y])
        x++, y++;
      f[k] = x;
      long back = delta - k;
      if (odd && back > -d && back < d && x + r[back] >= n)
        goto split;
    }
    for (long k = -d; k <= d; k += 2) {
      long u = k == -d || (k != d && r[k - 1] < r[k + 1]) ? r[k + 1] : r[k - 1] + 1;
      long v = u - k;
      while (u < n && v < k_b && v >= 0 && a[a1 - 1 - u] == b[b1 - 1 - v])
        u++, v++;
      r[k] = u;
      long fore = delta - k;
      if (!odd && fore >= -d && fore <= d && f[fore] + u >= n) {
        x = n - u;
        y = k_b - v;
        goto split;
      }
    }
  }
split:
  // Where the two paths meet both halves are smaller; a point outside the box
  // or at a corner cannot come out of a box whose first and last lines differ
  // on both sides, but a loop without end would be worse than a longer diff.
  if (x < 0 || y < 0 || x > n || y > k_b || (x == 0 && y == 0) || (x == n && y == k_b)) {
    for (long i = a0; i < a1; i++)
      m->a->changed[i] = true;
    for (long i = b0; i < b1; i++)
      m->b->changed[i] = true;
    return;
  }
  myers(m, a0, a0 + x, b0, b0 + y);
  myers(m, a0 + x, a1, b0 + y, b1);
}

static void diff_add(struct kr_bytes *out, char sign, struct diff_line l)
{
  kr_bytes_addc(out, sign);
  kr_bytes_add(out, l.text, l.len);
  if (!l.len || l.text[l.len - 1] != '\n')
    kr_bytes_adds(out, "\n\\ No newline at end of file\n");
}

static void diff_range(struct kr_bytes *out, size_t start, size_t n)
{
  // diff counts an empty range from the line before it.
  if (n == 1)
    kr_bytes_addf(out, "%zu", start + 1);
  else
    kr_bytes_addf(out, "%zu,%zu", n ? start + 1 : start, n);
}

void kr_diff(const char *path, const void *a_data, size_t a_len, const void *b_data, size_t b_len,
             struct kr_bytes *out)
{
  if (a_len == b_len && (!a_len || !memcmp(a_data, b_data, a_len)))
    return;
  struct diff_text a, b;
  text_split(&a, a_data, a_len);
  text_split(&b, b_data, b_len);
  text_intern(&a, &b);
  size_t room = 2 * (a.n + b.n) + 8;
  struct diff_myers m = {&a, &b, kr_xcalloc(room, sizeof(long)), kr_xcalloc(room, sizeof(long)),
                         (long)(a.n + b.n) + 4};
  myers(&m, 0, (long)a.n, 0, (long)b.n);
  free(m.forward);
  free(m.backward);

  kr_bytes_addf(out, "--- a/%s\n+++ b/%s\n", path, path);
  size_t i = 0, j = 0;
  while (i < a.n || j < b.n) {
    if (!(i < a.n && a.changed[i]) && !(j < b.n && b.changed[j])) {
      i++, j++;
      continue;
    }
    // A hunk: from three lines before its first change to three after its last,
    // where changes less than seven lines apart share one.
    size_t before = i < DIFF_CONTEXT ? i : DIFF_CONTEXT;
    size_t ai = i - before, bj = j - before, end_i = i, end_j = j;
    for (;;) {
      while ((end_i < a.n && a.changed[end_i]) || (end_j < b.n && b.changed[end_j])) {
        end_i += end_i < a.n && a.changed[end_i];
        end_j += end_j < b.n && b.changed[end_j];
      }
      size_t same = 0;
      while (end_i + same < a.n && !a.changed[end_i + same] && !b.changed[end_j + same] &&
             same <= 2 * DIFF_CONTEXT)
        same++;
      bool more = same <= 2 * DIFF_CONTEXT && (end_i + same < a.n || end_j + same < b.n);
      if (!more) {
        size_t after = same < DIFF_CONTEXT ? same : DIFF_CONTEXT;
        end_i += after;
        end_j += after;
        break;
      }
      end_i += same;
      end_j += same;
    }
    kr_bytes_adds(out, "@@ -");
    diff_range(out, ai, end_i - ai);
    kr_bytes_adds(out, " +");
    diff_range(out, bj, end_j - bj);
    kr_bytes_adds(out, " @@\n");
    while (ai < end_i || bj < end_j) {
      if (ai < end_i && a.changed[ai]) {
        diff_add(out, '-', a.lines[ai++]);
      } else if (bj < end_j && b.changed[bj]) {
        diff_add(out, '+', b.lines[bj++]);
      } else {
        diff_add(out, ' ', a.lines[ai++]);
        bj++;
      }
    }
    i = end_i;
    j = end_j;
  }
  text_release(&a);
  text_release(&b);
}
