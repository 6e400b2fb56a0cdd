#include "marker_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// The grammar of clauses, on tokens whose brackets are known to match. What is
// wrong in one clause does not stop the next: every message has its own place.
// Forms of the language that are specified but not built are refused by name.

enum clause_kind {
  CLAUSE_LET,
  CLAUSE_FIX,
  CLAUSE_DATA,
  CLAUSE_IN,
  CLAUSE_INOUT,
  CLAUSE_OUT,
  CLAUSE_REQUIRE,
  CLAUSE_GRID,
  CLAUSE_BLOCK,
  CLAUSE_SHARED,
  CLAUSE_MIN_SPEEDUP,
  CLAUSE_LAUNCH,
  CLAUSE_COMPARE,
  CLAUSE_ALIGN,
  CLAUSE_LATER // known, not there yet
};

static const struct {
  const char *name;
  enum clause_kind kind;
} clauses[] = {
    {"let", CLAUSE_LET},         {"fix", CLAUSE_FIX},       {"data", CLAUSE_DATA},
    {"in", CLAUSE_IN},           {"inout", CLAUSE_INOUT},   {"out", CLAUSE_OUT},
    {"copyin", CLAUSE_IN},       {"copy", CLAUSE_INOUT},    {"copyout", CLAUSE_OUT},
    {"require", CLAUSE_REQUIRE}, {"grid", CLAUSE_GRID},     {"block", CLAUSE_BLOCK},
    {"shared", CLAUSE_SHARED},   {"launch", CLAUSE_LAUNCH}, {"min_speedup", CLAUSE_MIN_SPEEDUP},
    {"compare", CLAUSE_COMPARE}, {"align", CLAUSE_ALIGN},   {"scratch", CLAUSE_LATER},
    {"cluster", CLAUSE_LATER},   {"workload", CLAUSE_LATER}, {"instantiate", CLAUSE_LATER}};

enum { N_CLAUSES = sizeof clauses / sizeof *clauses };

static int clause_find(const char *word, size_t len)
{
  for (int i = 0; i < N_CLAUSES; i++)
    if (strlen(clauses[i].name) == len && !memcmp(clauses[i].name, word, len))
      return i;
  return -1;
}

bool marker_is_clause(const char *word, size_t len)
{
  return clause_find(word, len) >= 0;
}

static const char *clause_nearest(const char *word, size_t len, size_t limit)
{
  const char *names[N_CLAUSES + 1] = {0};
  for (int i = 0; i < N_CLAUSES; i++)
    names[i] = clauses[i].name;
  return marker_nearest(word, len, names, limit);
}

const char *marker_near_clause(const char *word, size_t len)
{
  // Among prose: `get(`, `if(` and `for(` are no misspelt `let`, `in` and `fix`.
  const char *near = len < 4 ? NULL : clause_nearest(word, len, len < 7 ? 1 : 2);
  return near && strlen(near) >= 4 ? near : NULL;
}

// Words that people write for something the language spells otherwise.
static const struct {
  const char *word;
  bool bracket;      // what is written goes on with `(`
  const char *text;
} foreign[] = {
    {"tolerance", true, "`tolerance` is written `compare(tol(1e-3))`"},
    {"tol", true, "`tol` is written `compare(tol(1e-3))`"},
    {"rtol", true, "`rtol` is written `compare(tol(1e-3))`"},
    {"atol", true, "`atol` is written `compare(tol(1e-3, 1e-6))`"},
    {"init", true, "`init` is written with the section: `x[n] = 0`"},
    {"fill", true, "`fill` is written with the section: `x[n] = 0`"},
    {"size", true, "`size` is written `let(n = 1024)`"},
    {"sizes", true, "`sizes` is written `let(n = {1024, 4096})`"},
    {"args", true, "`args` is written `let(n = 1024)` for values and `in(x[n])` for pointers"},
    {"input", true, "`input` is written `in(x[n])`"},
    {"inputs", true, "`inputs` is written `in(x[n])`"},
    {"output", true, "`output` is written `out(y[n])`"},
    {"outputs", true, "`outputs` is written `out(y[n])`"},
    {"buffers", true, "`buffers` is written `data(x[n])`"},
    {"threads", true, "`threads` is written `block(256)`"},
    {"blocks", true, "`blocks` is written `grid(ceil_div(n, 256))`"},
    {"smem", true, "`smem` is written `shared(1024)`, in bytes"},
    {"assume", true, "`assume` is written `require(n % 4 == 0)`"},
    {"exact", false, "a clause needs brackets: `compare(exact)`"},
    {"tunable", false, "a clause needs brackets: `launch(tunable)`"},
    {"fixed", false, "a clause needs brackets: `launch(fixed)`"},
    {"cooperative", false, "a clause needs brackets: `launch(cooperative)`"}};

