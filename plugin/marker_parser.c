#include "marker_clause.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct kr_token parser_tok(const struct parser *p)
{
  return p->t->toks[p->pos];
}

bool parser_at(const struct parser *p, const char *spelling)
{
  return p->pos < p->end && kr_token_is(p->text, parser_tok(p), spelling);
}

bool parser_take(struct parser *p, const char *spelling)
{
  if (!parser_at(p, spelling))
    return false;
  p->pos++;
  return true;
}

bool parser_word(const struct parser *p)
{
  return p->pos < p->end && parser_tok(p).kind == KR_TOK_IDENTIFIER;
}

struct kr_span parser_span(const struct parser *p, size_t first, size_t behind)
{
  struct kr_token a = p->t->toks[first], b = p->t->toks[behind > first ? behind - 1 : first];
  return (struct kr_span){a.offset, b.offset + b.length - a.offset};
}

bool parser_fail(struct parser *p, size_t offset, size_t length, const char *fmt, ...)
{
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  kr_diags_add(p->s->diags, KR_SEV_ERROR, offset, length, "%s", text);
  return false;
}

bool parser_later(struct parser *p, size_t index, const char *what)
{
  return PARSER_FAIL(p, p->t->toks[index], "`%s` is not there yet", what);
}

bool parser_expected(struct parser *p, const char *what)
{
  struct kr_token tok = parser_tok(p);
  return PARSER_FAIL(p, tok, "`%.*s` stands where %s is expected", (int)tok.length,
                     p->text + tok.offset, what);
}

// path = name { "::" name | "." ( name | integer ) }
char *parser_path(struct parser *p, struct kr_span *at)
{
  if (!parser_word(p))
    return NULL;
  size_t first = p->pos++;
  for (;;) {
    struct kr_token tok = parser_tok(p);
    if (p->pos < p->end && tok.kind == KR_TOK_NUMBER && p->text[tok.offset] == '.') {
      p->pos++; // `args.0`
      continue;
    }
    bool joins = parser_at(p, "::") || parser_at(p, ".");
    if (!joins || p->pos + 1 >= p->end || p->t->toks[p->pos + 1].kind != KR_TOK_IDENTIFIER)
      break;
    p->pos += 2;
  }
  *at = parser_span(p, first, p->pos);
  return marker_join(p->text, p->t->toks + first, p->pos - first);
}

// --- expressions ---

static const struct {
  const char *name;
  size_t n_args;
  bool generator;
} functions[] = {{"min", 2, false},      {"max", 2, false},      {"abs", 1, false},
                 {"sqrt", 1, false},     {"ceil_div", 2, false}, {"round_up", 2, false},
                 {"is_pow2", 1, false},  {"next_pow2", 1, false}, {"clog2", 1, false},
                 {"uniform", 2, true},   {"normal", 2, true},    {"index", 1, true},
                 {"offsets", 1, true},   {"permutation", 0, true}};

static const char *const generators_later[] = {"sorted", "sym", "bits", "curand", "file", NULL};

static bool expr_check_call(struct parser *p, const struct kr_mexpr *e, const struct kr_expr *call,
                            bool filler)
{
  struct kr_span at = kr_marker_expr_place(p->s->src, e, call->offset, strlen(call->name));
  const char *names[sizeof functions / sizeof *functions + 6] = {0};
  size_t n = 0;
  for (size_t i = 0; generators_later[i]; i++) {
    if (!strcmp(call->name, generators_later[i]))
      return PARSER_FAIL(p, at, "`%s` is not there yet", call->name);
    names[n++] = generators_later[i];
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    names[n++] = functions[i].name;
    if (strcmp(call->name, functions[i].name))
      continue;
    if (functions[i].generator && !filler)
      return PARSER_FAIL(p, at, "`%s` fills sections; it has no value here", call->name);
    if (call->n_args != functions[i].n_args)
      return PARSER_FAIL(p, at, "`%s` takes %zu argument%s, not %zu", call->name,
                         functions[i].n_args, functions[i].n_args == 1 ? "" : "s", call->n_args);
    return true;
  }
  const char *near = marker_nearest(call->name, strlen(call->name), names,
                                    strlen(call->name) < 4 ? 1 : 2);
  if (near) {
    PARSER_FAIL(p, at, "unknown function `%s`; did you mean `%s`?", call->name, near);
    kr_diags_fix(p->s->diags, near);
    return false;
  }
  return PARSER_FAIL(p, at, "unknown function `%s`; a marker calls none of the program",
                     call->name);
}

static bool expr_check(struct parser *p, const struct kr_mexpr *e, const struct kr_expr *node,
                       bool filler)
{
  if (node->kind == KR_EXPR_CALL && !expr_check_call(p, e, node, filler))
    return false;
  for (size_t i = 0; i < node->n_args; i++)
    if (!expr_check(p, e, node->args[i], filler))
      return false;
  return true;
}

bool parser_expr(struct parser *p, struct kr_mexpr *out, bool filler)
{
  size_t first = p->pos;
  struct kr_expr_error error = {0};
  if (p->pos >= p->end)
    return PARSER_FAIL(p, parser_tok(p), "an expression is missing before `%.*s`",
                       (int)parser_tok(p).length, p->text + parser_tok(p).offset);
  struct kr_expr *whole = kr_expr_parse_tokens(p->text, p->t->toks, p->end, &p->pos, &error);
  if (!whole) {
    struct kr_span at = {error.offset, error.length};
    return PARSER_FAIL(p, at, "%s", error.text);
  }
  kr_expr_free(whole);
  out->at = parser_span(p, first, p->pos);
  out->text = marker_join(p->text, p->t->toks + first, p->pos - first);
  out->e = kr_expr_parse(out->text, strlen(out->text), &error);
  if (!out->e)
    return PARSER_FAIL(p, out->at, "%s", error.text);
  return expr_check(p, out, out->e, filler);
}

bool parser_source_later(struct parser *p)
{
  if (parser_at(p, "{") && p->pos + 1 < p->end &&
      kr_token_is(p->text, p->t->toks[p->pos + 1], "."))
    return PARSER_FAIL(p, parser_tok(p), "values of a struct, `{.member = …}`, are not there yet");
  if (parser_at(p, "file") && p->pos + 1 < p->end &&
      kr_token_is(p->text, p->t->toks[p->pos + 1], "("))
    return parser_later(p, p->pos, "file");
  return true;
}
