#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// sum += A[.. row .. k ..] * B[.. k .. col ..] over all k, one sum a thread: every
// element is fetched by each thread that needs it. A block that first brings a tile
// of both into shared memory fetches it once; and a thread that keeps several sums
// takes what it has loaded from there several times over.
//
// Which of the two runs along the block's x or y, whether either is transposed, what
// types they have and what happens to the sum afterwards is the kernel's own affair:
// its subscripts are kept, with the coordinates of the tile's elements put in. Past
// the end a tile holds zeros, which add nothing.

enum side { SIDE_X, SIDE_Y, N_SIDES };

struct product {
  struct syntax *s;
  const struct kr_rule_input *in;
  struct shape sh;
  struct shape_coord at[N_SIDES];
  bool guarded[N_SIDES];
  size_t bound[N_SIDES];   // expressions
  char *limit[N_SIDES];    // as geometry
  size_t first_guard;      // items before it hold for every thread
  size_t k, k_bound;       // the loop's variable; expression
  size_t sum, sum_item;    // name; item that declares it
  // It begins with more than a number, which is added at the end, behind the guards.
  bool begins;
  size_t statement;        // sum += ...
  size_t operand[N_SIDES]; // the subscript that goes by x, and by y
  size_t load[N_SIDES];    // what stands for it in the statement: itself, or a local
  bool along_k[N_SIDES];   // neighbours in memory are neighbours in k
  char *type[N_SIDES];
};

static bool by_name(const struct syntax *s, size_t expr, size_t name)
{
  expr = syntax_strip(s, expr);
  return s->exprs[expr].kind == EXPR_NAME && s->exprs[expr].name == name;
}

static size_t strip_casts(const struct syntax *s, size_t expr)
{
  expr = syntax_strip(s, expr);
  while (s->exprs[expr].kind == EXPR_CAST && s->exprs[expr].type.known &&
         !s->exprs[expr].type.pointers && kr_kind_is_float(s->exprs[expr].type.kind))
    expr = syntax_strip(s, s->exprs[expr].child);
  return expr;
}

