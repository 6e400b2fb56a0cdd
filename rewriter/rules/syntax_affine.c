#include "syntax_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/expr.h"
#include "../../evaluator/base/mem.h"

// Integer expressions as sums of products, and constants of the slice.

enum { AFFINE_MAX_DEPTH = 32 };

static const struct affine unknown;

struct affine affine_constant(int64_t value)
{
  struct affine a = {.known = true};
  if (value) {
    a.n_terms = 1;
    a.terms[0].coefficient = value;
  }
  return a;
}

static int compare_factors(const struct affine_term *a, const struct affine_term *b)
{
  if (a->n_factors != b->n_factors)
    return a->n_factors < b->n_factors ? -1 : 1;
  for (unsigned i = 0; i < a->n_factors; i++) {
    if (a->factors[i] != b->factors[i])
      return a->factors[i] < b->factors[i] ? -1 : 1;
  }
  return 0;
}

// Adds `t` times `times`, keeping terms in order; false when there is no room.
static bool add_term(struct affine *a, const struct affine_term *t, int64_t times)
{
  int64_t c;
  if (__builtin_mul_overflow(t->coefficient, times, &c))
    return false;
  unsigned i = 0;
  while (i < a->n_terms && compare_factors(&a->terms[i], t) < 0)
    i++;
  if (i < a->n_terms && !compare_factors(&a->terms[i], t)) {
    if (__builtin_add_overflow(a->terms[i].coefficient, c, &c))
      return false;
    a->terms[i].coefficient = c;
    if (!c) {
      memmove(&a->terms[i], &a->terms[i + 1], (a->n_terms - i - 1) * sizeof *a->terms);
      a->n_terms--;
    }
    return true;
  }
  if (!c)
    return true;
  if (a->n_terms == AFFINE_MAX_TERMS)
    return false;
  memmove(&a->terms[i + 1], &a->terms[i], (a->n_terms - i) * sizeof *a->terms);
  a->terms[i] = *t;
  a->terms[i].coefficient = c;
  a->n_terms++;
  return true;
}

struct affine affine_add(const struct affine *a, const struct affine *b, int64_t times)
{
  struct affine sum = *a;
  if (!a->known || !b->known)
    return unknown;
  for (unsigned i = 0; i < b->n_terms; i++) {
    if (!add_term(&sum, &b->terms[i], times))
      return unknown;
  }
  return sum;
}

struct affine affine_multiply(const struct affine *a, const struct affine *b)
{
  struct affine product = {.known = true};
  if (!a->known || !b->known)
    return unknown;
  for (unsigned i = 0; i < a->n_terms; i++) {
    for (unsigned k = 0; k < b->n_terms; k++) {
      const struct affine_term *x = &a->terms[i], *y = &b->terms[k];
      struct affine_term t = {.coefficient = x->coefficient};
      unsigned p = 0, q = 0;
      if (x->n_factors + y->n_factors > AFFINE_MAX_FACTORS)
        return unknown;
      while (p < x->n_factors || q < y->n_factors) {
        bool left = q == y->n_factors || (p < x->n_factors && x->factors[p] <= y->factors[q]);
        t.factors[t.n_factors++] = left ? x->factors[p++] : y->factors[q++];
      }
      if (!add_term(&product, &t, y->coefficient))
        return unknown;
    }
  }
  return product;
}

bool affine_equal(const struct affine *a, const struct affine *b)
{
  struct affine d = affine_add(a, b, -1);
  return d.known && !d.n_terms;
}

bool affine_is_constant(const struct affine *a, int64_t *value)
{
  if (!a->known || a->n_terms > 1 || (a->n_terms == 1 && a->terms[0].n_factors))
    return false;
  *value = a->n_terms ? a->terms[0].coefficient : 0;
  return true;
}

static unsigned occurs(const struct affine_term *t, unsigned symbol)
{
  unsigned n = 0;
  for (unsigned i = 0; i < t->n_factors; i++)
    n += t->factors[i] == symbol;
  return n;
}

