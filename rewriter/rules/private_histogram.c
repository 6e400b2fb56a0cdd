#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/expr.h"
#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// Additions to a small table in global memory from all threads of a grid: the
// atomic units of L2 are few, and the table's few sectors are all they see. Each
// block counts in a copy of its own in shared memory and adds that to the table
// once. It pays when a block adds much more than the table is long, so the grid is
// made small and its threads go on by the grid's width; where the launch is fixed,
// the blocks behind the first ones have nothing to do.

enum {
  TABLE_MAX = 4096,          // elements
  TABLE_MAX_BYTES = 32 << 10,
  LANES_MAX_BYTES = 8 << 10, // with a copy for some lanes each
  THREADS = 1 << 18,         // about what a large GPU holds at once
  MERGES = 1 << 20           // additions to the table at the end, all blocks together
};

struct counted {
  struct syntax *s;
  const struct kr_rule_input *in;
  struct shape sh;
  size_t table;   // parameter
  int64_t length; // elements
  char *type;
  size_t adds[8], targets[8]; // calls, and their first arguments
  size_t n_adds;
  bool in_loop;               // an addition stands in a loop of the kernel
  // Set when the kernel may be run by fewer threads in turns.
  bool turns;
  struct shape_coord at;
  size_t bound;
  size_t guard; // the item that is `at < bound` alone
  char *limit;  // the bound, as geometry
  int64_t block;
};

// The length of the whole section where no case and no size tried beside can change it.
static bool fixed_length(const struct kr_contract *c, const struct kr_section *sec, int64_t *out)
{
  int64_t n = 1;
  for (size_t i = 0; i < sec->n_dims; i++) {
    int64_t v;
    bool found = syntax_geometry_constant(c, sec->dims[i], &v);
    // fix(bins = 256), the same in every case.
    for (size_t k = 0; !found && k < c->n_cases; k++) {
      bool here = false;
      for (size_t b = 0; b < c->cases[k].n_bindings; b++) {
        const struct kr_binding *bind = &c->cases[k].bindings[b];
        int64_t w;
        if (strcmp(bind->path, sec->dims[i]) || !bind->fixed || !bind->expr ||
            !syntax_geometry_constant(c, bind->expr, &w) || (k && w != v))
          continue;
        v = w;
        here = true;
      }
      if (!here)
        return false;
      if (k + 1 == c->n_cases)
        found = true;
    }
    if (!found || v < 1 || v > TABLE_MAX)
      return false;
    n *= v;
    if (n > TABLE_MAX)
      return false;
  }
  *out = n;
  return true;
}

// `&table[e]` or `table + e`: the expression of the place. NONE when it is neither.
static size_t element_of(const struct syntax *s, size_t target, size_t *name)
{
  target = syntax_strip(s, target);
  const struct syntax_expr *e = &s->exprs[target];
  size_t base, index;
  if (e->kind == EXPR_UNARY && syntax_is(s, e->op, "&")) {
    size_t sub = syntax_strip(s, e->child);
    if (s->exprs[sub].kind != EXPR_SUBSCRIPT)
      return SYNTAX_NONE;
    base = syntax_strip(s, syntax_arg(s, sub, 0));
    index = syntax_arg(s, sub, 1);
  } else if (e->kind == EXPR_BINARY && syntax_is(s, e->op, "+")) {
    base = syntax_strip(s, syntax_arg(s, target, 0));
    index = syntax_arg(s, target, 1);
  } else {
    return SYNTAX_NONE;
  }
  if (s->exprs[base].kind != EXPR_NAME || s->exprs[base].name == SYNTAX_NONE)
    return SYNTAX_NONE;
  *name = s->exprs[base].name;
  return index;
}

// All uses of the table are additions whose result nobody takes.
static bool find_adds(struct counted *c)
{
  struct syntax *s = c->s;
  size_t uses = 0;
  for (size_t i = 0; i < s->n_exprs; i++)
    uses += s->exprs[i].kind == EXPR_NAME && s->exprs[i].name == c->table;
  struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
  size_t i = 0, call;
  while ((call = shape_next_expr(s, body, EXPR_CALL, &i)) != SYNTAX_NONE) {
    size_t name = SYNTAX_NONE;
    if (!syntax_calls(s, call, "atomicAdd") || s->exprs[call].n_children != 3)
      continue;
    size_t target = syntax_arg(s, call, 1);
    size_t index = element_of(s, target, &name);
    if (index == SYNTAX_NONE || name != c->table)
      continue;
    const struct syntax_stmt *st = &s->stmts[s->exprs[call].stmt];
    if (st->kind != STMT_EXPR || st->expr != call || c->n_adds == 8)
      return false;
    c->adds[c->n_adds] = call;
    c->targets[c->n_adds++] = target;
    for (size_t p = st->parent; p != SYNTAX_NONE; p = s->stmts[p].parent)
      c->in_loop = c->in_loop || s->stmts[p].kind == STMT_FOR || s->stmts[p].kind == STMT_WHILE ||
                   s->stmts[p].kind == STMT_DO;
  }
  return c->n_adds && uses == c->n_adds;
}

