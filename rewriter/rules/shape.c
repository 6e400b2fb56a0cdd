#include "shape.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/expr.h"
#include "../../evaluator/base/mem.h"
#include "syntax_internal.h"

const struct syntax_function *shape_kernel(const struct syntax *s)
{
  return s->kernel == SYNTAX_NONE ? NULL : &s->functions[s->kernel];
}

// --- reading ---

// A function of the code or the slice that gets numbers only: without references,
// pointers, barriers and variables of the file (which no slice that was taken has)
// it can do nothing but give a value; and that must hang on its arguments alone.
static bool call_is_value(const struct syntax *s, size_t call, const char *name)
{
  const char *slice = s->contract ? s->contract->before : NULL;
  if (!syntax_takes_values(s, name) || syntax_slice_syncs(s) ||
      (slice && (strstr(slice, "threadIdx") || strstr(slice, "blockIdx"))))
    return false;
  for (size_t f = 0; f < s->n_functions; f++) {
    if (!s->functions[f].is_kernel &&
        (shape_names(s, s->functions[f].span, "threadIdx", NULL) ||
         shape_names(s, s->functions[f].span, "blockIdx", NULL) ||
         syntax_may_sync(s, s->functions[f].span)))
      return false;
  }
  for (unsigned i = 1; i < s->exprs[call].n_children; i++) {
    struct syntax_type t = syntax_type_of(s, syntax_arg(s, call, i));
    if (!t.known || t.pointers)
      return false;
  }
  return true;
}

bool shape_pure(const struct syntax *s, size_t expr)
{
  struct syntax_span span = s->exprs[expr].span;
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (!syntax_within(e->span, span) || e->function != s->exprs[expr].function)
      continue;
    if (e->kind == EXPR_ASSIGN || e->kind == EXPR_POSTFIX || e->kind == EXPR_UNKNOWN)
      return false;
    if (e->kind == EXPR_UNARY && (syntax_is(s, e->op, "++") || syntax_is(s, e->op, "--")))
      return false;
    if (e->kind != EXPR_CALL)
      continue;
    char *name = syntax_callee(s, i);
    bool ok = name && !syntax_may_sync(s, e->span) && (syntax_pure(s, i, NULL) || call_is_value(s, i, name));
    free(name);
    if (!ok)
      return false;
  }
  return true;
}

// All names of a declaration are plain locals with pure values.
static bool plain_decl(const struct syntax *s, size_t stmt)
{
  bool any = false;
  for (size_t i = 0; i < s->n_names; i++) {
    const struct syntax_name *n = &s->names[i];
    if (n->stmt != stmt)
      continue;
    any = true;
    if (n->storage == SYNTAX_SHARED)
      continue;
    if (n->is_static || n->is_extern || n->type.is_reference)
      return false;
    if (n->init != SYNTAX_NONE && !shape_pure(s, n->init))
      return false;
  }
  return any;
}

static bool only_returns(const struct syntax *s, size_t stmt)
{
  const struct syntax_stmt *st = &s->stmts[stmt];
  if (st->kind == STMT_RETURN)
    return st->expr == SYNTAX_NONE;
  return st->kind == STMT_BLOCK && st->child != SYNTAX_NONE &&
         s->stmts[st->child].next == SYNTAX_NONE && s->stmts[st->child].kind == STMT_RETURN;
}

bool shape_read(const struct syntax *s, struct shape *out)
{
  *out = (struct shape){0};
  const struct syntax_function *f = shape_kernel(s);
  if (!f || f->opaque || f->body == SYNTAX_NONE)
    return false;
  return shape_read_on(s, s->stmts[f->body].child, out);
}

