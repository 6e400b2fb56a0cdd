#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"
#include "shape.h"

// One thread, one element of 4 bytes: a warp asks for 128 bytes at a time. With 16
// bytes a thread the same bytes take a quarter of the requests, and more of them
// are under way. Needs the promise that sections begin on 16 bytes, and a kernel
// whose element i hangs on nothing but element i of what is loaded so. What is left
// behind the last whole group of four is done one by one.

enum { GROUPED_MAX = 8 };

struct grouped {
  size_t name;       // parameter
  bool loaded, stored;
  char *type, *vector; // "float", "float4"
  char *array;         // of the elements in hand
};

struct grouping {
  struct syntax *s;
  const struct kr_rule_input *in;
  struct shape sh;
  struct shape_coord at;
  size_t bound, guard; // expression; the item
  char *limit;
  int64_t width;       // elements of a group
  struct grouped g[GROUPED_MAX];
  size_t n;
  bool uses_i;         // other than as the grouped subscript
};

static const char *vector_type(enum kr_kind kind, int64_t *width)
{
  switch (kind) {
  case KR_F32: *width = 4; return "float4";
  case KR_I32: *width = 4; return "int4";
  case KR_U32: *width = 4; return "uint4";
  case KR_F64: *width = 2; return "double2";
  default: return NULL;
  }
}

static const char *maker(enum kr_kind kind)
{
  switch (kind) {
  case KR_F32: return "make_float4";
  case KR_I32: return "make_int4";
  case KR_U32: return "make_uint4";
  default: return "make_double2";
  }
}

// Is the subscript element i of a parameter?
static bool at_i(struct grouping *v, size_t subscript, size_t *root)
{
  struct syntax *s = v->s;
  size_t base = syntax_strip(s, syntax_arg(s, subscript, 0));
  struct affine a = syntax_index(s, subscript, root);
  struct affine i = syntax_affine(s, s->names[v->at.name].init);
  return a.known && i.known && *root != SYNTAX_NONE && s->exprs[base].kind == EXPR_NAME &&
         s->exprs[base].name == *root && s->names[*root].storage == SYNTAX_PARAM &&
         affine_equal(&a, &i);
}

static struct grouped *find(struct grouping *v, size_t name)
{
  for (size_t i = 0; i < v->n; i++) {
    if (v->g[i].name == name)
      return &v->g[i];
  }
  return NULL;
}

// Runs whenever the guard holds: in a declaration, or directly in the work.
static bool runs_always(const struct grouping *v, size_t expr)
{
  size_t stmt = v->s->exprs[expr].stmt;
  bool direct = false;
  for (size_t i = 0; i < v->sh.n_items; i++)
    direct = direct || (v->sh.items[i].stmt == stmt && !v->sh.items[i].guard);
  for (size_t i = 0; i < v->sh.n_work; i++)
    direct = direct || (v->sh.work[i] == stmt && v->s->stmts[stmt].kind == STMT_EXPR);
  return direct && shape_always(v->s, expr);
}

// Which sections are taken in groups: all that are stored to, and what is loaded
// at i and may be loaded whole.
static bool find_grouped(struct grouping *v)
{
  struct syntax *s = v->s;
  struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
  size_t i = 0, e, root;
  while ((e = shape_next_expr(s, body, EXPR_SUBSCRIPT, &i)) != SYNTAX_NONE) {
    bool own = at_i(v, e, &root);
    unsigned use = s->exprs[e].use;
    bool written = (use & SYNTAX_WRITTEN) != 0;
    if (use & (SYNTAX_ATOMIC | SYNTAX_ESCAPES))
      return false;
    if (root == SYNTAX_NONE)
      return false;
    if (s->names[root].storage != SYNTAX_PARAM) {
      continue; // an array of the thread's own
    }
    if (written && (!own || !runs_always(v, e)))
      return false;
    if (!own)
      continue;
    const struct kr_section *sec = syntax_section(v->in->contract, s->names[root].name);
    int64_t width;
    const struct syntax_type *t = &s->names[root].type;
    const char *vector = t->known && t->pointers == 1 ? vector_type(t->kind, &width) : NULL;
    bool fits = sec && !sec->start && vector && syntax_alignment(v->in->contract, sec) >= 16 &&
                (runs_always(v, e) || shape_as_long(v->in, sec, v->limit)) &&
                (!v->width || v->width == width);
    if (!fits && written)
      return false;
    if (!fits)
      continue;
    struct grouped *g = find(v, root);
    if (!g) {
      if (v->n == GROUPED_MAX)
        return false;
      g = &v->g[v->n++];
      *g = (struct grouped){.name = root, .type = shape_scalar(s, root),
                            .vector = kr_xstrdup(vector)};
      if (!g->type)
        return false;
      v->width = width;
    }
    g->stored = g->stored || written;
    g->loaded = g->loaded || (use & SYNTAX_READ);
  }
  // What is stored to in groups is touched at i alone; nothing else is stored to.
  bool stores = false;
  for (size_t k = 0; k < v->n; k++) {
    size_t at = 0;
    stores = stores || v->g[k].stored;
    if (!v->g[k].stored)
      continue;
    while ((e = shape_next_expr(s, body, EXPR_NAME, &at)) != SYNTAX_NONE) {
      if (s->exprs[e].name != v->g[k].name)
        continue;
      size_t parent = s->exprs[e].parent;
      if (parent == SYNTAX_NONE || s->exprs[parent].kind != EXPR_SUBSCRIPT ||
          !at_i(v, parent, &root))
        return false;
    }
  }
  for (size_t k = 0; k < s->n_exprs; k++) {
    const struct syntax_expr *x = &s->exprs[k];
    if (x->function != s->kernel)
      continue;
    // Through `*` or a member of what is pointed to: not looked at.
    if ((x->kind == EXPR_UNARY && syntax_is(s, x->op, "*")) ||
        (x->kind == EXPR_UNARY && syntax_is(s, x->op, "&")) ||
        (x->kind == EXPR_MEMBER && syntax_is(s, x->op, "->")) || x->kind == EXPR_UNKNOWN)
      return false;
    if (x->kind == EXPR_CALL && !shape_pure(s, k))
      return false;
  }
  return stores;
}