struct affine affine_coefficient(const struct affine *a, unsigned symbol)
{
  struct affine c = {.known = true};
  if (!a->known)
    return unknown;
  for (unsigned i = 0; i < a->n_terms; i++) {
    unsigned n = occurs(&a->terms[i], symbol);
    if (n > 1)
      return unknown;
    if (!n)
      continue;
    struct affine_term t = {.coefficient = a->terms[i].coefficient};
    for (unsigned k = 0; k < a->terms[i].n_factors; k++) {
      if (a->terms[i].factors[k] != symbol)
        t.factors[t.n_factors++] = a->terms[i].factors[k];
    }
    if (!add_term(&c, &t, 1))
      return unknown;
  }
  return c;
}

struct affine affine_without(const struct affine *a, unsigned symbol)
{
  struct affine r = {.known = true};
  if (!a->known)
    return unknown;
  for (unsigned i = 0; i < a->n_terms; i++) {
    if (!occurs(&a->terms[i], symbol))
      r.terms[r.n_terms++] = a->terms[i];
  }
  return r;
}

bool affine_has(const struct syntax *s, const struct affine *a, enum syntax_symbol_kind kind)
{
  for (unsigned i = 0; i < a->n_terms; i++) {
    for (unsigned k = 0; k < a->terms[i].n_factors; k++) {
      if (s->symbols[a->terms[i].factors[k]].kind == kind)
        return true;
    }
  }
  return false;
}

bool affine_block_uniform(const struct syntax *s, const struct affine *a)
{
  return a->known && !affine_has(s, a, SYMBOL_THREAD) && !affine_has(s, a, SYMBOL_LOOP) &&
         !affine_has(s, a, SYMBOL_VALUE);
}

bool affine_grid_uniform(const struct syntax *s, const struct affine *a)
{
  return affine_block_uniform(s, a) && !affine_has(s, a, SYMBOL_BLOCK);
}

// --- symbols ---

static unsigned symbol_new(struct syntax *s, enum syntax_symbol_kind kind, char *text, size_t name,
                           int axis)
{
  for (size_t i = 0; i < s->n_symbols; i++) {
    if (s->symbols[i].kind == kind && s->symbols[i].name == name &&
        !strcmp(s->symbols[i].text, text)) {
      free(text);
      return (unsigned)i;
    }
  }
  KR_GROW(s->symbols, s->n_symbols, s->cap_symbols);
  s->symbols[s->n_symbols] = (struct syntax_symbol){kind, text, name, axis};
  return (unsigned)s->n_symbols++;
}

unsigned syntax_builtin_symbol(struct syntax *s, enum syntax_symbol_kind kind, int axis)
{
  static const char *const names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  return symbol_new(s, kind, kr_xasprintf("%s.%c", names[kind], 'x' + axis), SYNTAX_NONE, axis);
}

unsigned syntax_name_symbol(const struct syntax *s, size_t name)
{
  for (size_t i = 0; i < s->n_symbols; i++) {
    if (s->symbols[i].name == name && !strchr(s->symbols[i].text, '.'))
      return (unsigned)i;
  }
  return UINT_MAX;
}

static struct affine affine_symbol(unsigned symbol)
{
  struct affine a = {.known = true, .n_terms = 1};
  a.terms[0] = (struct affine_term){.coefficient = 1, .n_factors = 1, .factors = {symbol}};
  return a;
}

// --- constants of the slice ---

static bool number_value(const char *text, struct kr_token t, int64_t *out)
{
  char word[64];
  size_t n = kr_token_text(text, t, word, sizeof word);
  if (t.kind != KR_TOK_NUMBER || n >= sizeof word)
    return false;
  bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
  if (strpbrk(word, hex ? "pP.'" : "eE.'fF"))
    return false;
  char *end;
  unsigned long long v = strtoull(word, &end, 0);
  if (end == word || strspn(end, "uUlL") != strlen(end) || v > INT64_MAX)
    return false;
  *out = (int64_t)v;
  return true;
}