bool shape_read_on(const struct syntax *s, size_t at, struct shape *out)
{
  out->n_work = 0;
  while (at != SYNTAX_NONE) {
    const struct syntax_stmt *st = &s->stmts[at];
    struct shape_item item = {.stmt = at};
    if (out->n_items == SHAPE_MAX_ITEMS)
      return false;
    if (st->kind == STMT_EMPTY) {
      at = st->next;
    } else if (st->kind == STMT_DECL) {
      if (!plain_decl(s, at))
        break; // it belongs to the work
      out->items[out->n_items++] = item;
      at = st->next;
    } else if (st->kind == STMT_IF && st->orelse == SYNTAX_NONE && only_returns(s, st->body)) {
      if (!shape_pure(s, st->cond))
        return false;
      item.guard = item.negated = true;
      item.cond = st->cond;
      out->items[out->n_items++] = item;
      at = st->next;
    } else if (st->kind == STMT_IF && st->orelse == SYNTAX_NONE && st->next == SYNTAX_NONE &&
               shape_pure(s, st->cond)) {
      item.guard = true;
      item.cond = st->cond;
      out->items[out->n_items++] = item;
      at = st->body;
      if (s->stmts[at].kind == STMT_BLOCK)
        at = s->stmts[at].child;
    } else {
      break;
    }
  }
  for (; at != SYNTAX_NONE; at = s->stmts[at].next) {
    if (out->n_work == SHAPE_MAX_WORK)
      return false;
    out->work[out->n_work++] = at;
  }
  if (!out->n_work)
    return false;
  struct syntax_span work = {s->stmts[out->work[0]].span.first,
                             s->stmts[out->work[out->n_work - 1]].span.end};
  for (size_t i = 0; i < s->n_stmts; i++) {
    if (s->stmts[i].kind == STMT_RETURN && syntax_within(s->stmts[i].span, work))
      return false;
  }
  return true;
}

bool shape_has_shared(const struct syntax *s)
{
  for (size_t i = 0; i < s->n_names; i++) {
    if (s->names[i].storage == SYNTAX_SHARED)
      return true;
  }
  return false;
}

static void terms_of(const struct syntax *s, size_t expr, bool negated,
                     struct shape_term out[SHAPE_MAX_TERMS], size_t *n)
{
  expr = syntax_strip(s, expr);
  const struct syntax_expr *e = &s->exprs[expr];
  if (e->kind == EXPR_BINARY && syntax_is(s, e->op, negated ? "||" : "&&")) {
    terms_of(s, syntax_arg(s, expr, 0), negated, out, n);
    terms_of(s, syntax_arg(s, expr, 1), negated, out, n);
  } else if (e->kind == EXPR_UNARY && syntax_is(s, e->op, "!")) {
    terms_of(s, syntax_arg(s, expr, 0), !negated, out, n);
  } else if (*n < SHAPE_MAX_TERMS) {
    out[(*n)++] = (struct shape_term){expr, negated};
  }
}

size_t shape_terms(const struct syntax *s, const struct shape *sh,
                   struct shape_term out[SHAPE_MAX_TERMS])
{
  size_t n = 0;
  for (size_t i = 0; i < sh->n_items; i++) {
    if (sh->items[i].guard)
      terms_of(s, sh->items[i].cond, sh->items[i].negated, out, &n);
  }
  return n;
}

// Through brackets and casts between integers.
static size_t strip_casts(const struct syntax *s, size_t expr)
{
  for (;;) {
    expr = syntax_strip(s, expr);
    const struct syntax_expr *e = &s->exprs[expr];
    if (e->kind != EXPR_CAST || !e->type.known || e->type.pointers || kr_kind_is_float(e->type.kind))
      return expr;
    expr = e->child;
  }
}

static bool is_name(const struct syntax *s, size_t expr, size_t name)
{
  expr = strip_casts(s, expr);
  return s->exprs[expr].kind == EXPR_NAME && s->exprs[expr].name == name;
}