void marker_unknown_clause(struct marker_scan *s, size_t offset, size_t length, bool bracket)
{
  const char *word = s->text + offset;
  if (!marker_is_word(word[0])) {
    kr_diags_add(s->diags, KR_SEV_ERROR, offset, length,
                 word[0] == '(' ? "`(` must stand directly behind its clause's name"
                                : "`%.*s` is left over behind the marker",
                 (int)length, word);
    return;
  }
  int known = clause_find(word, length);
  if (known >= 0 && bracket) {
    kr_diags_add(s->diags, KR_SEV_ERROR, offset, length,
                 "clause `%.*s` stands behind words that end the marker", (int)length, word);
    return;
  }
  if (known >= 0) {
    kr_diags_add(s->diags, KR_SEV_ERROR, offset, length,
                 "a clause needs brackets, `(` directly behind its name: `%.*s(…)`", (int)length,
                 word);
    return;
  }
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (strlen(foreign[i].word) == length && !memcmp(foreign[i].word, word, length) &&
        (bracket || !foreign[i].bracket)) {
      kr_diags_add(s->diags, KR_SEV_ERROR, offset, length, "%s", foreign[i].text);
      return;
    }
  const char *near = clause_nearest(word, length, length < 4 ? 1 : 2);
  if (!near) {
    kr_diags_add(s->diags, KR_SEV_ERROR, offset, length,
                 bracket ? "unknown clause `%.*s`" : "`%.*s` is left over behind the marker",
                 (int)length, word);
    return;
  }
  const char *here = !strcmp(near, "copyin")    ? " (spelt `in` here)"
                     : !strcmp(near, "copy")    ? " (spelt `inout` here)"
                     : !strcmp(near, "copyout") ? " (spelt `out` here)"
                                                : "";
  if (bracket) {
    kr_diags_add(s->diags, KR_SEV_ERROR, offset, length,
                 "unknown clause `%.*s`; did you mean `%s`%s?", (int)length, word, near, here);
    kr_diags_fix(s->diags, near);
  } else {
    kr_diags_add(s->diags, KR_SEV_ERROR, offset, length,
                 "`%.*s` is left over behind the marker; did you mean `%s(…)`%s?", (int)length,
                 word, near, here);
  }
}

// --- the parser ---

struct parser {
  struct marker_scan *s;
  const struct marker_tokens *t;
  struct kr_marker *m;
  const char *text;
  size_t pos, end; // in the tokens; `end` is the clause's closing bracket
  const char *clause;
  size_t seen[N_CLAUSES]; // offset + 1 of the first of each that may come only once
};

static struct kr_token parser_tok(const struct parser *p)
{
  return p->t->toks[p->pos];
}

static bool parser_at(const struct parser *p, const char *spelling)
{
  return p->pos < p->end && kr_token_is(p->text, parser_tok(p), spelling);
}

static bool parser_take(struct parser *p, const char *spelling)
{
  if (!parser_at(p, spelling))
    return false;
  p->pos++;
  return true;
}

static bool parser_word(const struct parser *p)
{
  return p->pos < p->end && parser_tok(p).kind == KR_TOK_IDENTIFIER;
}

static struct kr_span parser_span(const struct parser *p, size_t first, size_t behind)
{
  struct kr_token a = p->t->toks[first], b = p->t->toks[behind > first ? behind - 1 : first];
  return (struct kr_span){a.offset, b.offset + b.length - a.offset};
}

// Tells an error; false always, so that `return PARSER_FAIL(...)` reads well.
static bool __attribute__((format(printf, 4, 5)))
parser_fail(struct parser *p, size_t offset, size_t length, const char *fmt, ...)
{
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  kr_diags_add(p->s->diags, KR_SEV_ERROR, offset, length, "%s", text);
  return false;
}

// At a token or a span.
#define PARSER_FAIL(p, at, ...) parser_fail(p, (at).offset, (at).length, __VA_ARGS__)

static bool parser_later(struct parser *p, size_t index, const char *what)
{
  return PARSER_FAIL(p, p->t->toks[index], "`%s` is not there yet", what);
}

// "expected X here", with what stands there.
static bool parser_expected(struct parser *p, const char *what)
{
  struct kr_token tok = parser_tok(p);
  return PARSER_FAIL(p, tok, "`%.*s` stands where %s is expected", (int)tok.length,
                     p->text + tok.offset, what);
}

// path = name { "::" name | "." ( name | integer ) }. NULL when none stands here.
static char *parser_path(struct parser *p, struct kr_span *at)
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

static bool parser_expr(struct parser *p, struct kr_mexpr *out, bool filler)
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

