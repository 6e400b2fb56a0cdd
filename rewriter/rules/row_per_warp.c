#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// One thread that walks along a row: its neighbours walk along rows of their own, so
// that what a warp asks for at a time lies a row apart, it waits for its longest row,
// and a few thousand rows are too few threads for a GPU. Lanes that walk along one row
// together ask for neighbouring elements. Sums and maxima of a lane are joined by
// shuffles behind each loop; all lanes then know them, and do what is between the
// loops alike; what is stored once a row one lane stores.
//
// For launches that may change: a row gets as many threads as it has lanes. Where the
// launch is fixed, row_lanes.c makes the most of the threads that there are.

enum { ACCS_MAX = 6, LOOPS_MAX = 8, STORES_MAX = 8 };

struct acc {
  size_t name;
  const char *join; // "+", or NULL for `function`
  char *function;   // fmaxf, min, ...
  char *type;
};

struct row_loop {
  size_t stmt, var;
  struct acc accs[ACCS_MAX];
  size_t n_accs;
};

struct rows {
  struct syntax *s;
  const struct kr_rule_input *in;
  struct shape sh;
  struct shape_coord at;
  char *limit;
  struct row_loop loops[LOOPS_MAX];
  size_t n_loops;
  // Arrays that are stored to: in loops at one place a turn, or once a row.
  struct {
    size_t root;
    bool in_loop;
    struct affine rest; // of the index, without the loop's variable
    char *init;         // of that loop
  } stores[STORES_MAX];
  size_t n_stores;
  bool by_row; // something lies along a row
};

static struct syntax_span span_of(const struct syntax *s, size_t stmt)
{
  return s->stmts[stmt].span;
}

static bool declared_within(const struct syntax *s, size_t name, struct syntax_span span)
{
  size_t stmt = s->names[name].stmt;
  return stmt != SYNTAX_NONE && syntax_within(s->stmts[stmt].span, span);
}

static bool type_fits(const struct syntax *s, size_t name)
{
  const struct syntax_type *t = &s->names[name].type;
  if (!t->known || t->pointers || s->names[name].n_dims || s->names[name].escapes ||
      s->names[name].storage != SYNTAX_LOCAL)
    return false;
  switch (t->kind) {
  case KR_F32: case KR_F64: case KR_I32: case KR_U32: case KR_I64: case KR_U64:
    return true;
  default:
    return false;
  }
}

static bool is_name(const struct syntax *s, size_t expr, size_t name)
{
  expr = syntax_strip(s, expr);
  return expr != SYNTAX_NONE && s->exprs[expr].kind == EXPR_NAME && s->exprs[expr].name == name;
}

static const char *const functions[] = {"fmaxf", "fminf", "fmax", "fmin", "max", "min", NULL};

// An update of something that lives on behind the loop: how it is joined, and how
// often it names it.
static bool read_update(const struct syntax *s, size_t expr, size_t name, struct acc *out,
                        size_t *names)
{
  const struct syntax_expr *e = &s->exprs[expr];
  *out = (struct acc){.name = name};
  if (e->kind == EXPR_POSTFIX || e->kind == EXPR_UNARY) {
    out->join = "+";
    *names = 1;
    return syntax_is(s, e->op, "++");
  }
  size_t right = syntax_strip(s, syntax_arg(s, expr, 1));
  if (syntax_is(s, e->op, "+=")) {
    out->join = "+";
    *names = 1;
    return true;
  }
  if (!syntax_is(s, e->op, "="))
    return false;
  *names = 2;
  if (s->exprs[right].kind == EXPR_BINARY && syntax_is(s, s->exprs[right].op, "+") &&
      (is_name(s, syntax_arg(s, right, 0), name) || is_name(s, syntax_arg(s, right, 1), name))) {
    out->join = "+";
    return true;
  }
  if (s->exprs[right].kind != EXPR_CALL || s->exprs[right].n_children != 3)
    return false;
  // fmaf(a, b, sum) has four children and is looked for below.
  if (!is_name(s, syntax_arg(s, right, 1), name) && !is_name(s, syntax_arg(s, right, 2), name))
    return false;
  for (size_t i = 0; functions[i]; i++) {
    if (syntax_calls(s, right, functions[i])) {
      out->function = syntax_text(s, s->exprs[syntax_arg(s, right, 0)].span);
      return true;
    }
  }
  return false;
}