bool shape_bounds(const struct syntax *s, const struct shape_term *term, size_t name, size_t *bound)
{
  const struct syntax_expr *e = &s->exprs[term->expr];
  if (e->kind != EXPR_BINARY)
    return false;
  size_t left = syntax_arg(s, term->expr, 0), right = syntax_arg(s, term->expr, 1);
  const char *less = term->negated ? ">=" : "<", *more = term->negated ? "<=" : ">";
  if (syntax_is(s, e->op, less) && is_name(s, left, name)) {
    *bound = right;
    return true;
  }
  if (syntax_is(s, e->op, more) && is_name(s, right, name)) {
    *bound = left;
    return true;
  }
  return false;
}

bool shape_coord(struct syntax *s, const struct kr_rule_input *in, size_t name,
                 struct shape_coord *out)
{
  const struct syntax_name *n = &s->names[name];
  if (n->storage != SYNTAX_LOCAL || n->function != s->kernel || n->n_writes || n->escapes ||
      n->n_dims || !n->type.known || n->type.pointers || kr_kind_is_float(n->type.kind) ||
      n->init == SYNTAX_NONE)
    return false;
  struct affine a = syntax_affine(s, n->init);
  if (!a.known)
    return false;
  for (int axis = 0; axis < 2; axis++) {
    int64_t block, thread;
    if (!syntax_block_dim(in->contract, in->geometry, axis, &block))
      continue;
    unsigned tid = syntax_builtin_symbol(s, SYMBOL_THREAD, axis);
    unsigned bid = syntax_builtin_symbol(s, SYMBOL_BLOCK, axis);
    unsigned dim = syntax_builtin_symbol(s, SYMBOL_BLOCK_DIM, axis);
    struct affine t = affine_coefficient(&a, tid), b = affine_coefficient(&a, bid);
    struct affine rest = affine_without(&a, tid);
    rest = affine_without(&rest, bid);
    int64_t left = 1, times = 0;
    if (!t.known || !b.known || !affine_is_constant(&t, &thread) || thread != 1 || !rest.known ||
        !affine_is_constant(&rest, &left) || left)
      continue;
    bool by_dim = b.n_terms == 1 && b.terms[0].coefficient == 1 && b.terms[0].n_factors == 1 &&
                  b.terms[0].factors[0] == dim;
    if (!by_dim && !(affine_is_constant(&b, &times) && times == block))
      continue;
    *out = (struct shape_coord){.name = name, .axis = axis, .block = block};
    return true;
  }
  return false;
}

bool shape_coord_along(struct syntax *s, const struct kr_rule_input *in, const struct shape *sh,
                       int axis, struct shape_coord *out)
{
  bool found = false;
  for (size_t i = 0; i < s->n_names; i++) {
    struct shape_coord c;
    bool item = false;
    for (size_t k = 0; k < sh->n_items; k++)
      item = item || (!sh->items[k].guard && sh->items[k].stmt == s->names[i].stmt);
    if (!item || !shape_coord(s, in, i, &c) || c.axis != axis)
      continue;
    if (found)
      return false;
    *out = c;
    found = true;
  }
  return found;
}

char *shape_uniform(struct syntax *s, size_t expr)
{
  struct affine a = syntax_affine(s, expr);
  if (!a.known || !affine_grid_uniform(s, &a) || affine_has(s, &a, SYMBOL_BLOCK_DIM) ||
      affine_has(s, &a, SYMBOL_GRID_DIM))
    return NULL;
  return affine_print(s, &a);
}

char *shape_bound_text(struct syntax *s, size_t expr)
{
  size_t i = 0, e;
  while ((e = shape_next_expr(s, s->exprs[expr].span, EXPR_NAME, &i)) != SYNTAX_NONE) {
    size_t name = s->exprs[e].name;
    if (name == SYNTAX_NONE || s->names[name].storage == SYNTAX_PARAM)
      continue;
    char *text = shape_uniform(s, expr);
    struct kr_bytes b;
    kr_bytes_init(&b, 1 << 16);
    for (const char *p = text; *p; p++)
      kr_bytes_addf(&b, *p == '*' ? " %c " : "%c", *p);
    free(text);
    return kr_bytes_take(&b);
  }
  return substs_text(NULL, s, s->exprs[expr].span);
}