// The expression language of geometry evaluates what a constant is defined as.
struct constants {
  const struct kr_contract *contract;
  int depth;
};

static bool slice_constant(const struct kr_contract *c, const char *name, int depth, int64_t *out);

static int lookup_constant(void *arg, const char *name, struct kr_value *out,
                           struct kr_expr_error *error)
{
  const struct constants *k = arg;
  (void)error;
  for (size_t i = 0; i < k->contract->n_constants; i++) {
    if (!strcmp(k->contract->constants[i].name, name)) {
      *out = k->contract->constants[i].value;
      return 0;
    }
  }
  int64_t v;
  if (!slice_constant(k->contract, name, k->depth + 1, &v))
    return 1;
  *out = kr_value_int(v);
  return 0;
}

static int size_constant(void *arg, const char *type, struct kr_value *out,
                         struct kr_expr_error *error)
{
  static const struct {
    const char *name;
    int size;
  } sizes[] = {{"float", 4}, {"int", 4}, {"unsigned", 4}, {"unsigned int", 4}, {"double", 8},
               {"char", 1}, {"size_t", 8}, {"float4", 16}, {"float2", 8}, {"int4", 16}};
  (void)error;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (!strcmp(type, sizes[i].name)) {
      *out = kr_value_int(sizes[i].size);
      return 0;
    }
  }
  char name[256];
  snprintf(name, sizeof name, "sizeof(%s)", type);
  return lookup_constant(arg, name, out, error);
}

static bool evaluate(const struct kr_contract *c, const char *text, size_t len, int depth,
                     int64_t *out)
{
  struct constants k = {c, depth};
  struct kr_expr_env env = {.lookup = lookup_constant, .size_of = size_constant, .arg = &k};
  struct kr_expr_error error = {0};
  struct kr_value v;
  struct kr_expr *e = kr_expr_parse(text, len, &error);
  bool fine = e && !kr_expr_eval(e, &env, &v, &error) && !v.is_real;
  kr_expr_free(e);
  if (fine)
    *out = v.i;
  return fine;
}

// `#define N 32`, `constexpr int N = 32;`, `const int N = 32;`, `enum { N = 32 }`:
// one definition only, on whose value nothing else can bear.
static bool slice_constant(const struct kr_contract *c, const char *name, int depth, int64_t *out)
{
  const char *text = c->before;
  size_t n, found = 0;
  bool fine = true;
  if (!text || depth > 8)
    return false;
  struct kr_token *toks = kr_lex_all(text, strlen(text), false, &n);
  for (size_t i = 2; i + 1 < n && fine; i++) {
    if (!kr_token_is(text, toks[i], name))
      continue;
    size_t from = i + 1, to = i + 1;
    if (toks[i].flags & KR_TOK_DIRECTIVE) {
      if (kr_token_is(text, toks[i - 1], "undef"))
        fine = false;
      if (!kr_token_is(text, toks[i - 1], "define"))
        continue;
      while (to < n && (toks[to].flags & KR_TOK_DIRECTIVE) &&
             !(toks[to].flags & KR_TOK_DIRECTIVE_START))
        to++;
      // A function-like macro has its bracket at once.
      if (from < to && kr_token_is(text, toks[from], "(") &&
          toks[from].offset == toks[i].offset + toks[i].length)
        fine = false;
    } else {
      if (!kr_token_is(text, toks[i + 1], "="))
        continue;
      bool constant = false;
      for (size_t back = 1; back <= i && back < 12; back++) {
        size_t k = i - back;
        if (toks[k].flags & KR_TOK_DIRECTIVE)
          break;
        if (kr_token_is(text, toks[k], ";") || kr_token_is(text, toks[k], ")") ||
            kr_token_is(text, toks[k], "}"))
          break;
        constant = constant || kr_token_is(text, toks[k], "constexpr") ||
                   kr_token_is(text, toks[k], "const") || kr_token_is(text, toks[k], "enum");
      }
      if (!constant)
        continue;
      from = to = i + 2;
      while (to < n && !kr_token_is(text, toks[to], ";") && !kr_token_is(text, toks[to], ",") &&
             !kr_token_is(text, toks[to], "}"))
        to++;
    }
    if (from >= to || to > n) {
      fine = false;
      continue;
    }
    size_t offset = toks[from].offset;
    int64_t v;
    fine = fine && evaluate(c, text + offset,
                            toks[to - 1].offset + toks[to - 1].length - offset, depth, &v) &&
           (!found || v == *out);
    if (fine) {
      *out = v;
      found++;
    }
  }
  free(toks);
  return fine && found;
}

