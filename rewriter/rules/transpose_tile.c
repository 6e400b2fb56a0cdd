#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// `dst[c * rows + r] = src[r * cols + c]` with c from threadIdx.x: neighbouring
// threads read neighbouring elements and write elements far apart, a sector of
// memory for each. Through a tile in shared memory both sides are in order: the
// block stores its tile there, and behind a barrier each thread takes the element
// whose place follows its neighbour's.
//
// The kernel's own text is kept and run twice, once for what is in order as it is
// and once with the coordinates changed over, so that casts, guards and offsets
// stay what they were. This needs all that differs between threads to hang on the
// two coordinates alone.

enum access { ACCESS_PLAIN, ACCESS_STRIDED, ACCESS_UNKNOWN };

struct transposed {
  struct syntax *s;
  const struct kr_rule_input *in;
  struct shape sh;
  size_t x, y;          // names of the coordinates
  int64_t width, height; // of what a block covers
  int64_t rows;         // threads along y; height / rows turns
  bool by_block;        // y is blockIdx.y itself, one row of threads a block
  size_t turn;          // the variable of the kernel's own loop over these turns, or NONE
  size_t store, rhs;    // the last statement's assignment: target and value
  const char *op;       // "=" or "+=", ...
  size_t strided;       // the access that a tile mends; the store or a load
  bool is_store;
  char *type;           // of the tile's elements
};

// blockIdx.<axis> * size + threadIdx.<axis> (+ turn), and what `size` is.
static bool coordinate(struct transposed *t, size_t name, int axis, int64_t size)
{
  struct syntax *s = t->s;
  const struct syntax_name *n = &s->names[name];
  struct shape_coord c;
  if (axis == 1 && t->by_block) {
    if (n->storage != SYNTAX_LOCAL || n->n_writes || n->escapes || n->init == SYNTAX_NONE ||
        !n->type.known || n->type.pointers || n->n_dims || kr_kind_is_float(n->type.kind))
      return false;
    struct affine b = syntax_affine(s, n->init);
    unsigned by = syntax_builtin_symbol(s, SYMBOL_BLOCK, 1);
    struct affine times = affine_coefficient(&b, by), left = affine_without(&b, by);
    int64_t one, zero;
    return b.known && times.known && left.known && affine_is_constant(&times, &one) && one == 1 &&
           affine_is_constant(&left, &zero) && zero == 0;
  }
  if (t->turn == SYNTAX_NONE || axis == 0)
    return shape_coord(s, t->in, name, &c) && c.axis == axis && c.block == size;
  if (n->storage != SYNTAX_LOCAL || n->n_writes || n->escapes || n->init == SYNTAX_NONE ||
      !n->type.known || n->type.pointers || n->n_dims)
    return false;
  struct affine a = syntax_affine(s, n->init);
  unsigned var = syntax_name_symbol(s, t->turn);
  int64_t v;
  if (!a.known || var == (unsigned)-1)
    return false;
  struct affine k = affine_coefficient(&a, var);
  if (!affine_is_constant(&k, &v) || v != 1)
    return false;
  a = affine_without(&a, var);
  unsigned tid = syntax_builtin_symbol(s, SYMBOL_THREAD, axis);
  unsigned bid = syntax_builtin_symbol(s, SYMBOL_BLOCK, axis);
  struct affine thread = affine_coefficient(&a, tid), block = affine_coefficient(&a, bid);
  a = affine_without(&a, tid);
  a = affine_without(&a, bid);
  return affine_is_constant(&thread, &v) && v == 1 && affine_is_constant(&block, &v) &&
         v == size && affine_is_constant(&a, &v) && v == 0;
}

static bool find_coordinates(struct transposed *t)
{
  struct syntax *s = t->s;
  t->x = t->y = SYNTAX_NONE;
  for (size_t i = 0; i < s->n_names; i++) {
    bool item = false;
    for (size_t k = 0; k < t->sh.n_items; k++)
      item = item || (!t->sh.items[k].guard && t->sh.items[k].stmt == s->names[i].stmt);
    if (!item)
      continue;
    if (coordinate(t, i, 0, t->width)) {
      if (t->x != SYNTAX_NONE)
        return false;
      t->x = i;
    } else if (coordinate(t, i, 1, t->height)) {
      if (t->y != SYNTAX_NONE)
        return false;
      t->y = i;
    }
  }
  return t->x != SYNTAX_NONE && t->y != SYNTAX_NONE;
}