// An aggregate, a file: sources that are not built.
static bool parser_source_later(struct parser *p)
{
  if (parser_at(p, "{") && p->pos + 1 < p->end &&
      kr_token_is(p->text, p->t->toks[p->pos + 1], "."))
    return PARSER_FAIL(p, parser_tok(p), "values of a struct, `{.member = …}`, are not there yet");
  if (parser_at(p, "file") && p->pos + 1 < p->end &&
      kr_token_is(p->text, p->t->toks[p->pos + 1], "("))
    return parser_later(p, p->pos, "file");
  return true;
}

// --- let, fix ---

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

static bool clause_bindings(struct parser *p, bool fix)
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

// --- sections ---

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

static bool clause_sections(struct parser *p, enum kr_direction direction)
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

// --- the other clauses ---

static bool clause_require(struct parser *p)
{
  do {
    struct kr_marker *m = p->m;
    m->requires_ = kr_xreallocarray(m->requires_, m->n_requires + 1, sizeof *m->requires_);
    m->requires_[m->n_requires++] = (struct kr_mexpr){0};
    if (!parser_expr(p, &m->requires_[m->n_requires - 1], false))
      return false;
    if (parser_at(p, "="))
      return PARSER_FAIL(p, parser_tok(p), "equality is written `==`");
  } while (parser_take(p, ","));
  return true;
}

static bool clause_dims(struct parser *p, struct kr_mexpr dims[3], size_t *n)
{
  do {
    if (*n == 3)
      return PARSER_FAIL(p, parser_tok(p), "`%s` has at most three dimensions", p->clause);
    if (!parser_expr(p, &dims[(*n)++], false))
      return false;
  } while (parser_take(p, ","));
  return true;
}

static bool clause_launch(struct parser *p)
{
  static const char *const modes[] = {"fixed", "tunable", "cooperative", NULL};
  do {
    struct kr_token tok = parser_tok(p);
    if (parser_take(p, "fixed")) {
      p->m->launch_fixed = true;
    } else if (parser_take(p, "tunable")) {
      p->m->launch_tunable = true;
    } else if (parser_take(p, "cooperative")) {
      p->m->launch_cooperative = true;
    } else {
      const char *near = parser_word(p)
                             ? marker_nearest(p->text + tok.offset, tok.length, modes, 2)
                             : NULL;
      if (!near)
        return parser_expected(p, "`fixed`, `tunable` or `cooperative`");
      PARSER_FAIL(p, tok, "unknown mode `%.*s`; did you mean `%s`?", (int)tok.length,
                  p->text + tok.offset, near);
      kr_diags_fix(p->s->diags, near);
      return false;
    }
    if (p->m->launch_fixed && p->m->launch_tunable)
      return PARSER_FAIL(p, tok, "a launch is `fixed` or `tunable`, not both");
  } while (parser_take(p, ","));
  return true;
}

// path "=" in front of a `how` or an alignment; NULL when there is none.
static char *parser_of_path(struct parser *p, struct kr_span *at)
{
  size_t back = p->pos;
  char *path = parser_path(p, at);
  if (path && parser_take(p, "="))
    return path;
  free(path);
  p->pos = back;
  *at = (struct kr_span){0, 0};
  return NULL;
}

static bool compare_how(struct parser *p, struct kr_mcompare *c)
{
  static const char *const hows[] = {"exact", "tol", "first", "unordered", NULL};
  struct kr_token tok = parser_tok(p);
  if (parser_at(p, "first") || parser_at(p, "unordered"))
    return parser_later(p, p->pos, parser_at(p, "first") ? "first" : "unordered");
  if (parser_take(p, "exact")) {
    c->kind = KR_COMPARE_EXACT;
    return true;
  }
  if (!parser_take(p, "tol")) {
    const char *near = parser_word(p) ? marker_nearest(p->text + tok.offset, tok.length, hows, 2)
                                      : NULL;
    if (!near)
      return parser_expected(p, "`exact` or `tol(…)`");
    PARSER_FAIL(p, tok, "unknown comparison `%.*s`; did you mean `%s`?", (int)tok.length,
                p->text + tok.offset, near);
    kr_diags_fix(p->s->diags, near);
    return false;
  }
  c->kind = KR_COMPARE_TOL;
  if (!parser_at(p, "("))
    return PARSER_FAIL(p, tok, "`tol` needs a number: tol(1e-3)");
  size_t close = p->t->match[p->pos++];
  if (!parser_expr(p, &c->rtol, false))
    return false;
  if (parser_take(p, ",") && !parser_expr(p, &c->atol, false))
    return false;
  if (p->pos != close)
    return parser_expected(p, "`)`");
  p->pos++;
  return true;
}