bool syntax_geometry_constant(const struct kr_contract *c, const char *expr, int64_t *value)
{
  if (!expr) {
    *value = 1;
    return true;
  }
  return evaluate(c, expr, strlen(expr), 0, value);
}

bool syntax_block_dim(const struct kr_contract *c, const struct kr_geometry *g, int axis,
                      int64_t *value)
{
  return syntax_geometry_constant(c, g->block[axis], value);
}

bool syntax_constant(struct syntax *s, size_t expr, int64_t *value)
{
  struct affine a = syntax_affine(s, expr);
  return affine_is_constant(&a, value);
}

// --- expressions ---

static struct affine affine_of(struct syntax *s, size_t expr, int depth);

static struct affine affine_of_name(struct syntax *s, const struct syntax_expr *e, int depth)
{
  if (e->name == SYNTAX_NONE) {
    int64_t v;
    char *word = syntax_word(s, e->span.end - 1);
    bool known = s->contract && e->span.end == e->span.first + 1 &&
                 slice_constant(s->contract, word, 0, &v);
    if (!known && s->contract && e->span.end == e->span.first + 1) {
      for (size_t i = 0; i < s->contract->n_constants && !known; i++) {
        const struct kr_constant *c = &s->contract->constants[i];
        known = !strcmp(c->name, word) && !c->value.is_real;
        v = c->value.i;
      }
    }
    if (!strcmp(word, "warpSize")) {
      known = true;
      v = 32;
    }
    free(word);
    return known ? affine_constant(v) : unknown;
  }
  const struct syntax_name *n = &s->names[e->name];
  struct syntax_type t = n->type;
  if (!t.known || t.pointers || n->n_dims || t.is_reference || kr_kind_is_float(t.kind) ||
      n->escapes || n->storage == SYNTAX_SHARED || s->functions[n->function].opaque)
    return unknown;
  if (n->is_loop)
    return affine_symbol(symbol_new(s, SYMBOL_LOOP, kr_xstrdup(n->name), e->name, 0));
  if (n->n_writes)
    return unknown;
  if (n->storage == SYNTAX_PARAM) {
    if (n->function != s->kernel) // a helper's may differ from call to call
      return affine_symbol(symbol_new(s, SYMBOL_VALUE, kr_xstrdup(n->name), e->name, 0));
    return affine_symbol(symbol_new(s, SYMBOL_PARAM, kr_xstrdup(n->name), e->name, 0));
  }
  if (n->init == SYNTAX_NONE)
    return unknown;
  struct affine a = affine_of(s, n->init, depth + 1);
  if (a.known)
    return a;
  return affine_symbol(symbol_new(s, SYMBOL_VALUE, kr_xstrdup(n->name), e->name, 0));
}