// How an access lies for neighbouring threads.
static enum access access_of(struct transposed *t, size_t subscript, size_t *root)
{
  struct syntax *s = t->s;
  struct affine a = syntax_index(s, subscript, root);
  int64_t by_x, by_y;
  if (!a.known || *root == SYNTAX_NONE)
    return ACCESS_UNKNOWN;
  struct affine x = affine_coefficient(&a, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
  struct affine y = affine_coefficient(
      &a, syntax_builtin_symbol(s, t->by_block ? SYMBOL_BLOCK : SYMBOL_THREAD, 1));
  if (!x.known || !y.known)
    return ACCESS_UNKNOWN;
  if (affine_is_constant(&x, &by_x) && by_x >= -1 && by_x <= 1)
    return ACCESS_PLAIN;
  return affine_is_constant(&y, &by_y) && by_y == 1 ? ACCESS_STRIDED : ACCESS_UNKNOWN;
}

// Writes nothing but locals and calls nothing with effects.
static bool local_only(const struct syntax *s, struct syntax_span span)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (!syntax_within(e->span, span))
      continue;
    if ((e->kind == EXPR_SUBSCRIPT || e->kind == EXPR_UNARY || e->kind == EXPR_MEMBER) &&
        (e->use & (SYNTAX_WRITTEN | SYNTAX_ATOMIC | SYNTAX_ESCAPES)))
      return false;
    if (e->kind == EXPR_CALL && !shape_pure(s, i))
      return false;
    if (e->kind == EXPR_UNKNOWN)
      return false;
  }
  return true;
}

// The last statement is the only one that stores.
static bool find_store(struct transposed *t)
{
  struct syntax *s = t->s;
  const struct syntax_stmt *last = &s->stmts[t->sh.work[t->sh.n_work - 1]];
  static const char *const ops[] = {"=", "+=", "-=", "*=", NULL};
  if (last->kind != STMT_EXPR)
    return false;
  const struct syntax_expr *e = &s->exprs[last->expr];
  if (e->kind != EXPR_ASSIGN)
    return false;
  for (size_t i = 0; ops[i]; i++) {
    if (syntax_is(s, e->op, ops[i]))
      t->op = ops[i];
  }
  t->store = syntax_arg(s, last->expr, 0);
  t->rhs = syntax_arg(s, last->expr, 1);
  if (!t->op || s->exprs[t->store].kind != EXPR_SUBSCRIPT || !shape_pure(s, t->rhs) ||
      !shape_pure(s, syntax_arg(s, t->store, 1)))
    return false;
  for (size_t i = 0; i + 1 < t->sh.n_work; i++) {
    if (!local_only(s, s->stmts[t->sh.work[i]].span))
      return false;
  }
  return true;
}

// Is the load in a declaration, or in a statement of the work that is always run?
static bool runs_always(const struct transposed *t, size_t expr)
{
  size_t stmt = t->s->exprs[expr].stmt;
  if (!shape_always(t->s, expr))
    return false;
  for (size_t i = 0; i < t->sh.n_items; i++) {
    if (t->sh.items[i].stmt == stmt)
      return !t->sh.items[i].guard;
  }
  for (size_t i = 0; i < t->sh.n_work; i++) {
    if (t->sh.work[i] == stmt)
      return t->s->stmts[stmt].kind == STMT_EXPR;
  }
  return false;
}

