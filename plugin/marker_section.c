#include "marker_clause.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// `in(x[n][m] = uniform(0, 1))`: what a pointer points to, and what it holds.

static bool range_wrong(struct parser *p, struct kr_token at)
{
  return PARSER_FAIL(p, at, "a range is `length` or `start : length`");
}

static bool section_range(struct parser *p, struct kr_msection *sec, const char *path)
{
  size_t close = p->t->match[p->pos];
  struct kr_token open = p->t->toks[p->pos++];
  sec->ranges = kr_xreallocarray(sec->ranges, sec->n_ranges + 1, sizeof *sec->ranges);
  struct kr_mrange *r = &sec->ranges[sec->n_ranges++];
  *r = (struct kr_mrange){0};
  if (p->pos == close)
    return range_wrong(p, open);
  if (!parser_at(p, ":") && !parser_expr(p, &r->length, false))
    return false;
  if (parser_at(p, ":")) {
    struct kr_token colon = parser_tok(p);
    p->pos++;
    if (p->pos == close)
      return range_wrong(p, colon);
    r->start = r->length;
    r->length = (struct kr_mexpr){0};
    if (!parser_expr(p, &r->length, false))
      return false;
  }
  if (p->pos != close)
    return parser_at(p, ":") || parser_at(p, ",") ? range_wrong(p, parser_tok(p))
                                                   : parser_expected(p, "`]`");
  p->pos++;
  // `x[4:n]`: people who think of slices mean the end.
  const struct kr_expr *start = r->start.e, *length = r->length.e;
  if (start && length->kind == KR_EXPR_NAME && start->kind != KR_EXPR_UNARY &&
      !(start->kind == KR_EXPR_INT && start->value.i == 0)) {
    bool simple = start->kind == KR_EXPR_INT || start->kind == KR_EXPR_NAME;
    const char *l = simple ? "" : "(", *e = simple ? "" : ")";
    struct kr_span at = {r->start.at.offset,
                         r->length.at.offset + r->length.at.length - r->start.at.offset};
    kr_diags_add(p->s->diags, KR_SEV_NOTE, at.offset, at.length,
                 "`%s[%s:%s]` is %s elements from %s on, to %s + %s; for elements %s … %s - 1 "
                 "write `%s[%s : %s - %s%s%s]`",
                 path, r->start.text, length->name, length->name, r->start.text, r->start.text,
                 length->name, r->start.text, length->name, path, r->start.text, length->name, l,
                 r->start.text, e);
  }
  return true;
}

static bool section_source(struct parser *p, struct kr_msection *sec)
{
  size_t first = p->pos;
  sec->fills = kr_xreallocarray(sec->fills, sec->n_fills + 1, sizeof *sec->fills);
  struct kr_mfill *f = &sec->fills[sec->n_fills++];
  *f = (struct kr_mfill){0};
  if (!parser_source_later(p))
    return false;
  struct kr_token next = p->t->toks[p->pos < p->end ? p->pos + 1 : p->pos];
  if (parser_at(p, "null") && !kr_token_is(p->text, next, "(") &&
      !kr_token_is(p->text, next, "::")) {
    f->kind = KR_FILL_NULL;
    p->pos++;
  } else if (parser_at(p, "nullptr") || parser_at(p, "NULL")) {
    PARSER_FAIL(p, parser_tok(p), "a null pointer is written `null`");
    kr_diags_fix(p->s->diags, "null");
    return false;
  } else if (parser_take(p, "&")) {
    struct kr_span at;
    f->kind = KR_FILL_ALIAS;
    f->path = parser_path(p, &at);
    if (!f->path)
      return parser_expected(p, "the name of another section");
    if (parser_at(p, "[")) {
      size_t close = p->t->match[p->pos++];
      if (!parser_expr(p, &f->expr, false))
        return false;
      if (p->pos != close)
        return parser_expected(p, "`]`");
      p->pos++;
    }
  } else {
    f->kind = KR_FILL_EXPR;
    if (!parser_expr(p, &f->expr, true))
      return false;
    if (sec->direction == KR_DIR_OUT)
      return PARSER_FAIL(p, f->expr.at, "what is `out` is poisoned, never filled; write "
                         "inout(%s%s = %s)", sec->path, sec->n_ranges ? "[…]" : "", f->expr.text);
  }
  f->at = parser_span(p, first, p->pos);
  return true;
}

static bool section_fill(struct parser *p, struct kr_msection *sec)
{
  if (!parser_at(p, "{"))
    return section_source(p, sec);
  if (!parser_source_later(p))
    return false;
  size_t close = p->t->match[p->pos++];
  do
    if (!section_source(p, sec))
      return false;
  while (parser_take(p, ","));
  if (p->pos != close)
    return parser_expected(p, "`,` or `}`");
  p->pos++;
  return true;
}

static bool section_one(struct parser *p, struct kr_msection *sec)
{
  size_t first = p->pos;
  if (parser_at(p, "*")) {
    sec->path = kr_xstrdup("*");
    sec->path_at = parser_span(p, p->pos, p->pos + 1);
    p->pos++;
  } else {
    sec->path = parser_path(p, &sec->path_at);
    if (!sec->path)
      return parser_expected(p, "the name of a pointer, or `*`");
  }
  for (size_t i = 0; i < p->m->n_sections; i++)
    if (!strcmp(p->m->sections[i].path, sec->path)) {
      unsigned line, col;
      kr_source_place(p->s->src, p->m->sections[i].path_at.offset, &line, &col);
      return PARSER_FAIL(p, sec->path_at, "`%s` has a section already, at line %u", sec->path,
                         line);
    }
  while (parser_at(p, "["))
    if (!section_range(p, sec, sec->path))
      return false;
  if (parser_at(p, "as"))
    return PARSER_FAIL(p, parser_tok(p), "`as` and a type are not there yet");
  if (parser_at(p, ":"))
    return PARSER_FAIL(p, parser_tok(p), "a section is `%s[length]`, its filling `%s[length] = …`",
                       sec->path, sec->path);
  if (parser_take(p, "=") && !section_fill(p, sec))
    return false;
  sec->at = parser_span(p, first, p->pos);
  return true;
}

bool marker_sections(struct parser *p, enum kr_direction direction)
{
  do {
    struct kr_msection sec = {.direction = direction};
    bool ok = section_one(p, &sec);
    struct kr_marker *m = p->m;
    if (!sec.path)
      return false;
    m->sections = kr_xreallocarray(m->sections, m->n_sections + 1, sizeof *m->sections);
    m->sections[m->n_sections++] = sec;
    if (!ok)
      return false;
  } while (parser_take(p, ","));
  return true;
}