static struct affine affine_of_member(struct syntax *s, const struct syntax_expr *e)
{
  static const char *const builtins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  const struct syntax_expr *object = &s->exprs[e->child];
  if (object->kind != EXPR_NAME || !syntax_is(s, e->op, "."))
    return unknown;
  if (object->name == SYNTAX_NONE) {
    for (int i = 0; i < 4; i++) {
      if (!syntax_is(s, object->span.first, builtins[i]))
        continue;
      for (int axis = 0; axis < 3; axis++) {
        char name[2] = {(char)('x' + axis), 0};
        if (syntax_is(s, e->op + 1, name))
          return affine_symbol(syntax_builtin_symbol(s, (enum syntax_symbol_kind)i, axis));
      }
    }
    return unknown;
  }
  const struct syntax_name *n = &s->names[object->name];
  if (n->storage != SYNTAX_PARAM || n->function != s->kernel || n->n_writes || n->escapes ||
      n->type.pointers || n->type.is_reference || s->functions[n->function].opaque ||
      !s->contract || n->param >= s->contract->n_params)
    return unknown;
  char *member = syntax_word(s, e->op + 1);
  const struct kr_param *p = &s->contract->params[n->param];
  bool integer = false;
  for (size_t i = 0; i < p->n_leaves; i++) {
    integer = integer || (!strcmp(p->leaves[i].path, member) && p->leaves[i].kind != KR_POINTER &&
                          !kr_kind_is_float(p->leaves[i].kind));
  }
  struct affine a = unknown;
  if (integer)
    a = affine_symbol(symbol_new(s, SYMBOL_PARAM, kr_xasprintf("%s.%s", n->name, member),
                                 object->name, 0));
  free(member);
  return a;
}

static struct affine affine_of(struct syntax *s, size_t expr, int depth)
{
  if (expr == SYNTAX_NONE || depth > AFFINE_MAX_DEPTH)
    return unknown;
  // A copy: the arrays do not move, but symbols may be added meanwhile.
  struct syntax_expr e = s->exprs[expr];
  switch (e.kind) {
  case EXPR_NUMBER: {
    int64_t v;
    return number_value(s->text, s->toks[e.span.first], &v) ? affine_constant(v) : unknown;
  }
  case EXPR_NAME:
    return affine_of_name(s, &e, depth);
  case EXPR_MEMBER:
    return affine_of_member(s, &e);
  case EXPR_PAREN:
    return affine_of(s, e.child, depth + 1);
  case EXPR_CAST:
    // Narrower than int changes values; a float is no integer any more.
    if (!e.type.known || e.type.pointers || kr_kind_is_float(e.type.kind) ||
        kr_kind_size(e.type.kind) < 4)
      return unknown;
    {
      struct syntax_type from = syntax_type_of(s, e.child);
      if (from.known && kr_kind_is_float(from.kind))
        return unknown;
    }
    return affine_of(s, e.child, depth + 1);
  case EXPR_UNARY: {
    struct affine a = affine_of(s, e.child, depth + 1), zero = affine_constant(0);
    if (syntax_is(s, e.op, "+"))
      return a;
    return syntax_is(s, e.op, "-") ? affine_add(&zero, &a, -1) : unknown;
  }
  case EXPR_BINARY: {
    struct affine a = affine_of(s, e.child, depth + 1);
    struct affine b = affine_of(s, s->exprs[e.child].next, depth + 1);
    int64_t x, y;
    if (!a.known || !b.known)
      return unknown;
    bool constants = affine_is_constant(&a, &x) && affine_is_constant(&b, &y);
    if (syntax_is(s, e.op, "+"))
      return affine_add(&a, &b, 1);
    if (syntax_is(s, e.op, "-"))
      return affine_add(&a, &b, -1);
    if (syntax_is(s, e.op, "*"))
      return affine_multiply(&a, &b);
    if (syntax_is(s, e.op, "<<") && affine_is_constant(&b, &y) && y >= 0 && y < 31) {
      struct affine power = affine_constant((int64_t)1 << y);
      return affine_multiply(&a, &power);
    }
    if (constants && syntax_is(s, e.op, "/") && y > 0 && x >= 0)
      return affine_constant(x / y);
    if (constants && syntax_is(s, e.op, "%") && y > 0 && x >= 0)
      return affine_constant(x % y);
    if (constants && syntax_is(s, e.op, ">>") && y >= 0 && y < 63 && x >= 0)
      return affine_constant(x >> y);
    return unknown;
  }
  default:
    return unknown;
  }
}