static bool clause_compare(struct parser *p)
{
  do {
    struct kr_marker *m = p->m;
    m->compares = kr_xreallocarray(m->compares, m->n_compares + 1, sizeof *m->compares);
    struct kr_mcompare *c = &m->compares[m->n_compares++];
    *c = (struct kr_mcompare){0};
    size_t first = p->pos;
    c->path = parser_of_path(p, &c->path_at);
    if (!compare_how(p, c))
      return false;
    for (size_t i = 0; i + 1 < m->n_compares; i++)
      if (c->path ? m->compares[i].path && !strcmp(m->compares[i].path, c->path)
                  : !m->compares[i].path)
        return PARSER_FAIL(p, parser_span(p, first, p->pos), "%s%s%s compared twice",
                           c->path ? "`" : "", c->path ? c->path : "all outputs are",
                           c->path ? "` is" : "");
  } while (parser_take(p, ","));
  return true;
}

static bool clause_align(struct parser *p)
{
  do {
    struct kr_marker *m = p->m;
    m->aligns = kr_xreallocarray(m->aligns, m->n_aligns + 1, sizeof *m->aligns);
    struct kr_malign *a = &m->aligns[m->n_aligns++];
    *a = (struct kr_malign){0};
    size_t first = p->pos;
    a->path = parser_of_path(p, &a->path_at);
    if (!parser_expr(p, &a->bytes, false))
      return false;
    for (size_t i = 0; i + 1 < m->n_aligns; i++)
      if (a->path ? m->aligns[i].path && !strcmp(m->aligns[i].path, a->path) : !m->aligns[i].path)
        return PARSER_FAIL(p, parser_span(p, first, p->pos), "%s%s%s two alignments",
                           a->path ? "`" : "", a->path ? a->path : "all pointers have",
                           a->path ? "` has" : "");
  } while (parser_take(p, ","));
  return true;
}

static bool clause_once(struct parser *p, struct kr_token name, int index)
{
  unsigned line, col;
  size_t seen = p->seen[index];
  p->seen[index] = name.offset + 1;
  if (!seen)
    return true;
  kr_source_place(p->s->src, seen - 1, &line, &col);
  return PARSER_FAIL(p, name, "clause `%s` again; first at line %u", clauses[index].name, line);
}

static bool clause_parse(struct parser *p, struct kr_token name, int index)
{
  struct kr_marker *m = p->m;
  if (p->pos == p->end && clauses[index].kind != CLAUSE_LATER)
    return PARSER_FAIL(p, name, "clause `%s` is empty", clauses[index].name);
  switch (clauses[index].kind) {
  case CLAUSE_LET:
    return clause_bindings(p, false);
  case CLAUSE_FIX:
    return clause_bindings(p, true);
  case CLAUSE_DATA:
    return clause_sections(p, KR_DIR_DATA);
  case CLAUSE_IN:
    return clause_sections(p, KR_DIR_IN);
  case CLAUSE_INOUT:
    return clause_sections(p, KR_DIR_INOUT);
  case CLAUSE_OUT:
    return clause_sections(p, KR_DIR_OUT);
  case CLAUSE_REQUIRE:
    return clause_require(p);
  case CLAUSE_GRID:
    return clause_once(p, name, index) && clause_dims(p, m->grid, &m->n_grid);
  case CLAUSE_BLOCK:
    return clause_once(p, name, index) && clause_dims(p, m->block, &m->n_block);
  case CLAUSE_SHARED:
    return clause_once(p, name, index) && parser_expr(p, &m->shared, false);
  case CLAUSE_MIN_SPEEDUP:
    return clause_once(p, name, index) && parser_expr(p, &m->min_speedup, false);
  case CLAUSE_LAUNCH:
    return clause_launch(p);
  case CLAUSE_COMPARE:
    return clause_compare(p);
  case CLAUSE_ALIGN:
    return clause_align(p);
  case CLAUSE_LATER:
    break;
  }
  return PARSER_FAIL(p, name, "`%s` is not there yet", clauses[index].name);
}

bool marker_clauses(struct marker_scan *s, const struct marker_tokens *t, struct kr_marker *m)
{
  struct parser p = {.s = s, .t = t, .m = m, .text = s->text};
  bool ok = true;
  for (size_t i = 0; i + 1 < t->n;) {
    struct kr_token name = t->toks[i];
    int index = clause_find(s->text + name.offset, name.length);
    size_t close = t->match[i + 1];
    p.pos = i + 2;
    p.end = close;
    p.clause = clauses[index].name;
    bool good = clause_parse(&p, name, index);
    if (good && p.pos != close)
      good = parser_expected(&p, "`,` or `)`");
    ok = ok && good;
    i = close + 1;
  }
  return ok;
}