// Exactly one access is out of order.
static bool find_strided(struct transposed *t)
{
  struct syntax *s = t->s;
  struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
  size_t store_root, root, ordered = 0;
  enum access stored = access_of(t, t->store, &store_root);
  if (stored == ACCESS_UNKNOWN || s->names[store_root].storage != SYNTAX_PARAM)
    return false;
  t->strided = stored == ACCESS_STRIDED ? t->store : SYNTAX_NONE;
  t->is_store = stored == ACCESS_STRIDED;
  size_t i = 0, e;
  while ((e = shape_next_expr(s, body, EXPR_SUBSCRIPT, &i)) != SYNTAX_NONE) {
    if (e == t->store)
      continue;
    enum access a = access_of(t, e, &root);
    if (a == ACCESS_UNKNOWN || s->names[root].storage != SYNTAX_PARAM)
      return false;
    if (root == store_root)
      return false; // what is read there may have been written by then
    if (a == ACCESS_PLAIN) {
      ordered++;
      continue;
    }
    if (t->is_store)
      return false;
    if (t->strided != SYNTAX_NONE && !syntax_same(s, s->exprs[t->strided].span, s->exprs[e].span))
      return false;
    if (!runs_always(t, e))
      return false;
    if (t->strided == SYNTAX_NONE)
      t->strided = e;
  }
  if (t->strided == SYNTAX_NONE || (t->is_store && !ordered))
    return false;
  // Loads through `*` are not looked at, and a load moved over a store needs them apart.
  for (i = 0; i < s->n_exprs; i++) {
    if (s->exprs[i].kind == EXPR_UNARY && syntax_is(s, s->exprs[i].op, "*") &&
        s->exprs[i].function == s->kernel)
      return false;
  }
  syntax_index(s, t->strided, &root);
  if (!t->is_store || !strcmp(t->op, "="))
    t->type = shape_scalar(s, root);
  else if (syntax_type_of(s, t->rhs).known && s->names[root].type.known &&
           syntax_type_of(s, t->rhs).kind == s->names[root].type.kind)
    t->type = shape_scalar(s, root);
  return t->type && s->names[root].type.known;
}

// --- writing it ---

struct plan {
  int64_t width, height, rows; // tile, and threads along y
  bool linear;   // the threads of a block are numbered through: no square tile
  bool moved;    // another geometry than the kernel's: its numbers do not hold
  char *tile, *turn;
  const char *limit; // of y, where the kernel has no guard for it; NULL
};

static void put_coordinates(const struct transposed *t, const struct plan *p, bool changed,
                            struct substs *l)
{
  const struct syntax *s = t->s;
  struct syntax_span x = s->exprs[s->names[t->x].init].span;
  struct syntax_span y = s->exprs[s->names[t->y].init].span;
  bool loop = p->height > p->rows && !p->linear;
  const char *plus = loop ? " + " : "", *turn = loop ? p->turn : "";
  long long w = p->width, h = p->height;
  if (changed && p->linear) {
    substs_add(l, x, "blockIdx.x * %lld + %s / %lld", w, p->turn, h);
    substs_add(l, y, "blockIdx.y * %lld + %s %% %lld", h, p->turn, h);
    return;
  }
  if (p->moved || loop) {
    substs_add(l, x, changed ? "blockIdx.x * %lld + threadIdx.y%s%s"
                             : "blockIdx.x * %lld + threadIdx.x",
               w, plus, turn);
    substs_add(l, y, changed ? "blockIdx.y * %lld + threadIdx.x"
                             : "blockIdx.y * %lld + threadIdx.y%s%s",
               h, plus, turn);
    return;
  }
  if (!changed)
    return;
  // The same words with the thread's indices changed over, where they say it plainly.
  if (shape_names(s, x, "threadIdx", "x") && shape_names(s, y, "threadIdx", "y")) {
    substs_member(l, s, x, "threadIdx", "x", "threadIdx.y");
    substs_member(l, s, y, "threadIdx", "y", "threadIdx.x");
  } else {
    substs_add(l, x, "blockIdx.x * %lld + threadIdx.y", w);
    substs_add(l, y, "blockIdx.y * %lld + threadIdx.x", h);
  }
}

static char *place_in_tile(const struct plan *p, bool changed)
{
  bool loop = p->height > p->rows && !p->linear;
  if (changed && p->linear)
    return kr_xasprintf("%s[%s %% %lld][%s / %lld]", p->tile, p->turn, (long long)p->height,
                        p->turn, (long long)p->height);
  const char *plus = loop ? " + " : "", *turn = loop ? p->turn : "";
  return changed ? kr_xasprintf("%s[threadIdx.x][threadIdx.y%s%s]", p->tile, plus, turn)
                 : kr_xasprintf("%s[threadIdx.y%s%s][threadIdx.x]", p->tile, plus, turn);
}

