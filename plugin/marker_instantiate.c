#include "marker_clause.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// `instantiate(T = {float, half}, 128)`: template arguments. What they mean is
// clang's to say; here it is only found where each begins and ends.

// Where the `>` stands that closes the `<` at `open`, or 0: `<` is an operator.
static size_t targ_angle(const struct parser *p, size_t open, size_t end)
{
  size_t depth = 0;
  for (size_t i = open; i < end; i++) {
    if (p->t->match[i] != SIZE_MAX && p->t->match[i] > i) {
      i = p->t->match[i];
      continue;
    }
    depth += kr_token_is(p->text, p->t->toks[i], "<");
    size_t closers = kr_token_is(p->text, p->t->toks[i], ">")    ? 1
                     : kr_token_is(p->text, p->t->toks[i], ">>") ? 2
                                                                 : 0;
    if (closers >= depth)
      return closers ? i : 0;
    depth -= closers;
  }
  return 0;
}

// One argument, up to a comma or `end`: tokens that the compiler reads later.
static bool targ_value(struct parser *p, size_t end, struct kr_mtarg *a)
{
  size_t first = p->pos;
  while (p->pos < end && !parser_at(p, ",")) {
    struct kr_token tok = parser_tok(p);
    size_t match = p->t->match[p->pos];
    if (parser_at(p, "="))
      return PARSER_FAIL(p, tok, "an argument is `value` or `name = value`; equality is `==`");
    if (parser_at(p, "{") || parser_at(p, ";") || tok.kind == KR_TOK_STRING)
      return PARSER_FAIL(p, tok, "`%.*s` has no place in a template argument", (int)tok.length,
                         p->text + tok.offset);
    if (parser_at(p, "<"))
      match = targ_angle(p, p->pos, end);
    p->pos = match != SIZE_MAX && match > p->pos ? match + 1 : p->pos + 1;
  }
  if (p->pos == first)
    return parser_expected(p, "a template argument");
  struct kr_span at = parser_span(p, first, p->pos);
  char *text = marker_join(p->text, p->t->toks + first, p->pos - first);
  for (size_t i = 0; i < a->n_values; i++)
    if (!strcmp(a->values[i], text)) {
      PARSER_FAIL(p, at, "`%s` stands in this list already", text);
      free(text);
      return false;
    }
  a->values = kr_xreallocarray(a->values, a->n_values + 1, sizeof *a->values);
  a->value_at = kr_xreallocarray(a->value_at, a->n_values + 1, sizeof *a->value_at);
  a->value_at[a->n_values] = at;
  a->values[a->n_values++] = text;
  return true;
}

static bool targ_one(struct parser *p, struct kr_minstantiate *in, struct kr_mtarg *a)
{
  if (parser_word(p) && p->pos + 1 < p->end && kr_token_is(p->text, p->t->toks[p->pos + 1], "=")) {
    a->name_at = parser_span(p, p->pos, p->pos + 1);
    a->name = marker_join(p->text, p->t->toks + p->pos, 1);
    p->pos += 2;
  }
  for (const struct kr_mtarg *other = in->args; other < a; other++) {
    if (a->name && other->name && !strcmp(a->name, other->name))
      return PARSER_FAIL(p, a->name_at, "`%s` is given twice; a list gives it more values: "
                         "%s = {…, …}", a->name, a->name);
    if (!a->name && other->name)
      return PARSER_FAIL(p, parser_tok(p), "arguments by place stand before those by name");
  }
  if (!parser_at(p, "{"))
    return targ_value(p, p->end, a);
  size_t close = p->t->match[p->pos++];
  do {
    if (!targ_value(p, close, a))
      return false;
  } while (parser_take(p, ","));
  p->pos = close + 1;
  return true;
}

bool marker_instantiate(struct parser *p, struct kr_token name)
{
  struct kr_marker *m = p->m;
  m->instantiates =
      kr_xreallocarray(m->instantiates, m->n_instantiates + 1, sizeof *m->instantiates);
  struct kr_minstantiate *in = &m->instantiates[m->n_instantiates++];
  *in = (struct kr_minstantiate){.at = {name.offset, name.length}};
  do {
    in->args = kr_xreallocarray(in->args, in->n_args + 1, sizeof *in->args);
    struct kr_mtarg *a = &in->args[in->n_args++];
    *a = (struct kr_mtarg){0};
    if (!targ_one(p, in, a))
      return false;
  } while (parser_take(p, ","));
  return true;
}
