#include "marker_clause.h"

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
  CLAUSE_INSTANTIATE,
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
    {"cluster", CLAUSE_LATER},   {"workload", CLAUSE_LATER}, {"instantiate", CLAUSE_INSTANTIATE}};

enum { N_CLAUSES = sizeof clauses / sizeof *clauses };
_Static_assert((int)N_CLAUSES <= (int)MARKER_MAX_CLAUSES, "a clause has no place in struct parser");

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
    {"template", true, "`template` is written `instantiate(T = float, B = {128, 256})`"},
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
    return marker_let(p, false);
  case CLAUSE_FIX:
    return marker_let(p, true);
  case CLAUSE_DATA:
    return marker_sections(p, KR_DIR_DATA);
  case CLAUSE_IN:
    return marker_sections(p, KR_DIR_IN);
  case CLAUSE_INOUT:
    return marker_sections(p, KR_DIR_INOUT);
  case CLAUSE_OUT:
    return marker_sections(p, KR_DIR_OUT);
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
  case CLAUSE_INSTANTIATE:
    return marker_instantiate(p, name);
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
