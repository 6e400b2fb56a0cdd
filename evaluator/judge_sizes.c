#include "judge_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "fill.h"

// A kernel that does something else at a size names the size. So the numbers in a
// candidate's own text that are not in the original's are sizes to try: at such a
// number, beside it, and, behind a `%`, with the remainders that the text knows.

enum {
  OWN_NUMBERS = 48,
  OWN_SIZES = 64,
  OWN_TRIED = 10,
  OWN_LARGE = 2, // of those above this
  OWN_SMALL_BYTES = 1 << 20,
  OWN_BEYOND_BYTES = 24 << 20
};

struct own_numbers {
  int64_t items[OWN_NUMBERS];
  bool divides[OWN_NUMBERS]; // stands behind a `%`
  size_t n;
};

static bool number_of(const char *text, struct kr_token t, int64_t *out)
{
  char word[64];
  size_t n = 0, len = kr_token_text(text, t, word, sizeof word);
  if (t.kind != KR_TOK_NUMBER || len >= sizeof word)
    return false;
  for (size_t i = 0; i < len; i++) {
    if (word[i] != '\'')
      word[n++] = word[i];
  }
  word[n] = '\0';
  char *end;
  long long v = strtoll(word, &end, 0);
  if (end == word || strspn(end, "uUlL") != strlen(end) || v < 0)
    return false;
  *out = v;
  return true;
}

static void number_add(struct own_numbers *own, int64_t v, bool divides)
{
  for (size_t i = 0; i < own->n; i++) {
    if (own->items[i] == v) {
      own->divides[i] |= divides;
      return;
    }
  }
  if (own->n < OWN_NUMBERS) {
    own->divides[own->n] = divides;
    own->items[own->n++] = v;
  }
}

static void numbers_read(const char *text, struct own_numbers *own)
{
  size_t n;
  struct kr_token *toks = kr_lex_all(text, strlen(text), false, &n);
  for (size_t i = 0; i + 1 < n; i++) {
    int64_t v, more;
    if (!number_of(text, toks[i], &v))
      continue;
    bool divides = i && kr_token_is(text, toks[i - 1], "%");
    // 1 << 20 and 1024 * 1024 are one number each.
    if (i + 2 < n && number_of(text, toks[i + 2], &more)) {
      if (kr_token_is(text, toks[i + 1], "<<") && more < 40 && v < INT64_C(1) << 22)
        v <<= more;
      else if (kr_token_is(text, toks[i + 1], "*") && v < INT64_C(1) << 30 && more < INT64_C(1) << 30)
        v *= more;
    }
    number_add(own, v, divides);
  }
  free(toks);
}

static bool knows(const struct own_numbers *own, int64_t v)
{
  for (size_t i = 0; i < own->n; i++) {
    if (own->items[i] == v)
      return true;
  }
  return false;
}

struct own_sizes {
  int64_t items[OWN_SIZES];
  size_t n;
};

static void size_add(struct own_sizes *s, int64_t v, int64_t unit)
{
  v -= v % unit;
  for (size_t i = 0; i < s->n; i++) {
    if (s->items[i] == v)
      return;
  }
  if (v > 0 && s->n < OWN_SIZES)
    s->items[s->n++] = v;
}

// The values to try for one extent, in the order of their worth: beside large
// numbers first, since small sizes are drawn anyway.
static void sizes_of(struct judgement *j, const struct own_numbers *mine,
                     const struct own_numbers *theirs, int64_t unit, struct own_sizes *out)
{
  out->n = 0;
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < mine->n; i++) {
      int64_t v = mine->items[i];
      if (v < 2 || v > INT64_C(1) << 40 || (knows(theirs, v) && !mine->divides[i]))
        continue;
      if (round == 1 && mine->divides[i]) {
        for (size_t r = 0; r < mine->n; r++) {
          int64_t k = 1 + (int64_t)fill_below(judge_draw(j), 4096 / (uint64_t)v + 2);
          if (mine->items[r] < v)
            size_add(out, v * k + mine->items[r], unit);
        }
      } else if ((round == 0) == (v > 1024) && round != 1) {
        int64_t near = unit * (2 + (int64_t)fill_below(judge_draw(j), 64));
        size_add(out, v, unit);
        size_add(out, v + near, unit);
        size_add(out, v + unit, unit);
        size_add(out, v - unit, unit);
      }
    }
  }
}

