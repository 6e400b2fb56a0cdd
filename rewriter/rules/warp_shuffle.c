#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "helpers.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// A tree in shared memory halves the threads at work and waits for all of them at
// every level. The last five levels are one warp's, which needs neither memory nor
// barriers for them; and if every warp first adds up its own 32, only one value a
// warp has to go through memory, with one barrier.
//
// Two proposals: `tail` keeps the order of additions to the bit; `whole` changes it,
// and is the faster one. Both leave the result where it was, in element 0, and
// need that no other element is asked for before all are written anew.

enum { TREES_MAX = 4 };

struct tree {
  size_t loop;         // the for statement
  size_t var;
  bool halving;        // s = B / 2 ... 1; else 1 ... B / 2
  size_t array;        // shared
  char *type;
  const char *join;    // "+", or NULL for `function`
  char *function;      // fmaxf, max, ...
  size_t thread;       // an expression that is the thread's number, as the kernel writes it
  size_t barrier;      // the statement behind the loop's update
  // `array[thread] = value; __syncthreads();` directly before the loop, or NONE.
  size_t fill, fill_barrier, value;
};

struct trees {
  struct syntax *s;
  const struct kr_rule_input *in;
  int64_t block;
  struct tree items[TREES_MAX];
  size_t n;
};

static bool is_barrier(const struct syntax *s, size_t stmt)
{
  const struct syntax_stmt *st = &s->stmts[stmt];
  return st->kind == STMT_EXPR && syntax_calls(s, st->expr, "__syncthreads");
}

