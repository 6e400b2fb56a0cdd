#include "marker_clause.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// `let(n = 1024)`, `fix((m, n) = {(1, 2), (3, 4)})`: values of the workload.

static bool parser_value(struct parser *p, struct kr_mexpr *out)
{
  if (!parser_source_later(p))
    return false;
  if (parser_at(p, "null") || parser_at(p, "&"))
    return PARSER_FAIL(p, parser_tok(p), "pointers stand in sections: in(p = %s)",
                       parser_at(p, "&") ? "&x" : "null");
  return parser_expr(p, out, false);
}

static void binding_add_value(struct kr_mbinding *b, size_t *cap, struct kr_mexpr value, size_t n)
{
  KR_GROW(b->values, n, *cap);
  b->values[n] = value;
}

static bool binding_unique(struct parser *p, const char *path, struct kr_span at,
                           const struct kr_mbinding *own, size_t own_n)
{
  struct kr_span first = {SIZE_MAX, 0};
  for (size_t i = 0; i < p->m->n_bindings; i++)
    for (size_t j = 0; j < p->m->bindings[i].n_paths; j++)
      if (!strcmp(p->m->bindings[i].paths[j], path))
        first = p->m->bindings[i].path_at[j];
  for (size_t j = 0; j < own_n; j++)
    if (!strcmp(own->paths[j], path))
      first = own->path_at[j];
  if (first.offset == SIZE_MAX)
    return true;
  unsigned line, col;
  kr_source_place(p->s->src, first.offset, &line, &col);
  return PARSER_FAIL(p, at, "`%s` has a value already, at line %u; a list gives it more: "
                     "%s = {…, …}", path, line, path);
}

static bool binding_path(struct parser *p, struct kr_mbinding *b, size_t *cap)
{
  if (!parser_word(p))
    return parser_expected(p, "a name");
  struct kr_span at;
  char *path = parser_path(p, &at);
  if (!binding_unique(p, path, at, b, b->n_paths)) {
    free(path);
    return false;
  }
  size_t cap_at = *cap;
  KR_GROW(b->paths, b->n_paths, *cap);
  KR_GROW(b->path_at, b->n_paths, cap_at);
  b->paths[b->n_paths] = path;
  b->path_at[b->n_paths++] = at;
  return true;
}

static bool binding_equals(struct parser *p, const struct kr_mbinding *b)
{
  if (parser_take(p, "="))
    return true;
  if (parser_at(p, "==") || parser_at(p, ":")) {
    PARSER_FAIL(p, parser_tok(p), "a value is given with `=`");
    kr_diags_fix(p->s->diags, "=");
    return false;
  }
  if (p->pos == p->end || parser_at(p, ","))
    return PARSER_FAIL(p, b->path_at[0], "`%s` needs a value: %s(%s = …)", b->paths[0], p->clause,
                       b->paths[0]);
  return parser_expected(p, "`=`");
}

static bool binding_rows(struct parser *p, struct kr_mbinding *b)
{
  size_t n = 0, cap = 0;
  bool tuples = b->n_paths > 1;
  b->list = parser_at(p, "{") && parser_source_later(p);
  if (parser_at(p, "{") && !b->list)
    return false;
  if (tuples && !b->list)
    return parser_expected(p, "a list of tuples, as in {(512, 64), (7, 4096)},");
  size_t close = b->list ? p->t->match[p->pos] : p->end;
  p->pos += b->list;
  do {
    if (b->list && p->pos == close)
      return parser_expected(p, "a value");
    struct kr_token open = parser_tok(p);
    if (tuples && !parser_take(p, "("))
      return parser_expected(p, "a tuple in brackets");
    for (size_t i = 0; i < b->n_paths; i++) {
      struct kr_mexpr value = {0};
      if (tuples && parser_at(p, ")")) {
        PARSER_FAIL(p, open, "this tuple has %zu value%s for %zu names", i, i == 1 ? "" : "s",
                    b->n_paths);
        goto fail;
      }
      bool ok = parser_value(p, &value);
      binding_add_value(b, &cap, value, n++);
      b->n_rows = (n + b->n_paths - 1) / b->n_paths;
      if (!ok)
        goto fail;
      if (tuples && i + 1 < b->n_paths && !parser_take(p, ",")) {
        if (!parser_at(p, ")")) {
          parser_expected(p, "`,`");
          goto fail;
        }
        PARSER_FAIL(p, open, "this tuple has %zu value%s for %zu names", i + 1, i ? "s" : "",
                    b->n_paths);
        goto fail;
      }
    }
    if (tuples && parser_at(p, ",")) {
      PARSER_FAIL(p, open, "this tuple has more than %zu values for %zu names", b->n_paths,
                  b->n_paths);
      goto fail;
    }
    if (tuples && !parser_take(p, ")")) {
      parser_expected(p, "`)`");
      goto fail;
    }
  } while (b->list && parser_take(p, ","));
  if (b->list && p->pos != close)
    return parser_expected(p, "`,` or `}`");
  p->pos += b->list;
  return true;
fail:
  // A row that is not full is filled up with absent values, to be released like others.
  while (n % b->n_paths)
    binding_add_value(b, &cap, (struct kr_mexpr){0}, n++);
  return false;
}

bool marker_let(struct parser *p, bool fix)
{
  do {
    struct kr_mbinding b = {.fix = fix};
    size_t cap = 0;
    bool ok;
    if (parser_at(p, "(")) {
      size_t close = p->t->match[p->pos++];
      do
        ok = binding_path(p, &b, &cap);
      while (ok && parser_take(p, ","));
      if (ok && p->pos != close)
        ok = parser_expected(p, "`,` or `)`");
      p->pos += ok;
    } else {
      ok = binding_path(p, &b, &cap);
    }
    ok = ok && binding_equals(p, &b) && binding_rows(p, &b);
    struct kr_marker *m = p->m;
    m->bindings = kr_xreallocarray(m->bindings, m->n_bindings + 1, sizeof *m->bindings);
    m->bindings[m->n_bindings++] = b; // a broken one too: it is released with the marker
    if (!ok)
      return false;
  } while (parser_take(p, ","));
  return true;
}