static bool read_kernel(struct grouping *v)
{
  struct syntax *s = v->s;
  struct shape_term terms[SHAPE_MAX_TERMS];
  if (s->kernel == SYNTAX_NONE || syntax_may_sync(s, shape_kernel(s)->span) || shape_has_shared(s) ||
      !syntax_disjoint(v->in->contract) || !shape_read(s, &v->sh) || !shape_flat(v->in, 1) ||
      !shape_flat(v->in, 2) || !shape_coord_along(s, v->in, &v->sh, 0, &v->at))
    return false;
  // One guard, and it is `i < n` alone.
  v->guard = SYNTAX_NONE;
  for (size_t i = 0; i < v->sh.n_items; i++) {
    struct shape one = {.n_items = 1, .items = {v->sh.items[i]}};
    if (!v->sh.items[i].guard)
      continue;
    if (v->guard != SYNTAX_NONE || shape_terms(s, &one, terms) != 1 ||
        !shape_bounds(s, &terms[0], v->at.name, &v->bound))
      return false;
    v->guard = i;
  }
  if (v->guard == SYNTAX_NONE || !(v->limit = shape_uniform(s, v->bound)) ||
      !shape_covers(v->in, 0, v->at.block, v->limit))
    return false;
  struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
  struct substs none = {0};
  substs_add(&none, s->exprs[s->names[v->at.name].init].span, "0");
  char *text = substs_text(&none, s, body);
  static const char *const words[] = {"threadIdx", "blockIdx", "gridDim", "blockDim", "asm", NULL};
  bool ok = true;
  for (size_t i = 0; words[i]; i++)
    ok = ok && !strstr(text, words[i]);
  free(text);
  substs_release(&none);
  return ok && find_grouped(v);
}

// --- writing it ---