// The work of one thread is that of one number below a bound, and of nothing else.
static void find_turns(struct counted *c)
{
  struct syntax *s = c->s;
  struct shape_term terms[SHAPE_MAX_TERMS];
  size_t n = shape_terms(s, &c->sh, terms);
  if (!shape_flat(c->in, 1) || !shape_flat(c->in, 2) ||
      !shape_coord_along(s, c->in, &c->sh, 0, &c->at))
    return;
  bool found = false;
  for (size_t i = 0; i < n && !found; i++)
    found = shape_bounds(s, &terms[i], c->at.name, &c->bound);
  if (!found || !(c->limit = shape_uniform(s, c->bound)))
    return;
  c->guard = SYNTAX_NONE;
  for (size_t i = 0; i < c->sh.n_items; i++) {
    struct shape one = {.n_items = 1, .items = {c->sh.items[i]}};
    size_t bound;
    if (c->sh.items[i].guard && shape_terms(s, &one, terms) == 1 &&
        shape_bounds(s, &terms[0], c->at.name, &bound) && bound == c->bound)
      c->guard = i;
  }
  // Nothing but the number tells threads apart, and nothing else counts them.
  struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
  struct substs none = {0};
  substs_add(&none, s->exprs[s->names[c->at.name].init].span, "0");
  char *text = substs_text(&none, s, body);
  static const char *const words[] = {"threadIdx", "blockIdx", "gridDim", "blockDim", NULL};
  c->turns = shape_covers(c->in, 0, c->at.block, c->limit);
  for (size_t i = 0; words[i]; i++)
    c->turns = c->turns && !strstr(text, words[i]);
  free(text);
  substs_release(&none);
}

static bool read_kernel(struct counted *c)
{
  struct syntax *s = c->s;
  int64_t y, z;
  if (syntax_may_sync(s, shape_kernel(s)->span) || shape_has_shared(s) ||
      !syntax_block_dim(c->in->contract, c->in->geometry, 0, &c->block) ||
      !syntax_block_dim(c->in->contract, c->in->geometry, 1, &y) || y != 1 ||
      !syntax_block_dim(c->in->contract, c->in->geometry, 2, &z) || z != 1 || c->block < 64)
    return false;
  const struct syntax_name *t = &s->names[c->table];
  if (!t->type.known || t->type.pointers != 1 || t->type.is_const)
    return false;
  const struct kr_section *sec = syntax_section(c->in->contract, t->name);
  if (!sec || sec->start || !fixed_length(c->in->contract, sec, &c->length) || c->length < 4)
    return false;
  switch (t->type.kind) {
  case KR_I32: case KR_U32: case KR_U64:
    break;
  case KR_F32:
    // Sums in another order; atomics promise none anyway.
    if (sec->compare == KR_CMP_EXACT)
      return false;
    break;
  default:
    return false;
  }
  if (c->length * (int64_t)kr_kind_size(t->type.kind) > TABLE_MAX_BYTES)
    return false;
  c->type = shape_scalar(s, c->table);
  if (!c->type || !find_adds(c))
    return false;
  find_turns(c);
  return c->turns || c->in_loop;
}