// --- geometry, tried at many values ---

struct trial_values {
  const struct kr_contract *contract;
  const struct kr_geometry *geometry;
  unsigned seed;
};

static int trial_lookup(void *arg, const char *name, struct kr_value *out,
                        struct kr_expr_error *error)
{
  const struct trial_values *t = arg;
  (void)error;
  for (size_t i = 0; i < t->contract->n_constants; i++) {
    if (!strcmp(t->contract->constants[i].name, name)) {
      *out = t->contract->constants[i].value;
      return 0;
    }
  }
  static const char *const dims[] = {"block.x", "block.y", "block.z"};
  for (int axis = 0; axis < 3; axis++) {
    int64_t v;
    if (!strcmp(name, dims[axis])) {
      if (!syntax_block_dim(t->contract, t->geometry, axis, &v))
        return 1;
      *out = kr_value_int(v);
      return 0;
    }
  }
  // Small ones and large ones; the same name has the same value throughout a trial.
  unsigned h = t->seed * 2654435761u + 40503u;
  for (const char *p = name; *p; p++)
    h = (h ^ (unsigned char)*p) * 16777619u;
  h ^= h >> 15;
  *out = kr_value_int(t->seed % 3 == 0 ? h % 40 : h % 20011);
  return 0;
}

static bool trial_value(const struct kr_rule_input *in, const char *text, unsigned seed, int64_t *out)
{
  if (!text) {
    *out = 1;
    return true;
  }
  struct kr_expr_error error;
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  if (!e)
    return false;
  struct trial_values t = {in->contract, in->geometry, seed};
  struct kr_expr_env env = {.lookup = trial_lookup, .arg = &t};
  struct kr_value v;
  bool ok = !kr_expr_eval(e, &env, &v, &error) && !kr_value_as_int(v, out);
  kr_expr_free(e);
  return ok;
}

bool shape_covers(const struct kr_rule_input *in, int axis, int64_t block, const char *bound)
{
  for (unsigned seed = 0; seed < 24; seed++) {
    int64_t grid, n;
    if (!trial_value(in, in->geometry->grid[axis], seed, &grid) ||
        !trial_value(in, bound, seed, &n) || grid != (n + block - 1) / block)
      return false;
  }
  return true;
}

bool shape_as_long(const struct kr_rule_input *in, const struct kr_section *sec, const char *bound)
{
  for (unsigned seed = 0; seed < 24; seed++) {
    int64_t n, length = 1;
    if (!trial_value(in, bound, seed, &n))
      return false;
    for (size_t i = 0; i < sec->n_dims; i++) {
      int64_t v;
      if (!trial_value(in, sec->dims[i], seed, &v))
        return false;
      length *= v;
    }
    if (length != n)
      return false;
  }
  return true;
}

bool shape_flat(const struct kr_rule_input *in, int axis)
{
  for (unsigned seed = 0; seed < 8; seed++) {
    int64_t grid, block;
    if (!trial_value(in, in->geometry->grid[axis], seed, &grid) || grid != 1 ||
        !trial_value(in, in->geometry->block[axis], seed, &block) || block != 1)
      return false;
  }
  return true;
}

// --- looking ---

bool shape_names(const struct syntax *s, struct syntax_span span, const char *word,
                 const char *member)
{
  for (size_t i = span.first; i < span.end; i++) {
    if (s->toks[i].kind == KR_TOK_IDENTIFIER && syntax_is(s, i, word) &&
        !(i && (syntax_is(s, i - 1, ".") || syntax_is(s, i - 1, "->"))) &&
        (!member || (syntax_is(s, i + 1, ".") && syntax_is(s, i + 2, member))))
      return true;
  }
  return false;
}

size_t shape_next_expr(const struct syntax *s, struct syntax_span span, enum syntax_expr_kind kind,
                       size_t *i)
{
  while (*i < s->n_exprs) {
    size_t at = (*i)++;
    if (s->exprs[at].kind == kind && syntax_within(s->exprs[at].span, span))
      return at;
  }
  return SYNTAX_NONE;
}