static bool read_fma(const struct syntax *s, size_t expr, size_t name)
{
  size_t right = syntax_strip(s, syntax_arg(s, expr, 1));
  return s->exprs[expr].kind == EXPR_ASSIGN && syntax_is(s, s->exprs[expr].op, "=") &&
         s->exprs[right].kind == EXPR_CALL && s->exprs[right].n_children == 4 &&
         (syntax_calls(s, right, "fmaf") || syntax_calls(s, right, "fma")) &&
         is_name(s, syntax_arg(s, right, 3), name);
}

static bool add_acc(struct rows *r, struct row_loop *l, struct acc *a)
{
  for (size_t i = 0; i < l->n_accs; i++) {
    struct acc *b = &l->accs[i];
    if (b->name != a->name)
      continue;
    bool same = a->function ? b->function && !strcmp(a->function, b->function) : !b->function;
    free(a->function);
    return same;
  }
  a->type = shape_scalar(r->s, a->name);
  if (l->n_accs == ACCS_MAX || !a->type) {
    free(a->function);
    free(a->type);
    return false;
  }
  l->accs[l->n_accs++] = *a;
  return true;
}

// A store within a loop is to an element that no other turn touches.
static bool add_store(struct rows *r, const struct row_loop *l, size_t subscript)
{
  struct syntax *s = r->s;
  size_t root;
  struct affine a = syntax_index(s, subscript, &root);
  if (!a.known || root == SYNTAX_NONE || s->names[root].storage != SYNTAX_PARAM ||
      r->n_stores == STORES_MAX)
    return false;
  struct affine rest = a;
  char *init = NULL;
  if (l) {
    unsigned var = syntax_name_symbol(s, l->var);
    int64_t v;
    struct affine by = affine_coefficient(&a, var);
    if (var == (unsigned)-1 || !by.known || !affine_is_constant(&by, &v) || v != 1)
      return false;
    rest = affine_without(&a, var);
    struct syntax_loop loop;
    syntax_loop(s, l->stmt, &loop);
    init = syntax_squeeze(s, s->exprs[loop.init].span);
  }
  for (size_t i = 0; i < r->n_stores; i++) {
    if (r->stores[i].root != root)
      continue;
    bool same = r->stores[i].in_loop == (l != NULL) && affine_equal(&r->stores[i].rest, &rest) &&
                (!l || !strcmp(r->stores[i].init, init));
    free(init);
    return same;
  }
  r->stores[r->n_stores].root = root;
  r->stores[r->n_stores].in_loop = l != NULL;
  r->stores[r->n_stores].rest = rest;
  r->stores[r->n_stores++].init = init;
  return true;
}

// A target of an assignment or count.
static size_t target_of(const struct syntax *s, size_t i)
{
  const struct syntax_expr *e = &s->exprs[i];
  bool counts = e->kind == EXPR_POSTFIX ||
                (e->kind == EXPR_UNARY && (syntax_is(s, e->op, "++") || syntax_is(s, e->op, "--")));
  return e->kind == EXPR_ASSIGN || counts ? syntax_strip(s, e->child) : SYNTAX_NONE;
}

// Everything that a loop writes is its own, joined, or an element a turn.
static bool read_loop(struct rows *r, size_t stmt)
{
  struct syntax *s = r->s;
  struct syntax_loop loop;
  int64_t v;
  if (r->n_loops == LOOPS_MAX || !syntax_loop(s, stmt, &loop) || loop.down ||
      (strcmp(loop.relation, "<") && strcmp(loop.relation, "<=")) || !shape_pure(s, loop.init) ||
      !shape_pure(s, loop.bound))
    return false;
  if (strcmp(loop.step_op, "++") && (strcmp(loop.step_op, "+=") || loop.step == SYNTAX_NONE ||
                                     !syntax_constant(s, loop.step, &v) || v != 1))
    return false;
  struct row_loop *l = &r->loops[r->n_loops++];
  *l = (struct row_loop){.stmt = stmt, .var = loop.var};
  if (s->names[loop.var].stmt == SYNTAX_NONE || !declared_within(s, loop.var, span_of(s, stmt)))
    return false;
  struct syntax_span body = span_of(s, s->stmts[stmt].body);
  size_t named[ACCS_MAX] = {0};
  for (size_t i = 0; i < s->n_stmts; i++) {
    bool leaves = s->stmts[i].kind == STMT_BREAK || s->stmts[i].kind == STMT_OTHER;
    if (leaves && syntax_within(s->stmts[i].span, body))
      return false;
  }
  for (size_t i = 0; i < s->n_exprs; i++) {
    if (!syntax_within(s->exprs[i].span, body))
      continue;
    size_t target = target_of(s, i);
    if (target == SYNTAX_NONE)
      continue;
    const struct syntax_expr *t = &s->exprs[target];
    if (t->kind == EXPR_SUBSCRIPT) {
      if (!add_store(r, l, target))
        return false;
      continue;
    }
    if (t->kind != EXPR_NAME || t->name == SYNTAX_NONE)
      return false;
    if (declared_within(s, t->name, body))
      continue;
    struct acc a;
    size_t names = 2;
    if (read_fma(s, i, t->name))
      a = (struct acc){.name = t->name, .join = "+"};
    else if (!read_update(s, i, t->name, &a, &names))
      return false;
    if (!type_fits(s, t->name) || !add_acc(r, l, &a))
      return false;
    for (size_t k = 0; k < l->n_accs; k++) {
      if (l->accs[k].name == t->name)
        named[k] += names;
    }
  }
  // What is joined is asked for nowhere else in the loop.
  for (size_t k = 0; k < l->n_accs; k++) {
    size_t uses = 0;
    for (size_t i = 0; i < s->n_exprs; i++)
      uses += s->exprs[i].kind == EXPR_NAME && s->exprs[i].name == l->accs[k].name &&
              syntax_within(s->exprs[i].span, span_of(s, stmt));
    if (uses != named[k])
      return false;
  }
  return true;
}

