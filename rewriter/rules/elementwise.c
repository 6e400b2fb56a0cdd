#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/expr.h"
#include "../../evaluator/base/mem.h"
#include "rule.h"

// Finds the shape in which one thread does one index of a one- or two-dimensional
// range behind a guard, and makes sure that the launch covers that range.

// --- launch expressions, tried on many values ---

enum { TRIES = 64, MAX_NAMES = 32 };

struct trial {
  const struct kr_contract *contract;
  char *names[MAX_NAMES];
  int64_t values[MAX_NAMES];
  size_t n;
  uint64_t state;
};

static int trial_lookup(void *arg, const char *name, struct kr_value *out,
                        struct kr_expr_error *error)
{
  struct trial *t = arg;
  int64_t v;
  (void)error;
  if (syntax_geometry_constant(t->contract, name, &v)) {
    *out = kr_value_int(v);
    return 0;
  }
  for (size_t i = 0; i < t->n; i++) {
    if (!strcmp(t->names[i], name)) {
      *out = kr_value_int(t->values[i]);
      return 0;
    }
  }
  if (t->n == MAX_NAMES)
    return 1;
  // xorshift64: any spread of sizes from one to a million does.
  t->state ^= t->state << 13;
  t->state ^= t->state >> 7;
  t->state ^= t->state << 17;
  t->names[t->n] = kr_xstrdup(name);
  t->values[t->n] = 1 + (int64_t)(t->state >> 11) % ((int64_t)1 << (t->state % 21));
  *out = kr_value_int(t->values[t->n++]);
  return 0;
}

bool rule_launch_covers(const struct kr_contract *c, const char *grid, const char *block,
                        const char *bound)
{
  struct kr_expr_error error;
  const char *texts[3] = {grid ? grid : "1", block ? block : "1", bound};
  struct kr_expr *parts[3] = {NULL};
  struct trial t = {.contract = c, .state = 0x9e3779b97f4a7c15u};
  bool covers = true;
  for (int i = 0; i < 3; i++) {
    parts[i] = kr_expr_parse(texts[i], strlen(texts[i]), &error);
    covers = covers && parts[i];
  }
  for (int i = 0; covers && i < TRIES; i++) {
    struct kr_expr_env env = {.lookup = trial_lookup, .arg = &t};
    struct kr_value v[3];
    int64_t threads;
    for (int k = 0; covers && k < 3; k++)
      covers = !kr_expr_eval(parts[k], &env, &v[k], &error) && !v[k].is_real;
    covers = covers && !__builtin_mul_overflow(v[0].i, v[1].i, &threads) && threads >= v[2].i;
    for (size_t k = 0; k < t.n; k++)
      free(t.names[k]);
    t.n = 0;
  }
  for (int i = 0; i < 3; i++)
    kr_expr_free(parts[i]);
  return covers;
}

bool rule_sections_follow_launch(const struct kr_contract *c)
{
  for (size_t i = 0; i < c->n_sections; i++) {
    const struct kr_section *s = &c->sections[i];
    for (size_t d = 0; d <= s->n_dims; d++) {
      const char *text = d == s->n_dims ? s->start : s->dims[d];
      if (text && (strstr(text, "grid.") || strstr(text, "block.")))
        return true;
    }
  }
  return false;
}

// --- the shape ---

static const char axis_names[] = "xyz";

// How often the built-in index is named in all functions of the code.
static unsigned count_builtin(const struct syntax *s, const char *object, int axis)
{
  unsigned n = 0;
  char member[2] = {axis_names[axis], 0};
  for (size_t t = 0; t + 2 < s->n_toks; t++)
    n += syntax_is(s, t, object) && syntax_is(s, t + 1, ".") && syntax_is(s, t + 2, member);
  return n;
}