bool shape_always(const struct syntax *s, size_t expr)
{
  for (size_t e = s->exprs[expr].parent; e != SYNTAX_NONE; e = s->exprs[e].parent) {
    const struct syntax_expr *p = &s->exprs[e];
    if (p->kind == EXPR_COND)
      return false;
    if (p->kind == EXPR_BINARY && (syntax_is(s, p->op, "&&") || syntax_is(s, p->op, "||")))
      return false;
  }
  return true;
}

char *shape_scalar(const struct syntax *s, size_t name)
{
  const struct syntax_name *n = &s->names[name];
  static const char *const skipped[] = {"const",  "__shared__", "static",    "extern",
                                        "volatile", "constexpr", "register", NULL};
  if (!n->type.known)
    return NULL;
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 12);
  for (size_t i = n->specifiers.first; i < n->specifiers.end; i++) {
    bool skip = false;
    for (size_t k = 0; skipped[k]; k++)
      skip = skip || syntax_is(s, i, skipped[k]);
    if (skip)
      continue;
    bool joined = syntax_is(s, i, "::") || (b.len && b.data[b.len - 1] == ':');
    if (b.len && !joined)
      kr_bytes_addc(&b, ' ');
    kr_bytes_add(&b, s->text + s->toks[i].offset, s->toks[i].length);
  }
  if (!b.len) {
    kr_bytes_release(&b);
    return NULL;
  }
  return kr_bytes_take(&b);
}

// --- substitutions ---

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list ap)
{
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  char *text = kr_xmalloc((size_t)(n > 0 ? n : 0) + 1);
  *text = '\0';
  vsnprintf(text, (size_t)(n > 0 ? n : 0) + 1, fmt, again);
  va_end(again);
  return text;
}

void substs_add(struct substs *l, struct syntax_span span, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *text = format(fmt, ap);
  va_end(ap);
  KR_GROW(l->items, l->n, l->cap);
  l->items[l->n++] = (struct subst){span, text};
}

void substs_name(struct substs *l, const struct syntax *s, struct syntax_span span, size_t name,
                 const char *text)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind == EXPR_NAME && e->name == name && syntax_within(e->span, span))
      substs_add(l, e->span, "%s", text);
  }
}

void substs_member(struct substs *l, const struct syntax *s, struct syntax_span span,
                   const char *object, const char *member, const char *text)
{
  for (size_t i = span.first; i + 2 < span.end; i++) {
    if (syntax_is(s, i, object) && syntax_is(s, i + 1, ".") && syntax_is(s, i + 2, member) &&
        !(i && (syntax_is(s, i - 1, ".") || syntax_is(s, i - 1, "->"))))
      substs_add(l, (struct syntax_span){i, i + 3}, "%s", text);
  }
}

void substs_release(struct substs *l)
{
  for (size_t i = 0; i < l->n; i++)
    free(l->items[i].text);
  free(l->items);
  *l = (struct substs){0};
}

char *substs_text(const struct substs *l, const struct syntax *s, struct syntax_span span)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  for (size_t i = span.first; i < span.end;) {
    const struct subst *best = NULL;
    for (size_t k = 0; l && k < l->n; k++) {
      const struct subst *x = &l->items[k];
      if (x->span.first == i && x->span.end > i && x->span.end <= span.end &&
          (!best || x->span.end > best->span.end))
        best = x;
    }
    if (i > span.first) {
      size_t gap = s->toks[i - 1].offset + s->toks[i - 1].length;
      kr_bytes_add(&b, s->text + gap, s->toks[i].offset - gap);
    }
    if (best) {
      kr_bytes_adds(&b, best->text);
      i = best->span.end;
    } else {
      kr_bytes_add(&b, s->text + s->toks[i].offset, s->toks[i].length);
      i++;
    }
  }
  return kr_bytes_take(&b);
}

// --- conditions turned round ---