// Text in which nothing but the coordinates tells threads apart, and nothing
// hangs on a geometry that is no longer there.
static bool clean(const struct plan *p, const char *text)
{
  static const char *const gone[] = {"blockDim", "gridDim", "blockIdx.x", "blockIdx.y", NULL};
  if (strstr(text, "threadIdx"))
    return false;
  for (size_t i = 0; p->moved && gone[i]; i++) {
    if (strstr(text, gone[i]))
      return false;
  }
  return true;
}

// Is every mention of a thread's index within the coordinates' own values?
static bool threads_by_coordinates(const struct transposed *t, const struct plan *p,
                                   const bool *wanted, struct syntax_span work)
{
  const struct syntax *s = t->s;
  struct substs none = {0};
  struct syntax_span x = s->exprs[s->names[t->x].init].span;
  struct syntax_span y = s->exprs[s->names[t->y].init].span;
  substs_add(&none, x, "0");
  substs_add(&none, y, "0");
  bool ok = true;
  for (size_t i = 0; i <= t->sh.n_items && ok; i++) {
    char *text;
    if (i == t->sh.n_items)
      text = substs_text(&none, s, work);
    else if (t->sh.items[i].guard)
      text = substs_text(&none, s, s->exprs[t->sh.items[i].cond].span);
    else
      text = shape_item_text(s, &t->sh.items[i], &none, wanted);
    if (!text)
      continue;
    ok = clean(p, text);
    free(text);
  }
  // The kernel's own loop goes, so nothing may hang on its variable.
  if (t->turn != SYNTAX_NONE && ok) {
    bool *named = kr_xcalloc(s->n_names + 1, sizeof *named);
    wanted_mark(s, named, work, &none);
    for (size_t i = 0; i < s->n_names; i++) {
      if (wanted[i])
        wanted_mark(s, named, s->names[i].declarator, &none);
    }
    for (size_t i = 0; i < t->sh.n_items; i++) {
      if (t->sh.items[i].guard)
        wanted_mark(s, named, s->exprs[t->sh.items[i].cond].span, &none);
    }
    ok = !named[t->turn];
    free(named);
  }
  substs_release(&none);
  return ok;
}

static void open_stage(struct emit *e, const struct plan *p, bool changed)
{
  if (p->height > p->rows && !p->linear) {
    emit_open(e, "for (int %s = 0; %s < %lld; %s += %lld) ", p->turn, p->turn, (long long)p->height,
              p->turn, (long long)p->rows);
  } else {
    emit_open(e, "%s", "");
    if (changed && p->linear)
      emit_line(e, "int %s = threadIdx.y * %lld + threadIdx.x;", p->turn, (long long)p->width);
  }
}

// One of the two runs: `changed` coordinates or the kernel's own. `before` of the
// work's statements and then `line`.
static bool put_stage(struct emit *e, struct transposed *t, const struct plan *p, bool changed,
                      struct substs *l, size_t before, struct syntax_span last, const char *line)
{
  struct syntax *s = t->s;
  bool *wanted = kr_xcalloc(s->n_names + 1, sizeof *wanted);
  put_coordinates(t, p, changed, l);
  for (size_t i = 0; i < before; i++)
    wanted_mark(s, wanted, s->stmts[t->sh.work[i]].span, l);
  wanted_mark(s, wanted, last, l);
  wanted_close(s, &t->sh, l, wanted);
  bool ok = threads_by_coordinates(t, p, wanted, last);
  for (size_t i = 0; i < before && ok; i++)
    ok = threads_by_coordinates(t, p, wanted, s->stmts[t->sh.work[i]].span);
  open_stage(e, p, changed);
  unsigned opened = emit_items(e, &t->sh, l, wanted);
  if (p->limit) {
    // The grid was as long as that; now its last blocks go past it.
    emit_open(e, "if (%s < %s) ", s->names[t->y].name, p->limit);
    opened++;
  }
  for (size_t i = 0; i < before; i++)
    emit_stmt(e, t->sh.work[i], l);
  emit_line(e, "%s", line);
  while (opened--)
    emit_close(e);
  emit_close(e);
  free(wanted);
  return ok;
}