// The largest value of an extent at which the original was seen clean.
static int64_t most_of(const struct kr_evaluator *e, size_t case_index, size_t binding)
{
  int64_t most = e->cases[case_index].bindings[binding].value, v;
  const char *path = e->c->cases[case_index].bindings[binding].path;
  for (size_t i = 0; i < e->n_points; i++) {
    const struct sizes_point *p = &e->points[i];
    for (size_t k = 0; k < p->n && p->case_index == case_index; k++) {
      if (!strcmp(p->overrides[k].path, path) && !kr_value_as_int(p->overrides[k].value, &v) &&
          v > most)
        most = v;
    }
  }
  return most;
}

// Beyond what was clean an original may fault, which costs a device that is real. From
// halfway between the largest clean size and the one it was lost at, nothing is tried
// any more.
#define BEYOND "judging: case %zu: beyond, %.100s = "

static bool too_far(const struct kr_evaluator *e, size_t case_index, const char *path,
                    int64_t most, int64_t size)
{
  char head[200];
  int len = snprintf(head, sizeof head, BEYOND, case_index, path);
  for (size_t i = 0; i < e->n_avoid; i++) {
    if (strncmp(e->avoid[i], head, (size_t)len))
      continue;
    int64_t lost_at = strtoll(e->avoid[i] + len, NULL, 10);
    if (size - most >= (lost_at - most) / 2)
      return true;
  }
  return false;
}

// Those of one case.
static int own_sizes(struct judgement *j, size_t case_index, const struct own_numbers *mine,
                     const struct own_numbers *theirs)
{
  struct kr_evaluator *e = j->e;
  const struct kr_case *c = &e->c->cases[case_index];
  int rc = JUDGE_PASSED;
  size_t tried = 0, large = 0;
  for (size_t b = 0; b < c->n_bindings; b++) {
    const struct sizes_binding *s = &e->cases[case_index].bindings[b];
    if (s->role != SIZES_EXTENT || !s->unit)
      continue;
    int64_t most = most_of(e, case_index, b);
    struct own_sizes sizes;
    sizes_of(j, mine, theirs, s->unit, &sizes);
    for (size_t i = 0; i < sizes.n && tried < OWN_TRIED; i++) {
      struct sizes_point p = {.case_index = case_index, .n = 1};
      p.overrides[0] = (struct kr_override){c->bindings[b].path, kr_value_int(sizes.items[i])};
      bool beyond = sizes.items[i] > most;
      size_t bytes = judge_point_bytes(e, &p);
      if (beyond && bytes > OWN_BEYOND_BYTES)
        continue;
      if (bytes > EVALUATOR_LARGE_BYTES || !judge_is_dealt(j, (size_t)(sizes.items[i] / s->unit)))
        continue;
      if (bytes > OWN_SMALL_BYTES && !j->o->thorough && large++ >= OWN_LARGE)
        continue;
      char attempt[200];
      snprintf(attempt, sizeof attempt, BEYOND "%lld", case_index, c->bindings[b].path,
               (long long)sizes.items[i]);
      if (beyond && too_far(e, case_index, c->bindings[b].path, most, sizes.items[i]))
        continue;
      int clean = judge_clean_at(j, &p, beyond ? attempt : NULL);
      if (clean < 0)
        return JUDGE_BROKE;
      if (!clean)
        continue;
      tried++;
      rc = judge_point(j, &p, KR_DIST_NORMAL);
      if (rc != JUDGE_PASSED)
        return rc;
    }
  }
  return rc;
}

int judge_own_sizes(struct judgement *j)
{
  const struct kr_contract *c = j->e->c;
  struct own_numbers mine = {.n = 0}, theirs = {.n = 0};
  numbers_read(j->cand->code, &mine);
  numbers_read(c->code, &theirs);
  int rc = JUDGE_PASSED;
  // Under each of a template's arguments: the text may name these too.
  for (size_t k = 0; k < c->n_cases && rc == JUDGE_PASSED; k++) {
    if (kr_case_is_first(c, k))
      rc = own_sizes(j, k, &mine, &theirs);
  }
  return rc;
}