// A factor: a subscript, or a local of the loop's body that holds one.
static bool read_factor(struct product *p, size_t expr)
{
  struct syntax *s = p->s;
  size_t load = strip_casts(s, expr), subscript = load, root;
  if (s->exprs[load].kind == EXPR_NAME && s->exprs[load].name != SYNTAX_NONE) {
    const struct syntax_name *n = &s->names[s->exprs[load].name];
    if (n->n_writes || n->escapes || n->init == SYNTAX_NONE)
      return false;
    subscript = syntax_strip(s, n->init);
  }
  if (s->exprs[subscript].kind != EXPR_SUBSCRIPT)
    return false;
  struct affine a = syntax_index(s, subscript, &root);
  unsigned k = syntax_name_symbol(s, p->k);
  if (!a.known || root == SYNTAX_NONE || k == (unsigned)-1)
    return false;
  const struct syntax_name *r = &s->names[root];
  size_t base = syntax_strip(s, syntax_arg(s, subscript, 0));
  if (r->storage != SYNTAX_PARAM || !r->type.known || !by_name(s, base, root))
    return false;
  struct affine by[N_SIDES], by_k = affine_coefficient(&a, k);
  by[SIDE_X] = affine_coefficient(&a, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
  by[SIDE_Y] = affine_coefficient(&a, syntax_builtin_symbol(s, SYMBOL_THREAD, 1));
  int64_t x, y, v;
  if (!by[SIDE_X].known || !by[SIDE_Y].known || !by_k.known)
    return false;
  bool has_x = !(affine_is_constant(&by[SIDE_X], &x) && x == 0);
  bool has_y = !(affine_is_constant(&by[SIDE_Y], &y) && y == 0);
  if (has_x == has_y || (affine_is_constant(&by_k, &v) && v == 0))
    return false;
  enum side side = has_x ? SIDE_X : SIDE_Y;
  // Nothing but its own coordinate and k may be in it that differs between threads.
  struct syntax_span index = s->exprs[syntax_arg(s, subscript, 1)].span;
  size_t i = 0, e;
  while ((e = shape_next_expr(s, index, EXPR_NAME, &i)) != SYNTAX_NONE) {
    size_t name = s->exprs[e].name;
    if (name == SYNTAX_NONE || name == p->k || name == p->at[side].name ||
        s->names[name].storage == SYNTAX_PARAM)
      continue;
    return false;
  }
  if (shape_names(s, index, "threadIdx", NULL) || shape_names(s, index, "blockIdx", "x") ||
      shape_names(s, index, "blockIdx", "y") || p->operand[side] != SYNTAX_NONE)
    return false;
  p->operand[side] = subscript;
  p->load[side] = load;
  p->along_k[side] = affine_is_constant(&by_k, &v) && v == 1;
  p->type[side] = shape_scalar(s, root);
  return p->type[side] != NULL;
}

// `sum += a * b`, `sum = sum + a * b`, `sum = fmaf(a, b, sum)`.
static bool read_statement(struct product *p, size_t stmt)
{
  struct syntax *s = p->s;
  if (s->stmts[stmt].kind != STMT_EXPR)
    return false;
  size_t expr = s->stmts[stmt].expr;
  const struct syntax_expr *e = &s->exprs[expr];
  if (e->kind != EXPR_ASSIGN)
    return false;
  size_t left = syntax_strip(s, syntax_arg(s, expr, 0));
  size_t right = syntax_strip(s, syntax_arg(s, expr, 1)), a, b;
  if (s->exprs[left].kind != EXPR_NAME || s->exprs[left].name == SYNTAX_NONE)
    return false;
  p->sum = s->exprs[left].name;
  p->statement = stmt;
  if (syntax_is(s, e->op, "=") && s->exprs[right].kind == EXPR_CALL &&
      (syntax_calls(s, right, "fmaf") || syntax_calls(s, right, "fma")) &&
      s->exprs[right].n_children == 4 && by_name(s, syntax_arg(s, right, 3), p->sum)) {
    a = syntax_arg(s, right, 1);
    b = syntax_arg(s, right, 2);
    return read_factor(p, a) && read_factor(p, b);
  }
  if (syntax_is(s, e->op, "=") && s->exprs[right].kind == EXPR_BINARY &&
      syntax_is(s, s->exprs[right].op, "+") && by_name(s, syntax_arg(s, right, 0), p->sum))
    right = syntax_strip(s, syntax_arg(s, right, 1));
  else if (!syntax_is(s, e->op, "+="))
    return false;
  if (s->exprs[right].kind != EXPR_BINARY || !syntax_is(s, s->exprs[right].op, "*"))
    return false;
  a = syntax_arg(s, right, 0);
  b = syntax_arg(s, right, 1);
  return read_factor(p, a) && read_factor(p, b);
}

// The body of the loop: declarations of the factors, and the statement.
static bool read_body(struct product *p, size_t body)
{
  struct syntax *s = p->s;
  size_t at = s->stmts[body].kind == STMT_BLOCK ? s->stmts[body].child : body;
  while (at != SYNTAX_NONE && (s->stmts[at].kind == STMT_DECL || s->stmts[at].kind == STMT_PRAGMA))
    at = s->stmts[at].next;
  if (at == SYNTAX_NONE || s->stmts[at].next != SYNTAX_NONE || !read_statement(p, at))
    return false;
  // What is declared in the body is a factor and nothing else.
  for (size_t i = 0; i < s->n_names; i++) {
    const struct syntax_name *n = &s->names[i];
    if (n->stmt == SYNTAX_NONE || !syntax_within(s->stmts[n->stmt].span, s->stmts[body].span))
      continue;
    bool factor = false;
    for (int side = 0; side < N_SIDES; side++)
      factor = factor || by_name(s, p->load[side], i);
    if (!factor)
      return false;
  }
  return true;
}

static bool read_guards(struct product *p)
{
  struct syntax *s = p->s;
  struct shape_term terms[SHAPE_MAX_TERMS];
  size_t n = shape_terms(s, &p->sh, terms);
  for (size_t i = 0; i < n; i++) {
    bool known = false;
    for (int side = 0; side < N_SIDES && !known; side++) {
      if (!shape_bounds(s, &terms[i], p->at[side].name, &p->bound[side]))
        continue;
      if (p->guarded[side])
        return false;
      known = p->guarded[side] = true;
      p->limit[side] = shape_uniform(s, p->bound[side]);
      if (!p->limit[side])
        return false;
    }
    if (!known)
      return false;
  }
  p->first_guard = p->sh.n_items;
  for (size_t i = p->sh.n_items; i-- > 0;) {
    if (p->sh.items[i].guard)
      p->first_guard = i;
  }
  return true;
}

static bool read_kernel(struct product *p)
{
  struct syntax *s = p->s;
  int64_t z, v;
  struct syntax_loop loop;
  p->operand[SIDE_X] = p->operand[SIDE_Y] = SYNTAX_NONE;
  if (s->kernel == SYNTAX_NONE || syntax_may_sync(s, shape_kernel(s)->span) || shape_has_shared(s) ||
      !syntax_disjoint(p->in->contract) || !shape_read(s, &p->sh) ||
      !syntax_block_dim(p->in->contract, p->in->geometry, 2, &z) || z != 1 ||
      !shape_coord_along(s, p->in, &p->sh, 0, &p->at[SIDE_X]) ||
      !shape_coord_along(s, p->in, &p->sh, 1, &p->at[SIDE_Y]) || !read_guards(p) ||
      !syntax_loop(s, p->sh.work[0], &loop) || loop.down || strcmp(loop.relation, "<") ||
      !syntax_constant(s, loop.init, &v) || v != 0)
    return false;
  bool by_one = !strcmp(loop.step_op, "++") ||
                (!strcmp(loop.step_op, "+=") && loop.step != SYNTAX_NONE &&
                 syntax_constant(s, loop.step, &v) && v == 1);
  char *uniform = shape_uniform(s, loop.bound);
  p->k = loop.var;
  p->k_bound = loop.bound;
  // The loop's variable must have a symbol before it can be looked for.
  bool ok = by_one && uniform && read_body(p, s->stmts[loop.stmt].body) &&
            p->operand[SIDE_X] != SYNTAX_NONE && p->operand[SIDE_Y] != SYNTAX_NONE;
  free(uniform);
  if (!ok)
    return false;
  // The sum begins in a declaration of its own.
  p->sum_item = SYNTAX_NONE;
  for (size_t i = 0; i < p->sh.n_items; i++) {
    if (!p->sh.items[i].guard && p->sh.items[i].stmt == s->names[p->sum].stmt)
      p->sum_item = i;
  }
  const struct syntax_name *sum = &s->names[p->sum];
  if (p->sum_item == SYNTAX_NONE || sum->init == SYNTAX_NONE || sum->escapes || !sum->type.known ||
      sum->type.pointers || sum->n_dims)
    return false;
  p->begins = s->exprs[syntax_strip(s, sum->init)].kind != EXPR_NUMBER;
  // What is multiplied is written by nobody meanwhile.
  for (int side = 0; side < N_SIDES; side++) {
    size_t root;
    syntax_index(s, p->operand[side], &root);
    const struct kr_section *sec = syntax_section(p->in->contract, s->names[root].name);
    if (!sec || sec->role != KR_IN)
      return false;
  }
  // Behind the loop the coordinates tell threads apart, and nothing else.
  struct substs none = {0};
  for (int side = 0; side < N_SIDES; side++)
    substs_add(&none, s->exprs[s->names[p->at[side].name].init].span, "0");
  char *text = substs_text(&none, s, s->stmts[shape_kernel(s)->body].span);
  static const char *const words[] = {"threadIdx", "blockIdx.x", "blockIdx.y", "blockDim",
                                      "gridDim", NULL};
  for (size_t i = 0; words[i]; i++)
    ok = ok && !strstr(text, words[i]);
  free(text);
  substs_release(&none);
  return ok;
}

// --- writing it ---

struct plan {
  int64_t tile[N_SIDES]; // elements of a tile along x and y
  int64_t each[N_SIDES]; // sums of a thread
  int64_t deep;          // along k
  int64_t threads[N_SIDES];
  char *name[N_SIDES];   // of the tiles
};

static const char *axis_of(int side)
{
  return side == SIDE_X ? "x" : "y";
}

// "row < M && k < K ? A[row * K + k] : 0", with what k is called here.
static char *load_text(const struct product *p, int side, const char *k)
{
  struct syntax *s = p->s;
  struct substs l = {0};
  struct syntax_span span = s->exprs[p->operand[side]].span;
  substs_name(&l, s, span, p->k, k);
  char *load = substs_text(&l, s, span);
  char *k_bound = shape_bound_text(s, p->k_bound);
  char *out;
  if (p->guarded[side]) {
    char *bound = shape_bound_text(s, p->bound[side]);
    out = kr_xasprintf("%s < %s && %s < %s ? %s : 0", s->names[p->at[side].name].name, bound, k,
                       k_bound, load);
    free(bound);
  } else {
    out = kr_xasprintf("%s < %s ? %s : 0", k, k_bound, load);
  }
  substs_release(&l);
  free(load);
  free(k_bound);
  return out;
}

// The statement with other words for the sum and its factors.
static void put_statement(struct emit *e, const struct product *p, const char *sum, const char *x,
                          const char *y)
{
  struct syntax *s = p->s;
  struct substs l = {0};
  struct syntax_span span = s->stmts[p->statement].span;
  if (sum)
    substs_name(&l, s, span, p->sum, sum);
  substs_add(&l, s->exprs[p->load[SIDE_X]].span, "%s", x);
  substs_add(&l, s->exprs[p->load[SIDE_Y]].span, "%s", y);
  emit_stmt(e, p->statement, &l);
  substs_release(&l);
}

// What comes behind the loop, under what guards are left to open; `products` is to
// be added to the sum first, where that is still to be done.
static void put_rest(struct emit *e, struct product *p, size_t from, const struct substs *l,
                     const char *products)
{
  struct syntax *s = p->s;
  struct shape rest = p->sh;
  rest.n_items = 0;
  bool *wanted = kr_xcalloc(s->n_names + 1, sizeof *wanted);
  for (size_t i = from; i < p->sh.n_items; i++) {
    if (i != p->sum_item || p->begins)
      rest.items[rest.n_items++] = p->sh.items[i];
  }
  if (p->begins)
    wanted[p->sum] = true;
  for (size_t i = 1; i < p->sh.n_work; i++)
    wanted_mark(s, wanted, s->stmts[p->sh.work[i]].span, l);
  wanted_close(s, &rest, l, wanted);
  unsigned opened = emit_items(e, &rest, l, wanted);
  if (products)
    emit_line(e, "%s += %s;", s->names[p->sum].name, products);
  for (size_t i = 1; i < p->sh.n_work; i++)
    emit_stmt(e, p->sh.work[i], l);
  while (opened--)
    emit_close(e);
  free(wanted);
}

// One sum a thread, the block that there is.
static char *write_plain(struct product *p, const struct plan *plan)
{
  struct syntax *s = p->s;
  struct emit e;
  long long t = plan->tile[0];
  char *k0 = syntax_fresh(s, "k0");
  const char *k = s->names[p->k].name;
  char *k_bound = shape_bound_text(s, p->k_bound), *k_type = shape_scalar(s, p->k);
  emit_begin(&e, s);
  for (int side = SIDE_Y; side >= 0; side--)
    emit_line(&e, "__shared__ %s %s[%lld][%lld];", p->type[side], plan->name[side], t, t + 1);
  for (size_t i = 0; i < p->first_guard; i++) {
    if (i != p->sum_item || p->begins)
      emit_stmt(&e, p->sh.items[i].stmt, NULL);
  }
  // Coordinates that are declared behind a guard are needed before it here.
  for (size_t i = p->first_guard; i < p->sh.n_items; i++) {
    for (int side = 0; side < N_SIDES; side++) {
      if (p->sh.items[i].stmt == s->names[p->at[side].name].stmt && !p->sh.items[i].guard) {
        emit_stmt(&e, p->sh.items[i].stmt, NULL);
        break;
      }
    }
  }
  char *sum = p->begins ? syntax_fresh(s, "products") : NULL, *sum_type = shape_scalar(s, p->sum);
  if (sum)
    emit_line(&e, "%s %s = 0;", sum_type, sum);
  else
    emit_stmt(&e, p->sh.items[p->sum_item].stmt, NULL);
  emit_open(&e, "for (%s %s = 0; %s < %s; %s += %lld) ", k_type, k0, k0, k_bound, k0, t);
  for (int side = SIDE_Y; side >= 0; side--) {
    // x runs along what lies together in memory.
    bool changed = (side == SIDE_Y) != p->along_k[side];
    const char *of_k = (side == SIDE_Y) == changed ? "y" : "x";
    const char *of_side = of_k[0] == 'x' ? "y" : "x";
    emit_open(&e, "%s", "");
    emit_line(&e, "const %s %s = %s + threadIdx.%s;", k_type, k, k0, of_k);
    if (of_side[0] != axis_of(side)[0]) {
      char *type = shape_scalar(s, p->at[side].name);
      emit_line(&e, "const %s %s = blockIdx.%s * %lld + threadIdx.%s;", type,
                s->names[p->at[side].name].name, axis_of(side), t, of_side);
      free(type);
    }
    char *load = load_text(p, side, k);
    emit_line(&e, "%s[threadIdx.%s][threadIdx.%s] = %s;", plan->name[side],
              side == SIDE_Y ? of_side : of_k, side == SIDE_Y ? of_k : of_side, load);
    free(load);
    emit_close(&e);
  }
  emit_line(&e, "__syncthreads();");
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", k, k, t, k);
  char *x = kr_xasprintf("%s[%s][threadIdx.x]", plan->name[SIDE_X], k);
  char *y = kr_xasprintf("%s[threadIdx.y][%s]", plan->name[SIDE_Y], k);
  e.level++;
  put_statement(&e, p, sum, x, y);
  e.level--;
  emit_line(&e, "__syncthreads();");
  emit_close(&e);
  put_rest(&e, p, p->first_guard, NULL, sum);
  free(sum);
  free(sum_type);
  free(x);
  free(y);
  free(k0);
  free(k_bound);
  free(k_type);
  return emit_end(&e);
}

// Several sums a thread, in registers.
static char *write_blocked(struct product *p, const struct plan *plan)
{
  struct syntax *s = p->s;
  struct emit e;
  const char *k = s->names[p->k].name;
  char *k0 = syntax_fresh(s, "k0"), *sums = syntax_fresh(s, "sums"), *at = syntax_fresh(s, "at");
  char *i = syntax_fresh(s, "i"), *j = syntax_fresh(s, "j"), *t = syntax_fresh(s, "t");
  char *part[N_SIDES] = {syntax_fresh(s, "x_part"), syntax_fresh(s, "y_part")};
  char *k_bound = shape_bound_text(s, p->k_bound), *k_type = shape_scalar(s, p->k);
  char *sum_type = shape_scalar(s, p->sum);
  char *init = p->begins ? kr_xstrdup("0")
                         : substs_text(NULL, s, s->exprs[s->names[p->sum].init].span);
  long long threads = plan->threads[0] * plan->threads[1], deep = plan->deep;
  long long nx = plan->each[SIDE_X], ny = plan->each[SIDE_Y];
  emit_begin(&e, s);
  for (int side = SIDE_Y; side >= 0; side--)
    emit_line(&e, "__shared__ __align__(16) %s %s[%lld][%lld];", p->type[side], plan->name[side],
              deep, (long long)plan->tile[side] + 4);
  emit_line(&e, "const int %s = threadIdx.y * %lld + threadIdx.x;", t, (long long)plan->threads[0]);
  emit_line(&e, "%s %s[%lld][%lld];", sum_type, sums, ny, nx);
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", i, i, ny, i);
  e.level++;
  emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", j, j, nx, j);
  e.level++;
  emit_line(&e, "%s[%s][%s] = %s;", sums, i, j, init);
  e.level -= 2;
  emit_open(&e, "for (%s %s = 0; %s < %s; %s += %lld) ", k_type, k0, k0, k_bound, k0, deep);
  for (int side = SIDE_Y; side >= 0; side--) {
    long long wide = plan->tile[side];
    const char *coord = s->names[p->at[side].name].name;
    char *type = shape_scalar(s, p->at[side].name), *load = load_text(p, side, k);
    kr_bytes_adds(&e.out, "#pragma unroll\n");
    emit_open(&e, "for (int %s = %s; %s < %lld; %s += %lld) ", at, t, at, wide * deep, at, threads);
    if (p->along_k[side]) {
      emit_line(&e, "const %s %s = blockIdx.%s * %lld + %s / %lld;", type, coord, axis_of(side),
                wide, at, deep);
      emit_line(&e, "const %s %s = %s + %s %% %lld;", k_type, k, k0, at, deep);
      emit_line(&e, "%s[%s %% %lld][%s / %lld] = %s;", plan->name[side], at, deep, at, deep, load);
    } else {
      emit_line(&e, "const %s %s = blockIdx.%s * %lld + %s %% %lld;", type, coord, axis_of(side),
                wide, at, wide);
      emit_line(&e, "const %s %s = %s + %s / %lld;", k_type, k, k0, at, wide);
      emit_line(&e, "%s[%s / %lld][%s %% %lld] = %s;", plan->name[side], at, wide, at, wide, load);
    }
    emit_close(&e);
    free(type);
    free(load);
  }
  emit_line(&e, "__syncthreads();");
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  emit_open(&e, "for (int %s = 0; %s < %lld; %s++) ", k, k, deep, k);
  for (int side = SIDE_Y; side >= 0; side--) {
    emit_line(&e, "%s %s[%lld];", p->type[side], part[side], (long long)plan->each[side]);
    kr_bytes_adds(&e.out, "#pragma unroll\n");
    emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", i, i, (long long)plan->each[side], i);
    e.level++;
    emit_line(&e, "%s[%s] = %s[%s][threadIdx.%s * %lld + %s];", part[side], i, plan->name[side], k,
              axis_of(side), (long long)plan->each[side], i);
    e.level--;
  }
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", i, i, ny, i);
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  e.level++;
  emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", j, j, nx, j);
  e.level++;
  char *sum = kr_xasprintf("%s[%s][%s]", sums, i, j);
  char *x = kr_xasprintf("%s[%s]", part[SIDE_X], j), *y = kr_xasprintf("%s[%s]", part[SIDE_Y], i);
  put_statement(&e, p, sum, x, y);
  e.level -= 2;
  emit_close(&e);
  emit_line(&e, "__syncthreads();");
  emit_close(&e);
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  emit_line(&e, "for (int %s = 0; %s < %lld; %s++)", i, i, ny, i);
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  e.level++;
  emit_open(&e, "for (int %s = 0; %s < %lld; %s++) ", j, j, nx, j);
  struct substs l = {0};
  substs_add(&l, s->exprs[s->names[p->at[SIDE_X].name].init].span,
             "blockIdx.x * %lld + threadIdx.x * %lld + %s", (long long)plan->tile[SIDE_X], nx, j);
  substs_add(&l, s->exprs[s->names[p->at[SIDE_Y].name].init].span,
             "blockIdx.y * %lld + threadIdx.y * %lld + %s", (long long)plan->tile[SIDE_Y], ny, i);
  if (!p->begins)
    emit_line(&e, "%s %s = %s;", sum_type, s->names[p->sum].name, sum);
  put_rest(&e, p, 0, &l, p->begins ? sum : NULL);
  emit_close(&e);
  e.level--;
  substs_release(&l);
  free(sum);
  free(x);
  free(y);
  free(part[0]);
  free(part[1]);
  free(k0);
  free(sums);
  free(at);
  free(i);
  free(j);
  free(t);
  free(k_bound);
  free(k_type);
  free(sum_type);
  free(init);
  return emit_end(&e);
}

// --- the rule ---

static void propose_blocked(struct product *p, struct plan *plan, const char *place, double gain,
                            struct kr_proposals *out)
{
  struct kr_geometry g = *p->in->geometry;
  long long wide = plan->tile[SIDE_X], high = plan->tile[SIDE_Y];
  g.grid[0] = kr_xasprintf("ceil_div(%s, %lld)", p->limit[SIDE_X], wide);
  g.grid[1] = kr_xasprintf("ceil_div(%s, %lld)", p->limit[SIDE_Y], high);
  g.block[0] = (char *)"16";
  g.block[1] = (char *)"16";
  rule_propose(out, p->in, &matmul_tile_rule, kr_xasprintf("%s %lldx%lld", place, high, wide),
               write_blocked(p, plan), gain, &g,
               "Multiplies through tiles of both matrices in shared memory, %lldx%lld of the "
               "result a block and %lldx%lld sums a thread in registers.",
               high, wide, (long long)plan->each[SIDE_Y], (long long)plan->each[SIDE_X]);
  free(g.grid[0]);
  free(g.grid[1]);
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  struct product p = {.s = &s, .in = in};
  if (read_kernel(&p)) {
    char *place = syntax_squeeze(&s, s.stmts[p.statement].span);
    struct plan plan = {.name = {syntax_fresh(&s, "x_tile"), syntax_fresh(&s, "y_tile")}};
    int64_t side = p.at[SIDE_X].block;
    if (in->contract->tunable && p.limit[SIDE_X] && p.limit[SIDE_Y] &&
        shape_covers(in, 0, side, p.limit[SIDE_X]) &&
        shape_covers(in, 1, p.at[SIDE_Y].block, p.limit[SIDE_Y])) {
      plan.threads[SIDE_X] = plan.threads[SIDE_Y] = 16;
      plan.deep = 16;
      plan.tile[SIDE_X] = plan.tile[SIDE_Y] = 64;
      plan.each[SIDE_X] = plan.each[SIDE_Y] = 4;
      propose_blocked(&p, &plan, place, 5, out);
      plan.tile[SIDE_Y] = 128;
      plan.each[SIDE_Y] = 8;
      propose_blocked(&p, &plan, place, 4.5, out);
    }
    if (side == p.at[SIDE_Y].block && (side == 16 || side == 32)) {
      plan.tile[SIDE_X] = plan.tile[SIDE_Y] = side;
      rule_propose(out, in, &matmul_tile_rule, kr_xstrdup(place), write_plain(&p, &plan), 2, NULL,
                   "Multiplies through %lldx%lld tiles of both matrices in shared memory, so that "
                   "a block fetches each element once.",
                   (long long)side, (long long)side);
    }
    free(plan.name[0]);
    free(plan.name[1]);
    free(place);
  }
  for (int side = 0; side < N_SIDES; side++) {
    free(p.limit[side]);
    free(p.type[side]);
  }
  syntax_release(&s);
}

const struct kr_rule matmul_tile_rule = {
    "matmul-tile", "tiles in shared memory for sums of products of two matrices", propose};
