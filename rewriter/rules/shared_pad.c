#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// Rows of an array in shared memory that are a multiple of 32 words long begin on one
// bank: threads that stand below each other wait for each other. One element more a
// row, and they stand on banks of their own.

// All uses are `a[i][j]`, read or written as such; one goes down a column.
static bool goes_down(struct syntax *s, size_t name)
{
  bool down = false;
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind != EXPR_NAME || e->name != name)
      continue;
    size_t row = e->parent, whole = row != SYNTAX_NONE ? s->exprs[row].parent : SYNTAX_NONE;
    if (whole == SYNTAX_NONE || s->exprs[row].kind != EXPR_SUBSCRIPT ||
        s->exprs[whole].kind != EXPR_SUBSCRIPT || syntax_arg(s, row, 0) != i ||
        syntax_arg(s, whole, 0) != row || (s->exprs[whole].use & SYNTAX_ESCAPES))
      return false;
    size_t up = s->exprs[whole].parent;
    if (up != SYNTAX_NONE && s->exprs[up].kind == EXPR_UNARY && syntax_is(s, s->exprs[up].op, "&") &&
        !(s->exprs[whole].use & SYNTAX_ATOMIC))
      return false;
    struct affine a = syntax_affine(s, syntax_arg(s, row, 1));
    struct affine b = syntax_affine(s, syntax_arg(s, whole, 1));
    unsigned tid = syntax_builtin_symbol(s, SYMBOL_THREAD, 0);
    struct affine by_row = affine_coefficient(&a, tid), by_column = affine_coefficient(&b, tid);
    int64_t r, c;
    if (a.known && b.known && affine_is_constant(&by_row, &r) && r &&
        affine_is_constant(&by_column, &c) && !c)
      down = true;
  }
  return down;
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  int64_t wide, high, bx;
  syntax_parse(&s, in->code, in->contract);
  bool ready = s.kernel != SYNTAX_NONE && !shape_kernel(&s)->opaque &&
               syntax_block_dim(in->contract, in->geometry, 0, &bx) && bx >= 8;
  int64_t total = 0;
  for (size_t i = 0; ready && i < s.n_names; i++) {
    const struct syntax_name *n = &s.names[i];
    int64_t size = n->type.known ? (int64_t)kr_kind_size(n->type.kind) : 0;
    for (unsigned d = 0; d < n->n_dims && n->storage == SYNTAX_SHARED; d++) {
      int64_t v;
      size = n->dim_exprs[d] != SYNTAX_NONE && syntax_constant(&s, n->dim_exprs[d], &v) ? size * v : 0;
    }
    total += n->storage == SYNTAX_SHARED ? size : 0;
  }
  for (size_t i = 0; ready && i < s.n_names; i++) {
    const struct syntax_name *n = &s.names[i];
    if (n->storage != SYNTAX_SHARED || n->function != s.kernel || n->n_dims != 2 || n->is_extern ||
        !n->type.known || n->type.pointers || n->dim_exprs[0] == SYNTAX_NONE ||
        n->dim_exprs[1] == SYNTAX_NONE || !syntax_constant(&s, n->dim_exprs[0], &high) ||
        !syntax_constant(&s, n->dim_exprs[1], &wide))
      continue;
    int64_t size = (int64_t)kr_kind_size(n->type.kind);
    // Rows of 16 words meet every other time, which is worth it as well.
    if (size < 4 || wide * size % 64 || total + high * size > in->contract->shared_limit ||
        !goes_down(&s, i))
      continue;
    struct syntax_edits e = {0};
    bool number = s.exprs[n->dim_exprs[1]].kind == EXPR_NUMBER;
    if (number)
      syntax_replace(&e, &s, n->dims[1], "%lld", (long long)wide + 1);
    else
      syntax_after(&e, &s, n->dims[1].end - 1, " + 1");
    rule_propose(out, in, &shared_pad_rule, kr_xstrdup(n->name), syntax_apply(&e, &s),
                 wide * size % 128 ? 1.1 : 1.3, NULL,
                 "Makes the rows of `%s` in shared memory one element longer, so that threads that "
                 "go down a column stand on banks of their own.",
                 n->name);
  }
  syntax_release(&s);
}

const struct kr_rule shared_pad_rule = {
    "shared-pad", "longer rows in shared memory where threads go down a column", propose};