// Copies of the table for lanes that would meet in it: the place of lane l is
// `e * copies + l % copies`.
static char *write_private(struct counted *c, int64_t copies, int64_t blocks, bool skip)
{
  struct syntax *s = c->s;
  char *own = syntax_fresh(s, "local"), *k = syntax_fresh(s, "k"), *at = syntax_fresh(s, "at");
  char *active = syntax_fresh(s, "blocks");
  const char *table = s->names[c->table].name;
  struct substs l = {0};
  for (size_t i = 0; i < c->n_adds; i++) {
    size_t name, index = element_of(s, c->targets[i], &name);
    char *e = substs_text(NULL, s, s->exprs[index].span);
    bool plain = s->exprs[index].span.end == s->exprs[index].span.first + 1;
    if (copies > 1)
      substs_add(&l, s->exprs[c->targets[i]].span,
                 plain ? "&%s[%s * %lld + threadIdx.x %% %lld]"
                       : "&%s[(%s) * %lld + threadIdx.x %% %lld]",
                 own, e, (long long)copies, (long long)copies);
    else
      substs_add(&l, s->exprs[c->targets[i]].span, "&%s[%s]", own, e);
    free(e);
  }
  struct emit e;
  emit_begin(&e, s);
  emit_line(&e, "__shared__ %s %s[%lld];", c->type, own, (long long)(c->length * copies));
  if (c->turns && skip) {
    emit_line(&e, "const unsigned int %s = gridDim.x < %lldu ? gridDim.x : %lldu;", active,
              (long long)blocks, (long long)blocks);
    emit_line(&e, "if (blockIdx.x >= %s)", active);
    e.level++;
    emit_line(&e, "return;");
    e.level--;
  }
  emit_line(&e, "for (int %s = threadIdx.x; %s < %lld; %s += blockDim.x)", k, k,
            (long long)(c->length * copies), k);
  e.level++;
  emit_line(&e, "%s[%s] = 0;", own, k);
  e.level--;
  emit_line(&e, "__syncthreads();");
  struct shape sh = c->sh;
  if (c->turns) {
    char *bound = shape_bound_text(s, c->bound);
    emit_open(&e,
              "for (long long %s = (long long)blockIdx.x * blockDim.x + threadIdx.x; %s < %s; "
              "%s += (long long)%s * blockDim.x) ",
              at, at, bound, at, skip ? active : "gridDim.x");
    free(bound);
    const struct syntax_name *n = &s->names[c->at.name];
    char *type = shape_scalar(s, c->at.name);
    substs_add(&l, s->exprs[n->init].span, "(%s)%s", type, at);
    free(type);
    if (c->guard != SYNTAX_NONE) {
      memmove(&sh.items[c->guard], &sh.items[c->guard + 1],
              (sh.n_items - c->guard - 1) * sizeof *sh.items);
      sh.n_items--;
    }
  } else if (sh.n_items) {
    emit_open(&e, "%s", "");
  }
  bool braces = c->turns || sh.n_items;
  unsigned opened = emit_items(&e, &sh, &l, NULL);
  for (size_t i = 0; i < sh.n_work; i++)
    emit_stmt(&e, sh.work[i], &l);
  while (opened--)
    emit_close(&e);
  if (braces)
    emit_close(&e);
  emit_line(&e, "__syncthreads();");
  emit_open(&e, "for (int %s = threadIdx.x; %s < %lld; %s += blockDim.x) ", k, k,
            (long long)c->length, k);
  char *sum = syntax_fresh(s, "sum");
  if (copies > 1) {
    char *j = syntax_fresh(s, "j");
    emit_line(&e, "%s %s = %s[%s * %lld];", c->type, sum, own, k, (long long)copies);
    emit_line(&e, "for (int %s = 1; %s < %lld; %s++)", j, j, (long long)copies, j);
    e.level++;
    emit_line(&e, "%s += %s[%s * %lld + %s];", sum, own, k, (long long)copies, j);
    e.level--;
    free(j);
  } else {
    emit_line(&e, "%s %s = %s[%s];", c->type, sum, own, k);
  }
  emit_line(&e, "if (%s != 0)", sum);
  e.level++;
  emit_line(&e, "atomicAdd(&%s[%s], %s);", table, k, sum);
  e.level--;
  emit_close(&e);
  substs_release(&l);
  free(sum);
  free(own);
  free(k);
  free(at);
  free(active);
  return emit_end(&e);
}

static void propose_table(struct counted *c, struct kr_proposals *out)
{
  const char *table = c->s->names[c->table].name;
  int64_t blocks = THREADS / c->block, least = 264;
  if (blocks * c->length > MERGES)
    blocks = MERGES / c->length > least ? MERGES / c->length : least;
  bool skip = c->turns && !c->in->contract->tunable;
  struct kr_geometry g = *c->in->geometry;
  if (c->turns && !skip)
    g.grid[0] = kr_xasprintf("min(ceil_div(%s, %lld), %lld)", c->limit, (long long)c->block,
                             (long long)blocks);
  const struct kr_geometry *moved = c->turns && !skip ? &g : NULL;
  char *code = write_private(c, 1, blocks, skip);
  rule_propose(out, c->in, &private_histogram_rule, kr_xstrdup(table), code, c->turns ? 2.5 : 1.5,
               moved,
               "Counts into a copy of `%s` of the block's own in shared memory%s, and adds that "
               "to the table once.",
               table, c->turns ? ", with blocks that go on by the grid's width" : "");
  int64_t size = (int64_t)kr_kind_size(c->s->names[c->table].type.kind);
  int64_t copies = 8;
  while (copies > 1 && c->length * copies * size > LANES_MAX_BYTES)
    copies /= 2;
  if (copies > 1) {
    code = write_private(c, copies, blocks, skip);
    rule_propose(out, c->in, &private_histogram_rule, kr_xasprintf("%s by lanes", table), code,
                 c->length <= 64 ? 2.8 : 2.3, moved,
                 "Counts into %lld copies of `%s` of the block's own in shared memory, by lanes, "
                 "so that fewer of a warp meet, and adds their sums to the table once.",
                 (long long)copies, table);
  }
  if (moved)
    free(g.grid[0]);
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  for (size_t i = 0; s.kernel != SYNTAX_NONE && i < s.n_names; i++) {
    struct counted c = {.s = &s, .in = in, .table = i};
    if (s.names[i].storage == SYNTAX_PARAM && s.names[i].function == s.kernel &&
        shape_read(&s, &c.sh) && read_kernel(&c))
      propose_table(&c, out);
    free(c.type);
    free(c.limit);
  }
  syntax_release(&s);
}

const struct kr_rule private_histogram_rule = {
    "private-histogram", "a copy of a small table for each block, for atomic additions", propose};