// Names that the second run takes anew must not have been changed by the first.
static bool unchanged(const struct transposed *t, struct syntax_span target)
{
  const struct syntax *s = t->s;
  bool *wanted = kr_xcalloc(s->n_names + 1, sizeof *wanted), ok = true;
  wanted_mark(s, wanted, target, NULL);
  for (size_t i = 0; i < s->n_names && ok; i++) {
    if (!wanted[i] || s->names[i].storage == SYNTAX_PARAM)
      continue;
    ok = s->names[i].n_writes == 0 && !s->names[i].escapes;
    bool item = false;
    for (size_t k = 0; k < t->sh.n_items; k++)
      item = item || t->sh.items[k].stmt == s->names[i].stmt;
    ok = ok && item;
  }
  free(wanted);
  return ok;
}

static char *write_tiled(struct transposed *t, const struct plan *p)
{
  struct syntax *s = t->s;
  struct emit e;
  struct substs first = {0}, second = {0};
  size_t last = t->sh.n_work - 1;
  bool ok;
  emit_begin(&e, s);
  int64_t pad = p->linear && p->height < 32 ? 32 / p->height : 1;
  emit_line(&e, "__shared__ %s %s[%lld][%lld];", t->type, p->tile, (long long)p->height,
            (long long)(p->width + pad));
  char *own = place_in_tile(p, false), *other = place_in_tile(p, true);
  if (t->is_store) {
    char *value = substs_text(NULL, s, s->exprs[t->rhs].span);
    char *target = substs_text(NULL, s, s->exprs[t->store].span);
    char *put = kr_xasprintf("%s = %s;", own, value);
    char *take = kr_xasprintf("%s %s %s;", target, t->op, other);
    ok = put_stage(&e, t, p, false, &first, last, s->exprs[t->rhs].span, put);
    emit_line(&e, "__syncthreads();");
    ok = ok && unchanged(t, s->exprs[t->store].span);
    ok = put_stage(&e, t, p, true, &second, 0, s->exprs[t->store].span, take) && ok;
    free(value);
    free(target);
    free(put);
    free(take);
  } else {
    char *load = substs_text(NULL, s, s->exprs[t->strided].span);
    char *put = kr_xasprintf("%s = %s;", other, load);
    ok = unchanged(t, s->exprs[t->strided].span);
    ok = put_stage(&e, t, p, true, &first, 0, s->exprs[t->strided].span, put) && ok;
    emit_line(&e, "__syncthreads();");
    struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
    size_t i = 0, x;
    while ((x = shape_next_expr(s, body, EXPR_SUBSCRIPT, &i)) != SYNTAX_NONE) {
      if (syntax_same(s, s->exprs[x].span, s->exprs[t->strided].span))
        substs_add(&second, s->exprs[x].span, "%s", own);
    }
    struct syntax_span span = s->stmts[t->sh.work[last]].span;
    char *line = substs_text(&second, s, span);
    ok = put_stage(&e, t, p, false, &second, last, span, line) && ok;
    free(line);
    free(put);
    free(load);
  }
  free(own);
  free(other);
  substs_release(&first);
  substs_release(&second);
  char *code = emit_end(&e);
  if (!ok) {
    free(code);
    return NULL;
  }
  return code;
}

// --- the rule ---