// A built-in index that is handed on whole.
static bool bare_builtin(const struct syntax *s)
{
  static const char *const objects[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  for (size_t t = 0; t + 1 < s->n_toks; t++) {
    for (int i = 0; i < 4; i++) {
      if (syntax_is(s, t, objects[i]) && !syntax_is(s, t + 1, "."))
        return true;
    }
  }
  return false;
}

static bool slice_uses_indices(const struct syntax *s)
{
  static const char *const objects[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  for (size_t t = 0; t < s->n_slice_toks; t++) {
    for (int i = 0; i < 4; i++) {
      if (kr_token_is(s->contract->before, s->slice_toks[t], objects[i]))
        return true;
    }
  }
  return false;
}

// The expression that `blockIdx.a` is multiplied by within `expr`, or NONE.
static size_t block_factor(const struct syntax *s, size_t expr, int axis)
{
  for (size_t e = 0; e < s->n_exprs; e++) {
    const struct syntax_expr *x = &s->exprs[e];
    if (x->kind != EXPR_BINARY || !syntax_is(s, x->op, "*") ||
        !syntax_within(x->span, s->exprs[expr].span))
      continue;
    size_t sides[2] = {x->child, s->exprs[x->child].next};
    for (int i = 0; i < 2; i++) {
      size_t inner = syntax_strip(s, sides[i]);
      if (s->exprs[inner].kind == EXPR_CAST)
        inner = syntax_strip(s, s->exprs[inner].child);
      char member[2] = {axis_names[axis], 0};
      if (s->exprs[inner].kind == EXPR_MEMBER &&
          syntax_is(s, s->exprs[inner].span.first, "blockIdx") &&
          syntax_is(s, s->exprs[inner].op + 1, member))
        return sides[1 - i];
    }
  }
  return SYNTAX_NONE;
}

// int i = blockIdx.a * F + threadIdx.a, F the size of the block along a.
static bool index_of_axis(struct syntax *s, const struct kr_rule_input *in, int axis, size_t name,
                          struct elementwise_axis *out)
{
  const struct syntax_name *n = &s->names[name];
  if (n->function != s->kernel || n->storage != SYNTAX_LOCAL || n->init == SYNTAX_NONE ||
      n->n_writes || n->escapes || !n->type.known || n->type.pointers || n->n_dims ||
      kr_kind_is_float(n->type.kind) || kr_kind_size(n->type.kind) < 4)
    return false;
  struct affine a = syntax_affine(s, n->init);
  unsigned thread = syntax_builtin_symbol(s, SYMBOL_THREAD, axis);
  unsigned block = syntax_builtin_symbol(s, SYMBOL_BLOCK, axis);
  unsigned dim = syntax_builtin_symbol(s, SYMBOL_BLOCK_DIM, axis);
  struct affine one = affine_coefficient(&a, thread), by = affine_coefficient(&a, block);
  struct affine rest = affine_without(&a, thread);
  rest = affine_without(&rest, block);
  int64_t v, by_value;
  if (!affine_is_constant(&one, &v) || v != 1 || !affine_is_constant(&rest, &v) || v != 0)
    return false;
  struct affine want = {.known = true, .n_terms = 1};
  want.terms[0] = (struct affine_term){.coefficient = 1, .n_factors = 1, .factors = {dim}};
  out->factor_is_dim = affine_equal(&by, &want);
  if (!out->factor_is_dim &&
      !(affine_is_constant(&by, &by_value) && out->block && by_value == out->block))
    return false;
  out->name = name;
  out->factor = block_factor(s, n->init, axis);
  (void)in;
  return out->factor != SYNTAX_NONE;
}

// `name < bound` among the terms of a conjunction (or, with `out_of_range`, `name
// >= bound` among those of a disjunction). Other terms may only look at values.
static bool read_guard(struct syntax *s, size_t cond, bool out_of_range, struct elementwise *e)
{
  cond = syntax_strip(s, cond);
  struct syntax_expr x = s->exprs[cond];
  if (x.kind == EXPR_BINARY && syntax_is(s, x.op, out_of_range ? "||" : "&&"))
    return read_guard(s, x.child, out_of_range, e) &&
           read_guard(s, s->exprs[x.child].next, out_of_range, e);
  bool reads = false;
  if (!syntax_pure(s, cond, &reads) || reads)
    return false;
  if (x.kind != EXPR_BINARY)
    return true;
  size_t a = syntax_strip(s, x.child), b = syntax_strip(s, s->exprs[x.child].next);
  if (syntax_is(s, x.op, out_of_range ? "<=" : ">")) {
    size_t swap = a;
    a = b;
    b = swap;
  } else if (!syntax_is(s, x.op, out_of_range ? ">=" : "<")) {
    return true;
  }
  if (s->exprs[a].kind != EXPR_NAME)
    return true;
  for (int i = 0; i < 3; i++) {
    struct elementwise_axis *axis = &e->axes[i];
    if (!axis->used || axis->name != s->exprs[a].name || axis->bound.known)
      continue;
    struct affine bound = syntax_affine(s, b);
    if (!affine_grid_uniform(s, &bound) || affine_has(s, &bound, SYMBOL_BLOCK_DIM) ||
        affine_has(s, &bound, SYMBOL_GRID_DIM) || !bound.n_terms)
      return true;
    axis->bound = bound;
    axis->bound_text = affine_print(s, &bound);
  }
  return true;
}

static bool is_return(const struct syntax *s, size_t stmt)
{
  if (stmt == SYNTAX_NONE)
    return false;
  const struct syntax_stmt *st = &s->stmts[stmt];
  if (st->kind == STMT_BLOCK)
    return st->child != SYNTAX_NONE && s->stmts[st->child].next == SYNTAX_NONE &&
           is_return(s, st->child);
  return st->kind == STMT_RETURN && st->expr == SYNTAX_NONE;
}

// The declarations in front of the guard must be free of effects and of loads:
// more threads than before may get there.
static bool plain_decls(const struct syntax *s, size_t stmt)
{
  for (size_t i = 0; i < s->n_names; i++) {
    const struct syntax_name *n = &s->names[i];
    bool reads = false;
    if (n->stmt != stmt)
      continue;
    if (n->storage != SYNTAX_LOCAL ||
        (n->init != SYNTAX_NONE && (!syntax_pure(s, n->init, &reads) || reads)))
      return false;
  }
  return true;
}

static bool find_guard(struct syntax *s, struct elementwise *e)
{
  size_t st = s->stmts[s->functions[s->kernel].body].child;
  for (; st != SYNTAX_NONE; st = s->stmts[st].next) {
    const struct syntax_stmt *x = &s->stmts[st];
    if (x->kind == STMT_ASSERT)
      continue;
    if (x->kind == STMT_DECL) {
      if (!plain_decls(s, st))
        return false;
      continue;
    }
    if (x->kind != STMT_IF || x->orelse != SYNTAX_NONE)
      return false;
    e->guard = st;
    e->returns = is_return(s, x->body);
    if (!e->returns && x->next != SYNTAX_NONE)
      return false;
    return read_guard(s, x->cond, e->returns, e);
  }
  return false;
}

// No shared memory, no barrier, and the built-in indices only where the view saw them.
static bool stands_alone(const struct syntax *s, const struct elementwise *e)
{
  for (int a = 0; a < 3; a++) {
    const struct elementwise_axis *axis = &e->axes[a];
    unsigned want = axis->used, dims = axis->used && axis->factor_is_dim;
    if (count_builtin(s, "threadIdx", a) != want || count_builtin(s, "blockIdx", a) != want ||
        count_builtin(s, "blockDim", a) != dims || count_builtin(s, "gridDim", a))
      return false;
  }
  if (bare_builtin(s) || slice_uses_indices(s) || s->functions[s->kernel].syncs)
    return false;
  for (size_t t = 0; t < s->n_toks; t++) {
    if (syntax_is(s, t, "__shared__") || syntax_is(s, t, "warpSize"))
      return false;
  }
  return true;
}

bool elementwise_view(struct syntax *s, const struct kr_rule_input *in, struct elementwise *out)
{
  *out = (struct elementwise){.guard = SYNTAX_NONE};
  bool any = false;
  if (s->kernel == SYNTAX_NONE || s->functions[s->kernel].opaque)
    return false;
  for (int a = 0; a < 3; a++) {
    struct elementwise_axis *axis = &out->axes[a];
    axis->name = axis->factor = SYNTAX_NONE;
    if (!syntax_block_dim(in->contract, in->geometry, a, &axis->block))
      axis->block = 0;
    for (size_t n = 0; n < s->n_names && !axis->used; n++)
      axis->used = index_of_axis(s, in, a, n, axis);
    any = any || axis->used;
  }
  if (!any || !find_guard(s, out))
    goto no;
  for (int a = 0; a < 3; a++) {
    const struct elementwise_axis *axis = &out->axes[a];
    if (!axis->used) {
      // Nothing may run along an axis that the kernel does not look at.
      int64_t grid;
      if (axis->block != 1 || !syntax_geometry_constant(in->contract, in->geometry->grid[a], &grid) ||
          grid != 1)
        goto no;
      continue;
    }
    if (!axis->bound.known || axis->block < 1)
      goto no;
    if (!rule_launch_covers(in->contract, in->geometry->grid[a], in->geometry->block[a],
                            axis->bound_text))
      goto no;
  }
  out->alone = stands_alone(s, out);
  return true;
no:
  elementwise_release(out);
  return false;
}

void elementwise_release(struct elementwise *e)
{
  for (int a = 0; a < 3; a++)
    free(e->axes[a].bound_text);
  *e = (struct elementwise){.guard = SYNTAX_NONE};
}