static bool is_thread(struct syntax *s, size_t expr)
{
  struct affine a = syntax_affine(s, expr);
  struct affine t = affine_coefficient(&a, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
  struct affine rest = affine_without(&a, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
  int64_t v;
  return a.known && t.known && rest.known && affine_is_constant(&t, &v) && v == 1 &&
         affine_is_constant(&rest, &v) && v == 0;
}

// array[thread + offset of `var`]: 0 for none, 1 for `+ var`, -1 for anything else.
static int place_of(struct syntax *s, size_t expr, size_t var, size_t *array)
{
  expr = syntax_strip(s, expr);
  const struct syntax_expr *e = &s->exprs[expr];
  if (e->kind != EXPR_SUBSCRIPT)
    return -1;
  size_t base = syntax_strip(s, syntax_arg(s, expr, 0));
  if (s->exprs[base].kind != EXPR_NAME || s->exprs[base].name == SYNTAX_NONE)
    return -1;
  *array = s->exprs[base].name;
  size_t index = syntax_arg(s, expr, 1);
  if (is_thread(s, index))
    return 0;
  struct affine a = syntax_affine(s, index);
  unsigned symbol = syntax_name_symbol(s, var);
  if (!a.known || symbol == (unsigned)-1)
    return -1;
  struct affine k = affine_coefficient(&a, symbol), rest = affine_without(&a, symbol);
  struct affine t = affine_coefficient(&rest, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
  rest = affine_without(&rest, syntax_builtin_symbol(s, SYMBOL_THREAD, 0));
  int64_t v;
  bool ok = k.known && affine_is_constant(&k, &v) && v == 1 && t.known &&
            affine_is_constant(&t, &v) && v == 1 && rest.known && affine_is_constant(&rest, &v) &&
            v == 0;
  return ok ? 1 : -1;
}

static const char *const joins[] = {"fmaxf", "fminf", "fmax", "fmin", "max", "min", NULL};

static bool type_fits(const struct syntax *s, const struct tree *t)
{
  const struct syntax_type *ty = &s->names[t->array].type;
  unsigned pointers = s->names[t->array].storage == SYNTAX_PARAM ? 1 : 0;
  size_t dynamic = 0; // all such arrays are one piece of memory
  for (size_t i = 0; i < s->n_names; i++)
    dynamic += s->names[i].storage == SYNTAX_SHARED && s->names[i].is_extern;
  if (!ty->known || ty->pointers != pointers || (s->names[t->array].is_extern && dynamic > 1))
    return false;
  switch (ty->kind) {
  case KR_F32: case KR_F64: case KR_I32: case KR_U32: case KR_I64: case KR_U64:
    return true;
  default:
    return false;
  }
}

// The one statement of the loop that does something: a[t] += a[t + s] and its kin.
static bool read_update(struct syntax *s, struct tree *t, size_t stmt)
{
  if (s->stmts[stmt].kind == STMT_BLOCK) {
    stmt = s->stmts[stmt].child;
    if (stmt == SYNTAX_NONE || s->stmts[stmt].next != SYNTAX_NONE)
      return false;
  }
  if (s->stmts[stmt].kind != STMT_EXPR)
    return false;
  size_t expr = s->stmts[stmt].expr, array, other;
  const struct syntax_expr *e = &s->exprs[expr];
  if (e->kind != EXPR_ASSIGN)
    return false;
  size_t left = syntax_arg(s, expr, 0), right = syntax_strip(s, syntax_arg(s, expr, 1));
  if (place_of(s, left, t->var, &array))
    return false;
  t->array = array;
  t->thread = syntax_arg(s, syntax_strip(s, left), 1);
  if (syntax_is(s, e->op, "+=")) {
    t->join = "+";
    return place_of(s, right, t->var, &other) == 1 && other == array;
  }
  if (!syntax_is(s, e->op, "="))
    return false;
  size_t a, b;
  const struct syntax_expr *r = &s->exprs[right];
  if (r->kind == EXPR_BINARY && syntax_is(s, r->op, "+")) {
    t->join = "+";
    a = syntax_arg(s, right, 0);
    b = syntax_arg(s, right, 1);
  } else if (r->kind == EXPR_CALL && r->n_children == 3) {
    for (size_t i = 0; joins[i] && !t->function; i++) {
      if (syntax_calls(s, right, joins[i]))
        t->function = syntax_text(s, s->exprs[syntax_arg(s, right, 0)].span);
    }
    if (!t->function)
      return false;
    a = syntax_arg(s, right, 1);
    b = syntax_arg(s, right, 2);
  } else {
    return false;
  }
  size_t first, second;
  int x = place_of(s, a, t->var, &first), y = place_of(s, b, t->var, &second);
  return first == array && second == array && x >= 0 && y >= 0 && x + y == 1;
}

// "blockDim.x / 2" or a number.
static bool is_half(struct trees *ts, size_t expr, int64_t whole)
{
  int64_t v;
  if (syntax_constant(ts->s, expr, &v))
    return v == whole / 2;
  char *text = syntax_squeeze(ts->s, ts->s->exprs[syntax_strip(ts->s, expr)].span);
  bool ok = !strcmp(text, "blockDim.x/2") || !strcmp(text, "blockDim.x>>1");
  free(text);
  return ok;
}

static bool is_whole(struct trees *ts, size_t expr, int64_t whole)
{
  int64_t v;
  if (syntax_constant(ts->s, expr, &v))
    return v == whole;
  char *text = syntax_squeeze(ts->s, ts->s->exprs[syntax_strip(ts->s, expr)].span);
  bool ok = !strcmp(text, "blockDim.x");
  free(text);
  return ok;
}

// `thread < s` of the halving tree, `thread % (2 * s) == 0` of the other.
static bool is_condition(struct trees *ts, const struct tree *t, size_t cond)
{
  struct syntax *s = ts->s;
  cond = syntax_strip(s, cond);
  const struct syntax_expr *e = &s->exprs[cond];
  if (e->kind != EXPR_BINARY)
    return false;
  size_t left = syntax_strip(s, syntax_arg(s, cond, 0));
  size_t right = syntax_strip(s, syntax_arg(s, cond, 1));
  if (t->halving)
    return syntax_is(s, e->op, "<") && is_thread(s, left) && s->exprs[right].kind == EXPR_NAME &&
           s->exprs[right].name == t->var;
  int64_t zero;
  if (!syntax_is(s, e->op, "==") || !syntax_constant(s, right, &zero) || zero ||
      s->exprs[left].kind != EXPR_BINARY || !syntax_is(s, s->exprs[left].op, "%") ||
      !is_thread(s, syntax_arg(s, left, 0)))
    return false;
  struct affine m = syntax_affine(s, syntax_arg(s, left, 1));
  unsigned symbol = syntax_name_symbol(s, t->var);
  if (!m.known || symbol == (unsigned)-1)
    return false;
  struct affine k = affine_coefficient(&m, symbol), rest = affine_without(&m, symbol);
  int64_t v;
  return k.known && affine_is_constant(&k, &v) && v == 2 && rest.known &&
         affine_is_constant(&rest, &v) && v == 0;
}

// Shared memory of the kernel, or what a helper is handed.
static bool is_array(const struct syntax *s, const struct tree *t)
{
  const struct syntax_name *n = &s->names[t->array];
  if (s->stmts[t->loop].function == s->kernel)
    return n->storage == SYNTAX_SHARED && n->n_dims == 1;
  return n->storage == SYNTAX_PARAM && n->type.pointers == 1 && !n->n_writes && !n->n_dims;
}

static bool read_tree(struct trees *ts, size_t stmt, struct tree *t)
{
  struct syntax *s = ts->s;
  struct syntax_loop loop;
  int64_t v, whole = ts->block;
  *t = (struct tree){.loop = stmt, .fill = SYNTAX_NONE};
  if (!syntax_loop(s, stmt, &loop))
    return false;
  t->var = loop.var;
  bool by_two = loop.step != SYNTAX_NONE && syntax_constant(s, loop.step, &v) && v == 2;
  bool by_one = loop.step != SYNTAX_NONE && syntax_constant(s, loop.step, &v) && v == 1;
  bool halves = (!strcmp(loop.step_op, "/=") && by_two) || (!strcmp(loop.step_op, ">>=") && by_one);
  bool doubles = (!strcmp(loop.step_op, "*=") && by_two) || (!strcmp(loop.step_op, "<<=") && by_one);
  if (halves && (!strcmp(loop.relation, ">") || !strcmp(loop.relation, ">=") ||
                 !strcmp(loop.relation, "!="))) {
    t->halving = true;
    if (!is_half(ts, loop.init, whole) || !syntax_constant(s, loop.bound, &v) ||
        v != (strcmp(loop.relation, ">=") ? 0 : 1))
      return false;
  } else if (doubles && !strcmp(loop.relation, "<")) {
    if (!syntax_constant(s, loop.init, &v) || v != 1 || !is_whole(ts, loop.bound, whole))
      return false;
  } else {
    return false;
  }
  size_t body = s->stmts[stmt].body;
  if (s->stmts[body].kind != STMT_BLOCK)
    return false;
  size_t update = s->stmts[body].child;
  if (update == SYNTAX_NONE || s->stmts[update].kind != STMT_IF ||
      s->stmts[update].orelse != SYNTAX_NONE)
    return false;
  t->barrier = s->stmts[update].next;
  if (t->barrier == SYNTAX_NONE || !is_barrier(s, t->barrier) ||
      s->stmts[t->barrier].next != SYNTAX_NONE || !read_update(s, t, s->stmts[update].body) ||
      !is_condition(ts, t, s->stmts[update].cond) || !type_fits(s, t) ||
      !is_array(s, t))
    return false;
  t->type = shape_scalar(s, t->array);
  return t->type != NULL;
}

// The statement before `stmt` in its block.
static size_t before(const struct syntax *s, size_t stmt)
{
  size_t parent = s->stmts[stmt].parent;
  if (parent == SYNTAX_NONE || s->stmts[parent].kind != STMT_BLOCK)
    return SYNTAX_NONE;
  size_t last = SYNTAX_NONE;
  for (size_t c = s->stmts[parent].child; c != SYNTAX_NONE && c != stmt; c = s->stmts[c].next)
    last = c;
  return last;
}

// `array[thread] = e;` with nothing around it but the kernel's own block.
static bool is_fill(struct syntax *s, size_t stmt, size_t array, size_t *value)
{
  if (stmt == SYNTAX_NONE || s->stmts[stmt].kind != STMT_EXPR)
    return false;
  size_t expr = s->stmts[stmt].expr;
  if (s->exprs[expr].kind != EXPR_ASSIGN || !syntax_is(s, s->exprs[expr].op, "="))
    return false;
  size_t left = syntax_strip(s, syntax_arg(s, expr, 0));
  if (s->exprs[left].kind != EXPR_SUBSCRIPT)
    return false;
  size_t base = syntax_strip(s, syntax_arg(s, left, 0));
  if (s->exprs[base].kind != EXPR_NAME || s->exprs[base].name != array ||
      !is_thread(s, syntax_arg(s, left, 1)))
    return false;
  *value = syntax_arg(s, expr, 1);
  return shape_pure(s, *value);
}

// Behind the tree only element 0 is asked for, until all are written anew.
static bool only_first_after(struct trees *ts, const struct tree *t)
{
  struct syntax *s = ts->s;
  size_t after = s->stmts[t->loop].span.end;
  size_t body = s->functions[s->stmts[t->loop].function].body;
  struct syntax_span rest = {after, s->stmts[body].span.end};
  // Where is it filled next?
  size_t parent = s->stmts[t->loop].parent;
  for (size_t c = s->stmts[t->loop].next; c != SYNTAX_NONE; c = s->stmts[c].next) {
    size_t value;
    if (s->stmts[c].parent == parent && is_fill(s, c, t->array, &value) &&
        !syntax_mentions(s, s->exprs[value].span, t->array)) {
      rest.end = s->stmts[c].span.first;
      break;
    }
  }
  size_t i = 0, e;
  while ((e = shape_next_expr(s, rest, EXPR_NAME, &i)) != SYNTAX_NONE) {
    if (s->exprs[e].name != t->array)
      continue;
    size_t p = s->exprs[e].parent;
    int64_t v;
    if (p == SYNTAX_NONE || s->exprs[p].kind != EXPR_SUBSCRIPT ||
        !syntax_constant(s, syntax_arg(s, p, 1), &v) || v || (s->exprs[p].use & ~SYNTAX_READ))
      return false;
  }
  return true;
}

// All threads of a warp come to it: no `return` before it but of whole blocks.
static bool all_threads(struct trees *ts, const struct tree *t)
{
  struct syntax *s = ts->s;
  size_t function = s->stmts[t->loop].function;
  for (size_t i = 0; i < s->n_stmts; i++) {
    const struct syntax_stmt *st = &s->stmts[i];
    // Before the loop; for a helper, anywhere in the kernel as well.
    if (st->kind != STMT_RETURN || (st->function != function && st->function != s->kernel) ||
        (st->function == function && st->span.first > s->stmts[t->loop].span.first))
      continue;
    size_t up = st->parent;
    if (up != SYNTAX_NONE && s->stmts[up].kind == STMT_BLOCK)
      up = s->stmts[up].parent;
    if (up == SYNTAX_NONE || s->stmts[up].kind != STMT_IF)
      return false;
    size_t cond = syntax_strip(s, s->stmts[up].cond);
    if (s->exprs[cond].kind != EXPR_BINARY)
      return false;
    struct affine a = syntax_affine(s, syntax_arg(s, cond, 0));
    struct affine b = syntax_affine(s, syntax_arg(s, cond, 1));
    if (!a.known || !b.known || !affine_block_uniform(s, &a) || !affine_block_uniform(s, &b))
      return false;
  }
  return true;
}

// A helper that fills its array first leaves nothing in it that anyone asks for, if
// the kernel uses that array for nothing but handing it to such helpers.
static bool helper_is_alone(struct trees *ts, const struct tree *t)
{
  struct syntax *s = ts->s;
  const struct syntax_function *f = &s->functions[s->stmts[t->loop].function];
  size_t calls = 0;
  if (f->is_kernel)
    return true;
  if (f->is_template || t->fill == SYNTAX_NONE)
    return false;
  for (size_t i = 0; i < s->n_exprs; i++) {
    if (s->exprs[i].kind != EXPR_CALL || !syntax_calls(s, i, f->name))
      continue;
    if (s->exprs[i].function != s->kernel)
      return false;
    calls++;
    size_t arg = syntax_strip(s, syntax_arg(s, i, 1 + (unsigned)s->names[t->array].param));
    if (arg == SYNTAX_NONE || s->exprs[arg].kind != EXPR_NAME || s->exprs[arg].name == SYNTAX_NONE)
      return false;
    const struct syntax_name *array = &s->names[s->exprs[arg].name];
    if (array->storage != SYNTAX_SHARED || array->n_dims != 1)
      return false;
    for (size_t k = 0; k < s->n_exprs; k++) {
      const struct syntax_expr *e = &s->exprs[k];
      if (e->kind != EXPR_NAME || e->name != s->exprs[arg].name)
        continue;
      size_t up = e->parent;
      char *callee = up != SYNTAX_NONE && s->exprs[up].kind == EXPR_CALL ? syntax_callee(s, up) : NULL;
      bool handed = false;
      for (size_t g = 0; callee && g < s->n_functions; g++)
        handed = handed || (!s->functions[g].is_kernel && !strcmp(s->functions[g].name, callee));
      free(callee);
      if (!handed)
        return false;
    }
  }
  return calls > 0;
}

static void find_trees(struct trees *ts)
{
  struct syntax *s = ts->s;
  for (size_t i = 0; i < s->n_stmts && ts->n < TREES_MAX; i++) {
    struct tree t;
    if (s->stmts[i].kind != STMT_FOR ||
        s->stmts[i].parent != s->functions[s->stmts[i].function].body ||
        s->functions[s->stmts[i].function].opaque)
      continue;
    if (!read_tree(ts, i, &t) || !only_first_after(ts, &t) || !all_threads(ts, &t)) {
      free(t.type);
      free(t.function);
      continue;
    }
    size_t barrier = before(s, i);
    if (barrier != SYNTAX_NONE && is_barrier(s, barrier)) {
      size_t fill = before(s, barrier);
      // What another thread wrote there is then never asked for.
      if (is_fill(s, fill, t.array, &t.value)) {
        t.fill = fill;
        t.fill_barrier = barrier;
      }
    }
    if (!helper_is_alone(ts, &t)) {
      free(t.type);
      free(t.function);
      continue;
    }
    ts->items[ts->n++] = t;
  }
}

// --- writing it ---

static char *joined(const struct tree *t, const char *a, const char *b)
{
  if (t->function)
    return kr_xasprintf("%s = %s(%s, %s);", a, t->function, a, b);
  return kr_xasprintf("%s += %s;", a, b);
}

// for (int offset = from; offset > 0; offset >>= 1) v += __shfl_down_sync(..., v, offset);
static void add_shuffles(struct kr_bytes *b, const struct tree *t, const char *indent,
                         const char *step, const char *v, const char *offset, int64_t from)
{
  char *other = kr_xasprintf("__shfl_down_sync(0xffffffffu, %s, %s)", v, offset);
  char *join = joined(t, v, other);
  kr_bytes_addf(b, "%sfor (int %s = %lld; %s > 0; %s >>= 1)\n%s%s%s\n", indent, offset,
                (long long)from, offset, offset, indent, step, join);
  free(join);
  free(other);
}

static char *write_tail(struct trees *ts)
{
  struct syntax *s = ts->s;
  struct syntax_edits e = {0};
  const char *step = syntax_indent_step(s);
  char *v = syntax_fresh(s, "v"), *offset = syntax_fresh(s, "offset");
  for (size_t i = 0; i < ts->n; i++) {
    const struct tree *t = &ts->items[i];
    const char *array = s->names[t->array].name;
    char *indent = syntax_indent(s, s->stmts[t->loop].span.first);
    char *thread = syntax_text(s, s->exprs[t->thread].span);
    char *in = kr_xasprintf("%s%s", indent, step);
    struct kr_bytes b;
    kr_bytes_init(&b, 1 << 16);
    kr_bytes_addf(&b, "\n%sif (%s < 32) {\n%s%s %s = %s[%s];\n", indent, thread, in, t->type, v,
                  array, thread);
    add_shuffles(&b, t, in, step, v, offset, 16);
    kr_bytes_addf(&b, "%sif (%s == 0)\n%s%s%s[0] = %s;\n%s}\n%s__syncthreads();", in, thread, in,
                  step, array, v, indent, indent);
    // The loop goes on while more than a warp is at work.
    struct syntax_expr *cond = &s->exprs[s->stmts[t->loop].cond];
    syntax_replace(&e, s, cond->span, "%s >= 32", s->names[t->var].name);
    syntax_after(&e, s, s->stmts[t->loop].span.end - 1, "%s", b.data);
    kr_bytes_release(&b);
    free(in);
    free(thread);
    free(indent);
  }
  free(v);
  free(offset);
  return syntax_apply(&e, s);
}

static char *write_whole(struct trees *ts)
{
  struct syntax *s = ts->s;
  struct syntax_edits e = {0};
  const char *step = syntax_indent_step(s);
  long long warps = ts->block / 32;
  for (size_t i = 0; i < ts->n; i++) {
    const struct tree *t = &ts->items[i];
    const char *array = s->names[t->array].name;
    char *indent = syntax_indent(s, s->stmts[t->loop].span.first);
    char *thread = syntax_text(s, s->exprs[t->thread].span);
    char *in = kr_xasprintf("%s%s", indent, step), *in2 = kr_xasprintf("%s%s", in, step);
    char *v = syntax_fresh(s, "v"), *offset = syntax_fresh(s, "offset");
    char *part = syntax_fresh(s, "of_warps");
    char *value = t->fill != SYNTAX_NONE ? syntax_text(s, s->exprs[t->value].span)
                                         : kr_xasprintf("%s[%s]", array, thread);
    struct kr_bytes b;
    kr_bytes_init(&b, 1 << 16);
    // In a block of its own, so that two trees may use the same names.
    kr_bytes_addf(&b, "{\n");
    if (warps > 1)
      kr_bytes_addf(&b, "%s__shared__ %s %s[%lld];\n", in, t->type, part, warps);
    kr_bytes_addf(&b, "%s%s %s = %s;\n", in, t->type, v, value);
    add_shuffles(&b, t, in, step, v, offset, 16);
    if (warps > 1) {
      char *in3 = kr_xasprintf("%s%s", in2, step);
      kr_bytes_addf(&b, "%sif (%s %% 32 == 0)\n%s%s[%s / 32] = %s;\n%s__syncthreads();\n", in,
                    thread, in2, part, thread, v, in);
      kr_bytes_addf(&b, "%sif (%s < 32) {\n%sif (%s < %lld)\n%s%s = %s[%s];\n", in, thread, in2,
                    thread, warps, in3, v, part, thread);
      add_shuffles(&b, t, in2, step, v, offset, warps / 2);
      kr_bytes_addf(&b, "%s}\n", in);
      free(in3);
    }
    kr_bytes_addf(&b, "%sif (%s == 0)\n%s%s[0] = %s;\n%s__syncthreads();\n%s}", in, thread, in2,
                  array, v, in, indent);
    struct syntax_span span = s->stmts[t->loop].span;
    if (t->fill != SYNTAX_NONE)
      span.first = s->stmts[t->fill].span.first;
    syntax_replace(&e, s, span, "%s", b.data);
    kr_bytes_release(&b);
    free(value);
    free(part);
    free(v);
    free(offset);
    free(in);
    free(in2);
    free(thread);
    free(indent);
  }
  return syntax_apply(&e, s);
}

static bool has_tree(const char *text)
{
  return strstr(text, "__syncthreads") && strstr(text, "for");
}

// All trees of the code. Returns whether there was one.
static bool propose_in(const struct kr_rule_input *in, const char *code, struct kr_proposals *out)
{
  struct syntax s;
  int64_t y, z;
  syntax_parse(&s, code, in->contract);
  struct trees ts = {.s = &s, .in = in};
  if (s.kernel == SYNTAX_NONE || shape_kernel(&s)->opaque ||
      !syntax_block_dim(in->contract, in->geometry, 0, &ts.block) ||
      !syntax_block_dim(in->contract, in->geometry, 1, &y) || y != 1 ||
      !syntax_block_dim(in->contract, in->geometry, 2, &z) || z != 1 || ts.block < 64 ||
      ts.block > 1024 || (ts.block & (ts.block - 1)))
    goto out;
  find_trees(&ts);
  if (ts.n) {
    struct kr_bytes arrays;
    bool halving = true;
    kr_bytes_init(&arrays, 1 << 12);
    for (size_t i = 0; i < ts.n; i++) {
      kr_bytes_addf(&arrays, "%s%s", i ? " " : "", s.names[ts.items[i].array].name);
      halving = halving && ts.items[i].halving;
    }
    rule_propose(out, in, &warp_shuffle_rule, kr_xasprintf("%s whole", arrays.data),
                 write_whole(&ts), 1.2, NULL,
                 "Adds up within warps by shuffles first, so that one value a warp goes through "
                 "shared memory, with two barriers in place of one a level.");
    if (halving)
      rule_propose(out, in, &warp_shuffle_rule, kr_xasprintf("%s tail", arrays.data),
                   write_tail(&ts), 1.12, NULL,
                   "Does the last five levels of the tree in shared memory by shuffles of one "
                   "warp; the order of operations stays.");
    kr_bytes_release(&arrays);
  }
out:
  for (size_t i = 0; i < ts.n; i++) {
    free(ts.items[i].type);
    free(ts.items[i].function);
  }
  bool found = ts.n > 0;
  syntax_release(&s);
  return found;
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  if (propose_in(in, in->code, out))
    return;
  char *code = rule_bring_helpers(in, has_tree);
  if (code)
    propose_in(in, code, out);
  free(code);
}

const struct kr_rule warp_shuffle_rule = {
    "warp-shuffle", "shuffles of a warp at the end of a tree in shared memory", propose};