// A statement between the loops: every lane does it, or one where it stores.
static bool read_between(struct rows *r, size_t stmt, bool *stores)
{
  struct syntax *s = r->s;
  struct syntax_span span = span_of(s, stmt);
  bool locals = false;
  *stores = false;
  for (size_t i = 0; i < s->n_stmts; i++) {
    enum syntax_stmt_kind k = s->stmts[i].kind;
    bool plain = k == STMT_BLOCK || k == STMT_DECL || k == STMT_EXPR || k == STMT_IF ||
                 k == STMT_EMPTY || k == STMT_PRAGMA;
    if (syntax_within(s->stmts[i].span, span) && !plain)
      return false;
  }
  for (size_t i = 0; i < s->n_exprs; i++) {
    size_t target = syntax_within(s->exprs[i].span, span) ? target_of(s, i) : SYNTAX_NONE;
    if (target == SYNTAX_NONE)
      continue;
    if (s->exprs[target].kind == EXPR_SUBSCRIPT) {
      *stores = true;
      if (!add_store(r, NULL, target))
        return false;
    } else if (s->exprs[target].kind == EXPR_NAME && s->exprs[target].name != SYNTAX_NONE) {
      locals = locals || !declared_within(s, s->exprs[target].name, span);
    } else {
      return false;
    }
  }
  return !(*stores && locals) && !(*stores && s->stmts[stmt].kind == STMT_DECL);
}

static const struct row_loop *loop_around(const struct rows *r, size_t expr)
{
  for (size_t i = 0; i < r->n_loops; i++) {
    if (syntax_within(r->s->exprs[expr].span, span_of(r->s, r->loops[i].stmt)))
      return &r->loops[i];
  }
  return NULL;
}

