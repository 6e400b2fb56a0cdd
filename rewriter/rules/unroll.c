#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// Loads of several turns under way at once. A compiler unrolls what it knows the
// number of turns of, and other loops a little; innermost loops that load from global
// memory and are long, or of a length known only at run time, can do with more.

enum { BODY_MAX_EXPRS = 80 };

static bool has_loop(const struct syntax *s, size_t stmt)
{
  for (size_t i = 0; i < s->n_stmts; i++) {
    enum syntax_stmt_kind k = s->stmts[i].kind;
    if (i != stmt && (k == STMT_FOR || k == STMT_WHILE || k == STMT_DO || k == STMT_OTHER) &&
        syntax_within(s->stmts[i].span, s->stmts[stmt].span))
      return true;
  }
  return false;
}

// A load from global memory whose place hangs on the loop's variable; and how much
// there is in the body.
static bool loads(const struct syntax *s, const struct syntax_loop *l, size_t *size)
{
  struct syntax_span body = s->stmts[s->stmts[l->stmt].body].span;
  bool found = false;
  *size = 0;
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (!syntax_within(e->span, body))
      continue;
    ++*size;
    if (e->kind != EXPR_SUBSCRIPT || !(e->use & SYNTAX_READ) || !syntax_mentions(s, e->span, l->var))
      continue;
    size_t base = syntax_strip(s, e->child);
    size_t root = s->exprs[base].kind == EXPR_NAME && s->exprs[base].name != SYNTAX_NONE
                      ? syntax_root(s, s->exprs[base].name)
                      : SYNTAX_NONE;
    found = found || (root != SYNTAX_NONE && s->names[root].storage == SYNTAX_PARAM);
  }
  return found;
}

static bool after_pragma(const struct syntax *s, size_t stmt)
{
  size_t parent = s->stmts[stmt].parent, before = SYNTAX_NONE;
  if (parent == SYNTAX_NONE)
    return false;
  for (size_t c = s->stmts[parent].child; c != SYNTAX_NONE && c != stmt; c = s->stmts[c].next)
    before = c;
  return before != SYNTAX_NONE && s->stmts[before].kind == STMT_PRAGMA;
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  for (size_t i = 0; s.kernel != SYNTAX_NONE && !shape_kernel(&s)->opaque && i < s.n_stmts; i++) {
    struct syntax_loop loop;
    size_t size;
    if (s.stmts[i].function != s.kernel || s.stmts[i].kind != STMT_FOR || has_loop(&s, i) ||
        !syntax_loop(&s, i, &loop) || !loads(&s, &loop, &size) || size > BODY_MAX_EXPRS ||
        after_pragma(&s, i) || syntax_insertable(&s, i) != i ||
        syntax_may_sync(&s, s.stmts[i].span))
      continue;
    int64_t turns = syntax_loop_count(&s, &loop);
    if (turns >= 0 && turns <= 32)
      continue; // the compiler sees to it
    struct syntax_edits e = {0};
    syntax_line_before(&e, &s, s.stmts[i].span.first, "#pragma unroll 8");
    struct syntax_span head = {s.stmts[i].span.first, s.stmts[s.stmts[i].body].span.first};
    rule_propose(out, in, &unroll_rule, rule_place(&s, head), syntax_apply(&e, &s), 1.01, NULL,
                 "Unrolls the loop over `%s` eight times, so that loads of several turns are under "
                 "way at once.",
                 s.names[loop.var].name);
  }
  syntax_release(&s);
}

const struct kr_rule unroll_rule = {"unroll", "innermost loops that load, eight turns at once",
                                    propose};