struct affine syntax_affine(struct syntax *s, size_t expr)
{
  return affine_of(s, expr, 0);
}

// The offset of pointer expression `expr` from its root, in elements of the root.
static struct affine pointer_offset(struct syntax *s, size_t expr, size_t *root, int depth)
{
  expr = syntax_strip(s, expr);
  *root = SYNTAX_NONE;
  if (expr == SYNTAX_NONE || depth > AFFINE_MAX_DEPTH)
    return unknown;
  struct syntax_expr e = s->exprs[expr];
  if (e.kind == EXPR_NAME && e.name != SYNTAX_NONE) {
    *root = syntax_root(s, e.name);
    if (*root == SYNTAX_NONE)
      return unknown;
    if (*root == e.name)
      return affine_constant(0);
    size_t inner;
    return pointer_offset(s, s->names[e.name].init, &inner, depth + 1);
  }
  if (e.kind == EXPR_UNARY && syntax_is(s, e.op, "&")) {
    size_t inner = syntax_strip(s, e.child);
    if (s->exprs[inner].kind == EXPR_SUBSCRIPT)
      return syntax_index(s, inner, root);
    return unknown;
  }
  if (e.kind == EXPR_BINARY && (syntax_is(s, e.op, "+") || syntax_is(s, e.op, "-"))) {
    size_t a = e.child, b = s->exprs[a].next;
    bool left = syntax_type_of(s, a).pointers;
    if (!left && !syntax_is(s, e.op, "+"))
      return unknown;
    struct affine base = pointer_offset(s, left ? a : b, root, depth + 1);
    struct affine add = syntax_affine(s, left ? b : a);
    // Of an array of arrays `+ 1` is a whole row.
    if (*root != SYNTAX_NONE && s->names[*root].n_dims > 1)
      return unknown;
    return affine_add(&base, &add, syntax_is(s, e.op, "+") ? 1 : -1);
  }
  return unknown;
}

struct affine syntax_index(struct syntax *s, size_t subscript, size_t *root)
{
  size_t indices[8], n = 0, base = subscript;
  *root = SYNTAX_NONE;
  while (base != SYNTAX_NONE && s->exprs[base].kind == EXPR_SUBSCRIPT && n < 8) {
    indices[n++] = s->exprs[s->exprs[base].child].next;
    base = syntax_strip(s, s->exprs[base].child);
  }
  struct affine sum = pointer_offset(s, base, root, 0);
  if (*root == SYNTAX_NONE)
    return unknown;
  const struct syntax_name *r = &s->names[*root];
  // indices[n - 1] is the outermost; of an array all have to be there.
  if (r->n_dims ? n != r->n_dims || s->exprs[base].kind != EXPR_NAME || s->exprs[base].name != *root
                : n != 1)
    return unknown;
  struct affine flat = affine_constant(0);
  for (size_t i = n; i-- > 0;) {
    struct affine index = syntax_affine(s, indices[i]);
    if (i != n - 1) {
      struct affine dim = syntax_affine(s, r->dim_exprs[n - 1 - i]);
      flat = affine_multiply(&flat, &dim);
    }
    flat = affine_add(&flat, &index, 1);
  }
  return affine_add(&sum, &flat, 1);
}