static bool is_integer(const struct syntax *s, size_t expr)
{
  struct syntax_type t = syntax_type_of(s, expr);
  return t.known && !t.pointers && !kr_kind_is_float(t.kind);
}

char *shape_negated(const struct syntax *s, size_t expr, const struct substs *l)
{
  static const char *const turned[][2] = {{"<", ">="}, {">=", "<"}, {">", "<="},
                                          {"<=", ">"}, {"==", "!="}, {"!=", "=="}};
  expr = syntax_strip(s, expr);
  const struct syntax_expr *e = &s->exprs[expr];
  if (e->kind == EXPR_UNARY && syntax_is(s, e->op, "!"))
    return substs_text(l, s, s->exprs[syntax_strip(s, e->child)].span);
  if (e->kind == EXPR_BINARY) {
    size_t left = syntax_arg(s, expr, 0), right = syntax_arg(s, expr, 1);
    bool any = syntax_is(s, e->op, "||"), all = syntax_is(s, e->op, "&&");
    if (any || all) {
      char *a = shape_negated(s, left, l), *b = shape_negated(s, right, l);
      char *out = any ? kr_xasprintf("%s && %s", a, b) : kr_xasprintf("(%s || %s)", a, b);
      free(a);
      free(b);
      return out;
    }
    // Of floating numbers neither may hold.
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) {
      if (!syntax_is(s, e->op, turned[i][0]) || !is_integer(s, left) || !is_integer(s, right))
        continue;
      char *a = substs_text(l, s, s->exprs[left].span), *b = substs_text(l, s, s->exprs[right].span);
      char *out = kr_xasprintf("%s %s %s", a, turned[i][1], b);
      free(a);
      free(b);
      return out;
    }
  }
  char *text = substs_text(l, s, e->span);
  char *out = kr_xasprintf("!(%s)", text);
  free(text);
  return out;
}

// --- what is needed ---

void wanted_mark(const struct syntax *s, bool *wanted, struct syntax_span span,
                 const struct substs *l)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind != EXPR_NAME || e->name == SYNTAX_NONE || !syntax_within(e->span, span))
      continue;
    bool gone = false;
    for (size_t k = 0; l && k < l->n; k++)
      gone = gone || syntax_within(e->span, l->items[k].span);
    if (!gone)
      wanted[e->name] = true;
  }
}

void wanted_close(const struct syntax *s, const struct shape *sh, const struct substs *l,
                  bool *wanted)
{
  // Guards are always needed, and they stand behind what they need.
  for (size_t i = 0; i < sh->n_items; i++) {
    if (sh->items[i].guard)
      wanted_mark(s, wanted, s->exprs[sh->items[i].cond].span, l);
  }
  for (size_t i = sh->n_items; i-- > 0;) {
    for (size_t k = s->n_names; k-- > 0;) {
      if (!sh->items[i].guard && s->names[k].stmt == sh->items[i].stmt && wanted[k])
        wanted_mark(s, wanted, s->names[k].declarator, l);
    }
  }
}

char *shape_item_text(const struct syntax *s, const struct shape_item *item, const struct substs *l,
                      const bool *wanted)
{
  size_t all = 0, needed = 0;
  for (size_t k = 0; k < s->n_names; k++) {
    if (s->names[k].stmt != item->stmt)
      continue;
    if (s->names[k].storage == SYNTAX_SHARED)
      return NULL;
    all++;
    needed += !wanted || wanted[k];
  }
  if (!needed)
    return NULL;
  if (needed == all)
    return substs_text(l, s, s->stmts[item->stmt].span);
  // Of `int c = ..., r = ...;` those that are needed.
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  for (size_t k = 0; k < s->n_names; k++) {
    const struct syntax_name *n = &s->names[k];
    if (n->stmt != item->stmt || !wanted[k])
      continue;
    if (!b.len) {
      char *specifiers = substs_text(NULL, s, n->specifiers);
      kr_bytes_addf(&b, "%s ", specifiers);
      free(specifiers);
    } else {
      kr_bytes_adds(&b, ", ");
    }
    char *declarator = substs_text(l, s, n->declarator);
    kr_bytes_adds(&b, declarator);
    free(declarator);
  }
  kr_bytes_addc(&b, ';');
  return kr_bytes_take(&b);
}