static char *write_grouped(struct grouping *v)
{
  struct syntax *s = v->s;
  struct emit e;
  struct substs whole = {0}, tail = {0};
  struct syntax_span body = s->stmts[shape_kernel(s)->body].span;
  const struct syntax_name *n = &s->names[v->at.name];
  long long width = v->width;
  char *first = syntax_fresh(s, "first"), *k = syntax_fresh(s, "k"), *at = syntax_fresh(s, "at");
  char *bound = shape_bound_text(s, v->bound), *type = shape_scalar(s, v->at.name);
  static const char *const member[] = {"x", "y", "z", "w"};
  size_t i = 0, x, root;
  while ((x = shape_next_expr(s, body, EXPR_SUBSCRIPT, &i)) != SYNTAX_NONE) {
    struct grouped *g = at_i(v, x, &root) ? find(v, root) : NULL;
    if (g && !g->array) {
      char *base = kr_xasprintf("%s_part", s->names[root].name);
      g->array = syntax_fresh(s, base);
      free(base);
    }
    if (g)
      substs_add(&whole, s->exprs[x].span, "%s[%s]", g->array, k);
  }
  substs_add(&whole, s->exprs[n->init].span, "(%s)(%s + %s)", type, first, k);
  substs_add(&tail, s->exprs[n->init].span, "(%s)%s", type, at);
  struct shape sh = v->sh;
  memmove(&sh.items[v->guard], &sh.items[v->guard + 1],
          (sh.n_items - v->guard - 1) * sizeof *sh.items);
  sh.n_items--;
  // Of the declarations what is mentioned when the grouped elements are put in.
  bool *wanted = kr_xcalloc(s->n_names + 1, sizeof *wanted);
  for (i = 0; i < sh.n_work; i++)
    wanted_mark(s, wanted, s->stmts[sh.work[i]].span, &whole);
  wanted_close(s, &sh, &whole, wanted);

  emit_begin(&e, s);
  emit_line(&e, "const long long %s = %lldLL * ((long long)blockIdx.x * blockDim.x + threadIdx.x);",
            first, width);
  emit_open(&e, "if (%s + %lld <= %s) ", first, width, bound);
  for (i = 0; i < v->n; i++) {
    const struct grouped *g = &v->g[i];
    const char *name = s->names[g->name].name;
    if (!g->loaded) {
      emit_line(&e, "%s %s[%lld];", g->type, g->array, width);
      continue;
    }
    char *base = kr_xasprintf("%s%lld", name, width), *group = syntax_fresh(s, base);
    emit_line(&e, "const %s %s = *reinterpret_cast<const %s *>(%s + %s);", g->vector, group,
              g->vector, name, first);
    struct kr_bytes parts;
    kr_bytes_init(&parts, 1 << 12);
    for (int64_t m = 0; m < v->width; m++)
      kr_bytes_addf(&parts, "%s%s.%s", m ? ", " : "", group, member[m]);
    emit_line(&e, "%s %s[%lld] = {%s};", g->type, g->array, width, parts.data);
    kr_bytes_release(&parts);
    free(base);
    free(group);
  }
  kr_bytes_adds(&e.out, "#pragma unroll\n");
  emit_open(&e, "for (int %s = 0; %s < %lld; %s++) ", k, k, width, k);
  emit_items(&e, &sh, &whole, wanted);
  for (i = 0; i < sh.n_work; i++)
    emit_stmt(&e, sh.work[i], &whole);
  emit_close(&e);
  for (i = 0; i < v->n; i++) {
    const struct grouped *g = &v->g[i];
    if (!g->stored)
      continue;
    struct kr_bytes parts;
    kr_bytes_init(&parts, 1 << 12);
    for (int64_t m = 0; m < v->width; m++)
      kr_bytes_addf(&parts, "%s%s[%lld]", m ? ", " : "", g->array, (long long)m);
    emit_line(&e, "*reinterpret_cast<%s *>(%s + %s) = %s(%s);", g->vector, s->names[g->name].name,
              first, maker(s->names[g->name].type.kind), parts.data);
    kr_bytes_release(&parts);
  }
  e.level--;
  emit_open(&e, "} else ");
  emit_open(&e, "for (long long %s = %s; %s < %s; %s++) ", at, first, at, bound, at);
  memset(wanted, 0, (s->n_names + 1) * sizeof *wanted);
  for (i = 0; i < sh.n_work; i++)
    wanted_mark(s, wanted, s->stmts[sh.work[i]].span, &tail);
  wanted_close(s, &sh, &tail, wanted);
  emit_items(&e, &sh, &tail, wanted);
  for (i = 0; i < sh.n_work; i++)
    emit_stmt(&e, sh.work[i], &tail);
  emit_close(&e);
  emit_close(&e);
  free(wanted);
  free(first);
  free(k);
  free(at);
  free(bound);
  free(type);
  substs_release(&whole);
  substs_release(&tail);
  return emit_end(&e);
}

// Calls of functions and divisions make memory the smaller part of the time.
static bool is_heavy(const struct syntax *s)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind == EXPR_CALL && e->function == s->kernel)
      return true;
  }
  return false;
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  struct grouping v = {.s = &s, .in = in};
  if (read_kernel(&v)) {
    struct kr_bytes place;
    kr_bytes_init(&place, 1 << 12);
    for (size_t i = 0; i < v.n; i++)
      kr_bytes_addf(&place, "%s%s", i ? " " : "", s.names[v.g[i].name].name);
    struct kr_geometry g = *in->geometry;
    g.grid[0] = kr_xasprintf("ceil_div(%s, %lld)", v.limit, (long long)(v.width * v.at.block));
    bool tunable = in->contract->tunable, heavy = is_heavy(&s);
    char *code = write_grouped(&v);
    rule_propose(out, in, &vector4_rule, kr_xstrdup(place.data), code,
                 heavy ? 1.03 : tunable ? 1.15 : 1.04, tunable ? &g : NULL,
                 "Loads and stores %lld elements of %s a thread as 16 bytes, %s, and what is left "
                 "at the end one by one.",
                 (long long)v.width, place.data,
                 tunable ? "with as many fewer threads" : "by the first of the grid's threads");
    kr_bytes_release(&place);
    free(g.grid[0]);
  }
  for (size_t i = 0; i < v.n; i++) {
    free(v.g[i].type);
    free(v.g[i].vector);
    free(v.g[i].array);
  }
  free(v.limit);
  syntax_release(&s);
}

const struct kr_rule vector4_rule = {"vector4", "16-byte loads and stores of elementwise kernels",
                                     propose};