char *affine_print(const struct syntax *s, const struct affine *a)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  if (!a->known)
    kr_bytes_adds(&b, "unknown");
  else if (!a->n_terms)
    kr_bytes_adds(&b, "0");
  for (unsigned i = 0; a->known && i < a->n_terms; i++) {
    const struct affine_term *t = &a->terms[i];
    int64_t c = t->coefficient;
    if (i)
      kr_bytes_adds(&b, c < 0 ? " - " : " + ");
    else if (c < 0)
      kr_bytes_addc(&b, '-');
    uint64_t magnitude = c < 0 ? 0 - (uint64_t)c : (uint64_t)c;
    if (magnitude != 1 || !t->n_factors)
      kr_bytes_addf(&b, "%llu%s", (unsigned long long)magnitude, t->n_factors ? "*" : "");
    for (unsigned k = 0; k < t->n_factors; k++)
      kr_bytes_addf(&b, "%s%s", k ? "*" : "", s->symbols[t->factors[k]].text);
  }
  return kr_bytes_take(&b);
}

int64_t syntax_loop_count(struct syntax *s, const struct syntax_loop *loop)
{
  int64_t v, bound, step = 1;
  if (!syntax_constant(s, loop->init, &v) || !syntax_constant(s, loop->bound, &bound) ||
      (loop->step != SYNTAX_NONE && !syntax_constant(s, loop->step, &step)))
    return -1;
  int64_t n = 0;
  for (; n <= 1 << 20; n++) {
    bool on = !strcmp(loop->relation, "<")    ? v < bound
              : !strcmp(loop->relation, "<=") ? v <= bound
              : !strcmp(loop->relation, ">")  ? v > bound
              : !strcmp(loop->relation, ">=") ? v >= bound
                                              : v != bound;
    if (!on)
      return n;
    bool lost = false;
    switch (loop->step_op[0]) {
    case '+':
      lost = __builtin_add_overflow(v, step, &v);
      break;
    case '-':
      lost = __builtin_sub_overflow(v, step, &v);
      break;
    case '*':
      lost = __builtin_mul_overflow(v, step, &v);
      break;
    case '/':
      lost = step <= 0;
      v = lost ? v : v / step;
      break;
    case '<':
      lost = step < 0 || step > 30 || __builtin_mul_overflow(v, (int64_t)1 << step, &v);
      break;
    default:
      lost = step < 0 || step > 30 || v < 0;
      v = lost ? v : v >> step;
    }
    if (lost || v > INT_MAX || v < INT_MIN)
      return -1;
  }
  return -1;
}

// --- what the contract promises ---

const struct kr_section *syntax_section(const struct kr_contract *c, const char *param)
{
  for (size_t i = 0; c && i < c->n_sections; i++) {
    if (!strcmp(c->sections[i].path, param))
      return &c->sections[i];
  }
  return NULL;
}

bool syntax_disjoint(const struct kr_contract *c)
{
  for (size_t k = 0; c && k < c->n_cases; k++) {
    for (size_t i = 0; i < c->n_sections && c->cases[k].fillings; i++) {
      if (c->cases[k].fillings[i].kind == KR_FILLED_ALIAS)
        return false;
    }
  }
  return c != NULL;
}

bool syntax_element(const struct kr_contract *c, const char *param, enum kr_kind *kind)
{
  for (size_t i = 0; c && i < c->n_params; i++) {
    const struct kr_param *p = &c->params[i];
    if (strcmp(p->name, param) || p->n_leaves != 1 || p->leaves[0].kind != KR_POINTER)
      continue;
    const struct kr_type *t = &c->types[p->leaves[0].type];
    if (t->n_leaves != 1 || t->leaves[0].path[0] || t->leaves[0].kind == KR_POINTER)
      return false;
    *kind = t->leaves[0].kind;
    return true;
  }
  return false;
}

int64_t syntax_alignment(const struct kr_contract *c, const struct kr_section *sec)
{
  int64_t align;
  if (sec->align && evaluate(c, sec->align, strlen(sec->align), 0, &align) && align > 0)
    return align;
  enum kr_kind kind;
  return syntax_element(c, sec->path, &kind) ? (int64_t)kr_kind_size(kind) : 1;
}