static bool read_kernel(struct transposed *t)
{
  struct syntax *s = t->s;
  int64_t bx, by, bz;
  const struct kr_rule_input *in = t->in;
  if (s->kernel == SYNTAX_NONE || syntax_may_sync(s, shape_kernel(s)->span) || shape_has_shared(s) ||
      !syntax_disjoint(in->contract) || !shape_read(s, &t->sh) ||
      !syntax_block_dim(in->contract, in->geometry, 0, &bx) ||
      !syntax_block_dim(in->contract, in->geometry, 1, &by) ||
      !syntax_block_dim(in->contract, in->geometry, 2, &bz) || bz != 1)
    return false;
  t->width = bx;
  t->height = t->rows = by;
  t->by_block = by == 1;
  t->turn = SYNTAX_NONE;
  struct syntax_loop loop;
  if (!t->by_block && t->sh.n_work == 1 && syntax_loop(s, t->sh.work[0], &loop)) {
    int64_t init, bound, step;
    if (!syntax_constant(s, loop.init, &init) || init || !syntax_constant(s, loop.bound, &bound) ||
        strcmp(loop.relation, "<") || loop.down || strcmp(loop.step_op, "+=") ||
        loop.step == SYNTAX_NONE || !syntax_constant(s, loop.step, &step) || step != by ||
        bound % by || bound != bx)
      return false;
    t->turn = loop.var;
    t->height = bound;
    size_t body = s->stmts[loop.stmt].body;
    if (s->stmts[body].kind == STMT_BLOCK)
      body = s->stmts[body].child;
    if (body == SYNTAX_NONE || !shape_read_on(s, body, &t->sh))
      return false;
  }
  return find_coordinates(t) && find_store(t) && find_strided(t);
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  struct transposed t = {.s = &s, .in = in};
  if (!read_kernel(&t))
    goto out;
  char *place = syntax_squeeze(&s, s.exprs[t.strided].span);
  const char *side = t.is_store ? "Stores" : "Loads";
  struct plan p = {.tile = syntax_fresh(&s, "tile")};

  // With the block that there is.
  p.width = t.width;
  p.height = t.height;
  p.rows = t.rows;
  p.linear = t.width != t.height;
  // The kernel's own loop goes, and its variable's name is free.
  p.turn = t.turn != SYNTAX_NONE ? kr_xstrdup(s.names[t.turn].name)
                                 : syntax_fresh(&s, p.linear ? "t" : "k");
  bool fits = t.width >= 8 && t.height >= 4 && t.width <= 64 && t.height <= 64 &&
              (!p.linear || 32 % t.height == 0 || t.height % 32 == 0);
  char *code = fits ? write_tiled(&t, &p) : NULL;
  if (code)
    rule_propose(out, in, &transpose_tile_rule, kr_xstrdup(place), code,
                 t.width >= 32 && t.height >= 32 ? 2.2 : 1.8, NULL,
                 "%s through a padded %lldx%lld tile in shared memory, so that neighbouring "
                 "threads of both passes touch neighbouring elements.",
                 side, (long long)p.height, (long long)p.width);
  free(p.turn);

  // With a block of 32 by 8 threads, four turns each, where the launch may change.
  struct shape_term terms[SHAPE_MAX_TERMS];
  size_t n = shape_terms(&s, &t.sh, terms), bx = SYNTAX_NONE, by = SYNTAX_NONE;
  for (size_t i = 0; i < n; i++) {
    shape_bounds(&s, &terms[i], t.x, &bx);
    shape_bounds(&s, &terms[i], t.y, &by);
  }
  // A grid that is as high as a parameter says.
  const char *grid = in->geometry->grid[1];
  const char *limit = by == SYNTAX_NONE && t.by_block && grid && syntax_param(&s, grid) != SYNTAX_NONE
                          ? grid
                          : NULL;
  if (in->contract->tunable && bx != SYNTAX_NONE && (by != SYNTAX_NONE || limit) &&
      !(t.width == 32 && t.height == 32 && t.rows == 8)) {
    char *nx = shape_uniform(&s, bx), *ny = limit ? kr_xstrdup(limit) : shape_uniform(&s, by);
    p = (struct plan){.width = 32, .height = 32, .rows = 8, .moved = true, .tile = p.tile,
                      .turn = syntax_fresh(&s, "k"), .limit = limit};
    if (nx && ny && shape_covers(in, 0, t.width, nx) && shape_covers(in, 1, t.height, ny) &&
        (code = write_tiled(&t, &p))) {
      struct kr_geometry g = *in->geometry;
      g.grid[0] = kr_xasprintf("ceil_div(%s, 32)", nx);
      g.grid[1] = kr_xasprintf("ceil_div(%s, 32)", ny);
      g.block[0] = (char *)"32";
      g.block[1] = (char *)"8";
      rule_propose(out, in, &transpose_tile_rule, kr_xasprintf("%s 32x8", place), code, 2.4, &g,
                   "%s through a padded 32x32 tile in shared memory, by blocks of 32x8 threads "
                   "that take four elements each; both passes touch memory in order.",
                   side);
      free(g.grid[0]);
      free(g.grid[1]);
    }
    free(nx);
    free(ny);
    free(p.turn);
  }
  free(p.tile);
  free(place);
out:
  free(t.type);
  syntax_release(&s);
}

const struct kr_rule transpose_tile_rule = {
    "transpose-tile", "a tile in shared memory where one side of a copy is out of order", propose};