// What is loaded: along a row, and nothing that another lane stores.
static bool read_accesses(struct rows *r)
{
  struct syntax *s = r->s;
  struct syntax_span body = span_of(s, shape_kernel(s)->body);
  size_t i = 0, e, root;
  int64_t v;
  while ((e = shape_next_expr(s, body, EXPR_SUBSCRIPT, &i)) != SYNTAX_NONE) {
    struct affine a = syntax_index(s, e, &root);
    const struct row_loop *l = loop_around(r, e);
    if (root == SYNTAX_NONE || (s->exprs[e].use & (SYNTAX_ATOMIC | SYNTAX_ESCAPES)) ||
        s->names[root].storage != SYNTAX_PARAM)
      return false;
    struct affine by_row = affine_coefficient(&a, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
    unsigned var = l ? syntax_name_symbol(s, l->var) : (unsigned)-1;
    bool row = a.known && by_row.known && affine_is_constant(&by_row, &v) && v == 1;
    if (l && a.known && var != (unsigned)-1) {
      struct affine k = affine_coefficient(&a, var);
      bool number = k.known && affine_is_constant(&k, &v);
      // In order for neighbouring rows already: nothing is wrong with it.
      if (row && !(number && v == 0))
        return false;
      r->by_row = r->by_row || (number && v == 1);
    }
    for (size_t k = 0; k < r->n_stores; k++) {
      if (r->stores[k].root != root)
        continue;
      if (!a.known || !r->stores[k].in_loop != !l)
        return false;
      if (!l && (s->exprs[e].use & SYNTAX_READ))
        return false; // one lane adds to it, all would read it
      if (!l)
        continue;
      struct affine by = affine_coefficient(&a, var), rest = affine_without(&a, var);
      struct syntax_loop loop;
      syntax_loop(s, l->stmt, &loop);
      char *init = syntax_squeeze(s, s->exprs[loop.init].span);
      bool same = by.known && affine_is_constant(&by, &v) && v == 1 &&
                  affine_equal(&rest, &r->stores[k].rest) && !strcmp(init, r->stores[k].init);
      free(init);
      if (!same)
        return false;
    }
  }
  for (size_t k = 0; k < s->n_exprs; k++) {
    const struct syntax_expr *x = &s->exprs[k];
    if (x->function != s->kernel)
      continue;
    if (x->kind == EXPR_UNKNOWN ||
        (x->kind == EXPR_UNARY && (syntax_is(s, x->op, "*") || syntax_is(s, x->op, "&"))) ||
        (x->kind == EXPR_MEMBER && syntax_is(s, x->op, "->")) ||
        (x->kind == EXPR_CALL && !shape_pure(s, k)))
      return false;
  }
  return r->by_row;
}

static bool read_kernel(struct rows *r)
{
  struct syntax *s = r->s;
  struct shape_term terms[SHAPE_MAX_TERMS];
  if (s->kernel == SYNTAX_NONE || syntax_may_sync(s, shape_kernel(s)->span) || shape_has_shared(s) ||
      !syntax_disjoint(r->in->contract) || !shape_read(s, &r->sh) || !shape_flat(r->in, 1) ||
      !shape_flat(r->in, 2) || !shape_coord_along(s, r->in, &r->sh, 0, &r->at))
    return false;
  size_t n = shape_terms(s, &r->sh, terms), bound;
  bool bounded = false;
  for (size_t i = 0; i < n; i++)
    bounded = bounded || shape_bounds(s, &terms[i], r->at.name, &bound);
  if (!bounded || !(r->limit = shape_uniform(s, bound)) ||
      !shape_covers(r->in, 0, r->at.block, r->limit))
    return false;
  struct substs none = {0};
  substs_add(&none, s->exprs[s->names[r->at.name].init].span, "0");
  char *text = substs_text(&none, s, span_of(s, shape_kernel(s)->body));
  static const char *const words[] = {"threadIdx", "blockIdx", "gridDim", "blockDim", NULL};
  bool ok = true;
  for (size_t i = 0; words[i]; i++)
    ok = ok && !strstr(text, words[i]);
  free(text);
  substs_release(&none);
  for (size_t i = 0; i < r->sh.n_work && ok; i++) {
    bool stores;
    if (s->stmts[r->sh.work[i]].kind == STMT_FOR)
      ok = read_loop(r, r->sh.work[i]);
    else
      ok = read_between(r, r->sh.work[i], &stores);
  }
  return ok && r->n_loops && r->n_stores && read_accesses(r);
}

// --- writing it ---

static void put_loop(struct emit *e, struct rows *r, const struct row_loop *l, const char *lane,
                     const char *mask, int64_t lanes)
{
  struct syntax *s = r->s;
  struct syntax_loop loop;
  struct substs subst = {0};
  char *offset = syntax_fresh(s, "offset");
  const char *var = s->names[l->var].name;
  int64_t zero;
  syntax_loop(s, l->stmt, &loop);
  char *init = substs_text(NULL, s, s->exprs[loop.init].span);
  if (syntax_constant(s, loop.init, &zero) && zero == 0)
    substs_add(&subst, s->exprs[loop.init].span, "%s", lane);
  else
    substs_add(&subst, s->exprs[loop.init].span, "%s + %s", init, lane);
  substs_add(&subst, s->exprs[s->stmts[l->stmt].step].span, "%s += %lld", var, (long long)lanes);
  for (size_t i = 0; i < l->n_accs; i++) {
    const struct acc *a = &l->accs[i];
    if (a->function)
      continue;
    char *base = kr_xasprintf("%s_part", s->names[a->name].name), *part = syntax_fresh(s, base);
    emit_line(e, "%s %s = 0;", a->type, part);
    substs_name(&subst, s, span_of(s, l->stmt), a->name, part);
    free(base);
    free(part);
  }
  emit_stmt(e, l->stmt, &subst);
  for (size_t i = 0; i < l->n_accs; i++) {
    const struct acc *a = &l->accs[i];
    const char *name = s->names[a->name].name;
    char *base = kr_xasprintf("%s_part", name), *part = syntax_fresh(s, base);
    emit_line(e, "for (int %s = %lld; %s > 0; %s >>= 1)", offset, (long long)lanes / 2, offset,
              offset);
    e->level++;
    if (a->function)
      emit_line(e, "%s = %s(%s, __shfl_xor_sync(%s, %s, %s));", name, a->function, name, mask, name,
                offset);
    else
      emit_line(e, "%s += __shfl_xor_sync(%s, %s, %s);", part, mask, part, offset);
    e->level--;
    if (!a->function)
      emit_line(e, "%s += %s;", name, part);
    free(base);
    free(part);
  }
  free(init);
  free(offset);
  substs_release(&subst);
}

static char *write_rows(struct rows *r, int64_t lanes)
{
  struct syntax *s = r->s;
  struct emit e;
  struct substs l = {0};
  char *lane = syntax_fresh(s, "lane"), *group = syntax_fresh(s, "group"), *mask;
  struct syntax_span init = s->exprs[s->names[r->at.name].init].span;
  long long n = lanes;
  emit_begin(&e, s);
  emit_line(&e, "const int %s = threadIdx.x %% %lld;", lane, n);
  if (lanes < 32) {
    emit_line(&e, "const unsigned int %s = 0x%xu << (threadIdx.x %% 32 / %lld * %lld);", group,
              (1u << lanes) - 1, n, n);
    mask = kr_xstrdup(group);
  } else {
    mask = kr_xstrdup("0xffffffffu");
  }
  substs_add(&l, init, "blockIdx.x * (blockDim.x / %lld) + threadIdx.x / %lld", n, n);
  unsigned opened = emit_items(&e, &r->sh, &l, NULL);
  for (size_t i = 0, k = 0; i < r->sh.n_work; i++) {
    bool stores = false;
    size_t stmt = r->sh.work[i];
    if (s->stmts[stmt].kind == STMT_FOR) {
      put_loop(&e, r, &r->loops[k++], lane, mask, lanes);
      continue;
    }
    for (size_t x = 0; x < s->n_exprs; x++) {
      size_t target = syntax_within(s->exprs[x].span, span_of(s, stmt)) ? target_of(s, x)
                                                                        : SYNTAX_NONE;
      stores = stores || (target != SYNTAX_NONE && s->exprs[target].kind == EXPR_SUBSCRIPT);
    }
    if (stores) {
      emit_line(&e, "if (%s == 0)", lane);
      e.level++;
    }
    emit_stmt(&e, stmt, NULL);
    if (stores)
      e.level--;
  }
  while (opened--)
    emit_close(&e);
  free(lane);
  free(group);
  free(mask);
  substs_release(&l);
  return emit_end(&e);
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  struct rows r = {.s = &s, .in = in};
  if (in->contract->tunable && read_kernel(&r)) {
    const char *row = s.names[r.at.name].name;
    static const int64_t widths[] = {32, 8};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
      int64_t lanes = widths[i], block = r.at.block % 32 ? 256 : r.at.block;
      struct kr_geometry g = *in->geometry;
      g.grid[0] = kr_xasprintf("ceil_div(%s, %lld)", r.limit, (long long)(block / lanes));
      g.block[0] = kr_xasprintf("%lld", (long long)block);
      rule_propose(out, in, &row_per_warp_rule, kr_xasprintf("%s by %lld", row, (long long)lanes),
                   write_rows(&r, lanes), 2.0 - 0.1 * (double)i, &g,
                   "Lets %lld lanes walk along a row together, with as many more threads, and "
                   "joins what they found by shuffles.",
                   (long long)lanes);
      free(g.grid[0]);
      free(g.block[0]);
    }
  }
  for (size_t i = 0; i < r.n_loops; i++) {
    for (size_t k = 0; k < r.loops[i].n_accs; k++) {
      free(r.loops[i].accs[k].type);
      free(r.loops[i].accs[k].function);
    }
  }
  for (size_t i = 0; i < r.n_stores; i++)
    free(r.stores[i].init);
  free(r.limit);
  syntax_release(&s);
}

const struct kr_rule row_per_warp_rule = {
    "row-per-warp", "a warp, or lanes of it, for a row that one thread walked", propose};