// --- putting together ---

void emit_begin(struct emit *e, const struct syntax *s)
{
  kr_bytes_init(&e->out, 1 << 20);
  e->s = s;
  size_t open = s->stmts[shape_kernel(s)->body].span.first;
  e->base = syntax_indent(s, s->stmts[shape_kernel(s)->body].span.end - 1);
  e->step = syntax_indent_step(s);
  e->level = 1;
  kr_bytes_add(&e->out, s->text, s->toks[open].offset + 1);
  kr_bytes_addc(&e->out, '\n');
}

static void emit_indent(struct emit *e)
{
  kr_bytes_adds(&e->out, e->base);
  for (unsigned i = 0; i < e->level; i++)
    kr_bytes_adds(&e->out, e->step);
}

__attribute__((format(printf, 2, 0))) static void emit_format(struct emit *e, const char *fmt,
                                                              va_list ap)
{
  char *text = format(fmt, ap);
  emit_indent(e);
  kr_bytes_adds(&e->out, text);
  free(text);
}

void emit_line(struct emit *e, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  emit_format(e, fmt, ap);
  va_end(ap);
  kr_bytes_addc(&e->out, '\n');
}

void emit_open(struct emit *e, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  emit_format(e, fmt, ap);
  va_end(ap);
  kr_bytes_adds(&e->out, "{\n");
  e->level++;
}

void emit_close(struct emit *e)
{
  e->level--;
  emit_line(e, "}");
}

// Text that stood where `token` stands, at the indentation that is in force.
static void emit_moved(struct emit *e, const char *text, size_t token)
{
  char *from = syntax_indent(e->s, token);
  struct kr_bytes to;
  kr_bytes_init(&to, 1 << 16);
  kr_bytes_adds(&to, e->base);
  for (unsigned i = 0; i < e->level; i++)
    kr_bytes_adds(&to, e->step);
  char *moved = syntax_reindent(text, from, to.data);
  kr_bytes_addf(&e->out, "%s%s\n", to.data, moved);
  kr_bytes_release(&to);
  free(moved);
  free(from);
}

void emit_stmt(struct emit *e, size_t stmt, const struct substs *l)
{
  char *text = substs_text(l, e->s, e->s->stmts[stmt].span);
  emit_moved(e, text, e->s->stmts[stmt].span.first);
  free(text);
}

unsigned emit_items(struct emit *e, const struct shape *sh, const struct substs *l,
                    const bool *wanted)
{
  const struct syntax *s = e->s;
  unsigned opened = 0;
  for (size_t i = 0; i < sh->n_items; i++) {
    const struct shape_item *item = &sh->items[i];
    if (item->guard) {
      char *cond = item->negated ? shape_negated(s, item->cond, l)
                                 : substs_text(l, s, s->exprs[item->cond].span);
      bool wrapped = cond[0] == '(' && !strchr(cond + 1, '(') && cond[strlen(cond) - 1] == ')';
      emit_open(e, wrapped ? "if %s " : "if (%s) ", cond);
      free(cond);
      opened++;
      continue;
    }
    char *text = shape_item_text(s, item, l, wanted);
    if (text)
      emit_moved(e, text, s->stmts[item->stmt].span.first);
    free(text);
  }
  return opened;
}

char *emit_end(struct emit *e)
{
  const struct syntax *s = e->s;
  size_t close = s->stmts[shape_kernel(s)->body].span.end - 1;
  kr_bytes_adds(&e->out, e->base);
  kr_bytes_add(&e->out, s->text + s->toks[close].offset, s->len - s->toks[close].offset);
  free(e->base);
  return kr_bytes_take(&e->out);
}
