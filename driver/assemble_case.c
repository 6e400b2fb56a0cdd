#include "assemble_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Cases: the product of all lists, less what `require` drops, and each with its
// numbers tried once, so that what cannot be computed is told at the marker
// instead of in a worker.

enum {
  CASE_MAX_PRODUCT = 4096,
  CASE_BLOCK_THREADS = 1024,
  CASE_SHARED_BYTES = 48 << 10,
  CASE_SMS = 132, // of no particular device; only so that `sms` has a value here
  CASE_WARP = 32
};

struct case_env {
  struct assembly *a;
  struct kr_constant *names; // their strings are borrowed
  size_t n;
  bool busy[6];
  bool indices; // i, i0 ... have a value: 0
  struct kr_case *k;
};

static void case_print(const struct case_env *v, struct kr_bytes *out)
{
  // Drawn values are no part of what the user wrote.
  for (size_t i = 0; i < v->n; i++) {
    if (v->k->bindings[i].drawn)
      continue;
    kr_bytes_addf(out, "%s%s = ", out->len ? ", " : "", v->names[i].name);
    kr_value_print(v->names[i].value, out);
  }
}

// An error at a place, once, with the values in force.
static bool case_fail(struct case_env *v, struct kr_span at, const char *text)
{
  struct assembly *a = v->a;
  for (size_t i = 0; i < a->n_told; i++)
    if (a->told[i].offset == at.offset && a->told[i].length == at.length)
      return false;
  a->told = kr_xreallocarray(a->told, a->n_told + 1, sizeof *a->told);
  a->told[a->n_told++] = at;
  struct kr_bytes values;
  kr_bytes_init(&values, 4096);
  case_print(v, &values);
  asm_fail(a, at, "%s%s%s", text, values.len ? ", in the case " : "", values.data);
  kr_bytes_release(&values);
  return false;
}

static int env_axis(struct case_env *v, bool grid, int which, struct kr_value *out,
                    struct kr_expr_error *error);

static int env_lookup(void *arg, const char *name, struct kr_value *out,
                      struct kr_expr_error *error)
{
  struct case_env *v = arg;
  bool grid;
  int which;
  for (size_t i = v->n; i-- > 0;)
    if (!strcmp(v->names[i].name, name)) {
      *out = v->names[i].value;
      return 0;
    }
  if (asm_axis_name(name, &grid, &which))
    return env_axis(v, grid, which, out, error);
  if (v->indices && asm_index_name(name)) {
    *out = kr_value_int(0);
    return 0;
  }
  if (!strcmp(name, "warp") || !strcmp(name, "sms")) {
    *out = kr_value_int(name[0] == 'w' ? CASE_WARP : CASE_SMS);
    return 0;
  }
  const struct kr_pconstant *c = kr_unit_constant(v->a->unit, v->a->k->at.offset, name);
  if (!c || !c->known)
    return 1;
  *out = c->is_real ? kr_value_real(c->d) : kr_value_int(c->i);
  return 0;
}

static int env_size_of(void *arg, const char *type, struct kr_value *out,
                       struct kr_expr_error *error)
{
  (void)error;
  struct case_env *v = arg;
  char *name = kr_xasprintf("sizeof(%s)", type);
  const struct kr_pconstant *c = kr_unit_constant(v->a->unit, v->a->k->at.offset, name);
  free(name);
  if (!c || !c->known)
    return 1;
  *out = kr_value_int(c->i);
  return 0;
}

static int env_raw(struct case_env *v, const struct kr_expr *e, struct kr_value *out,
                   struct kr_expr_error *error)
{
  struct kr_expr_env env = {env_lookup, env_size_of, NULL, v};
  return kr_expr_eval(e, &env, out, error);
}

static int env_axis(struct case_env *v, bool grid, int which, struct kr_value *out,
                    struct kr_expr_error *error)
{
  const struct asm_geo *g = grid ? &v->a->grid[which] : &v->a->block[which];
  size_t slot = (size_t)which + (grid ? 3 : 0);
  if (!g->e) {
    *out = kr_value_int(1);
    return 0;
  }
  if (v->busy[slot]) {
    snprintf(error->text, sizeof error->text, "`%s.%c` needs itself", grid ? "grid" : "block",
             'x' + which);
    return -1;
  }
  struct kr_expr_error inner = {0};
  v->busy[slot] = true;
  int rc = env_raw(v, g->e, out, &inner);
  v->busy[slot] = false;
  if (rc)
    snprintf(error->text, sizeof error->text, "in `%s.%c`: %.220s", grid ? "grid" : "block",
             'x' + which, inner.text);
  return rc ? -1 : 0;
}

static bool case_eval(struct case_env *v, const struct kr_mexpr *e, struct kr_value *out)
{
  struct kr_expr_error error = {0};
  if (!env_raw(v, e->e, out, &error))
    return true;
  return case_fail(v, kr_marker_expr_place(v->a->r->src, e, error.offset, error.length),
                   error.text);
}

static bool case_eval_int(struct case_env *v, const struct kr_mexpr *e, int64_t *out)
{
  struct kr_value value;
  if (!case_eval(v, e, &value))
    return false;
  if (!kr_value_as_int(value, out))
    return true;
  struct kr_bytes text;
  kr_bytes_init(&text, 256);
  kr_bytes_addf(&text, "`%s` must be a whole number and is ", e->text);
  kr_value_print(value, &text);
  case_fail(v, e->at, text.data);
  kr_bytes_release(&text);
  return false;
}

// --- values of parameters ---

// Why `v` is no value of the kind, or NULL.
static const char *case_misfit(enum kr_scalar kind, struct kr_value v)
{
  static const struct {
    int64_t lo, hi;
  } range[] = {[KR_SCALAR_BOOL] = {0, 1},
               [KR_SCALAR_I8] = {INT8_MIN, INT8_MAX},
               [KR_SCALAR_U8] = {0, UINT8_MAX},
               [KR_SCALAR_I16] = {INT16_MIN, INT16_MAX},
               [KR_SCALAR_U16] = {0, UINT16_MAX},
               [KR_SCALAR_I32] = {INT32_MIN, INT32_MAX},
               [KR_SCALAR_U32] = {0, UINT32_MAX},
               [KR_SCALAR_I64] = {INT64_MIN, INT64_MAX},
               [KR_SCALAR_U64] = {0, INT64_MAX}};
  double largest = kind == KR_SCALAR_F16    ? 65504
                   : kind == KR_SCALAR_BF16 ? 3.3895313892515355e38
                   : kind == KR_SCALAR_F32  ? 3.4028234663852886e38
                                            : 1.7976931348623157e308;
  if (kind >= KR_SCALAR_F16)
    return fabs(kr_value_as_real(v)) <= largest ? NULL : "does not fit";
  int64_t i;
  if (kr_value_as_int(v, &i))
    return "is no whole number, as it must be for";
  return i >= range[kind].lo && i <= range[kind].hi ? NULL : "does not fit";
}

static bool case_fits(struct case_env *v, const struct asm_leaf *leaf, struct kr_value value,
                      struct kr_span at)
{
  const char *why = case_misfit(leaf->leaf->kind, value);
  if (!why)
    return true;
  struct kr_bytes text;
  kr_bytes_init(&text, 512);
  kr_value_print(value, &text);
  kr_bytes_addf(&text, " %s `%s` (%s)", why, leaf->path, asm_type_name(leaf));
  case_fail(v, at, text.data);
  kr_bytes_release(&text);
  return false;
}

static void case_add_binding(struct kr_case *k, struct kr_binding b)
{
  k->bindings = kr_xreallocarray(k->bindings, k->n_bindings + 1, sizeof *k->bindings);
  k->bindings[k->n_bindings++] = b;
}

static size_t case_choice(const struct assembly *a, const size_t *at, enum asm_axis_kind kind,
                          size_t index)
{
  for (size_t i = 0; i < a->n_axes; i++)
    if (a->axes[i].kind == kind && a->axes[i].index == index)
      return at[i];
  return 0;
}

// The bindings of one case: drawn scalars and bools first, then the marker's in order.
static bool case_bind(struct case_env *v, const size_t *at)
{
  struct assembly *a = v->a;
  struct kr_case *k = v->k;
  size_t total = a->n_leaves;
  for (size_t i = 0; i < a->m->n_bindings; i++)
    total += a->m->bindings[i].n_paths;
  v->names = kr_xcalloc(total + 1, sizeof *v->names);
  for (size_t i = 0; i < a->n_leaves; i++) {
    const struct asm_leaf *leaf = &a->leaves[i];
    if (leaf->binding || leaf->leaf->kind == KR_SCALAR_POINTER)
      continue;
    struct kr_binding b = {.path = kr_xstrdup(leaf->path)};
    bool boolean = leaf->leaf->kind == KR_SCALAR_BOOL;
    size_t choice = case_choice(a, at, ASM_AXIS_BOOL, i);
    b.drawn = !boolean;
    b.expr = boolean ? kr_xstrdup(choice ? "1" : "0") : NULL;
    v->names[v->n++] = (struct kr_constant){
        leaf->path, boolean ? kr_value_int((int64_t)choice) : kr_value_real(0.5)};
    case_add_binding(k, b);
  }
  for (size_t i = 0; i < a->m->n_bindings; i++) {
    const struct kr_mbinding *b = &a->m->bindings[i];
    size_t row = case_choice(a, at, ASM_AXIS_BINDING, i);
    for (size_t j = 0; j < b->n_paths; j++) {
      const struct kr_mexpr *e = &b->values[row * b->n_paths + j];
      struct kr_value value;
      if (!case_eval(v, e, &value))
        return false;
      case_add_binding(k, (struct kr_binding){.path = kr_xstrdup(b->paths[j]),
                                              .expr = kr_xstrdup(e->text),
                                              .fixed = b->fix});
      v->names[v->n++] = (struct kr_constant){b->paths[j], value};
    }
  }
  return true;
}

static bool case_fit_all(struct case_env *v, const size_t *at)
{
  struct assembly *a = v->a;
  bool ok = true;
  for (size_t i = 0; i < a->m->n_bindings; i++) {
    const struct kr_mbinding *b = &a->m->bindings[i];
    size_t row = case_choice(a, at, ASM_AXIS_BINDING, i);
    for (size_t j = 0; j < b->n_paths; j++) {
      const struct asm_leaf *leaf = asm_leaf_find(a, b->paths[j]);
      struct kr_value value = {0};
      for (size_t n = 0; n < v->n; n++)
        if (!strcmp(v->names[n].name, b->paths[j]))
          value = v->names[n].value;
      ok &= !leaf || case_fits(v, leaf, value, b->values[row * b->n_paths + j].at);
    }
  }
  return ok;
}

// 1 when every require holds, 0 when one drops the case, -1 with an error told.
static int case_required(struct case_env *v)
{
  for (size_t i = 0; i < v->a->m->n_requires; i++) {
    struct kr_value value;
    if (!case_eval(v, &v->a->m->requires_[i], &value))
      return -1;
    if (!kr_value_true(value))
      return 0;
  }
  return 1;
}

// --- the launch ---

static struct kr_span geo_place(const struct case_env *v, const struct asm_geo *g)
{
  const struct kr_psite *site = v->a->site;
  if (g->written)
    return g->written->at;
  return site && site->in_file ? site->config : asm_marker_place(v->a);
}

static bool geo_value(struct case_env *v, const struct asm_geo *g, bool *busy, const char *what,
                      int64_t lo, int64_t hi, int64_t *out)
{
  struct kr_expr_error error = {0};
  struct kr_value value;
  char text[512];
  *out = lo ? 1 : 0;
  if (!g->e)
    return true;
  if (busy)
    *busy = true;
  int rc = env_raw(v, g->e, &value, &error);
  if (busy)
    *busy = false;
  if (rc) {
    struct kr_span at = g->written ? kr_marker_expr_place(v->a->r->src, g->written, error.offset,
                                                          error.length)
                                   : geo_place(v, g);
    if (g->written)
      return case_fail(v, at, error.text);
    snprintf(text, sizeof text, "%.200s, in the %.20s `%.200s`", error.text, what, g->text);
    return case_fail(v, at, text);
  }
  if (kr_value_as_int(value, out)) {
    snprintf(text, sizeof text, "the %s `%.200s` is no whole number", what, g->text);
    return case_fail(v, geo_place(v, g), text);
  }
  if (*out < lo || *out > hi) {
    snprintf(text, sizeof text, "the %s `%.200s` is %lld, outside %lld … %lld", what, g->text,
             (long long)*out, (long long)lo, (long long)hi);
    return case_fail(v, geo_place(v, g), text);
  }
  return true;
}

// `grid(n / 256)`: blocks of 256 that leave the rest of n alone.
static void geo_coverage(struct case_env *v, const struct asm_geo *g, int64_t blocks,
                         const int64_t block[3])
{
  struct assembly *a = v->a;
  struct kr_value over, by;
  struct kr_expr_error error;
  int64_t n, d;
  if (a->uncovered_told || !g->e || g->e->kind != KR_EXPR_BINARY || strcmp(g->e->op, "/"))
    return;
  // `(n + 255) / 256` rounds up already.
  const struct kr_expr *top = g->e->args[0];
  if (top->kind == KR_EXPR_BINARY && (!strcmp(top->op, "+") || !strcmp(top->op, "-")))
    return;
  if (env_raw(v, g->e->args[0], &over, &error) || env_raw(v, g->e->args[1], &by, &error) ||
      kr_value_as_int(over, &n) || kr_value_as_int(by, &d) || d <= 0 || n <= 0 || n % d == 0)
    return;
  if (d != block[0] && d != block[1] && d != block[2] && d != block[0] * block[1] * block[2])
    return;
  a->uncovered_told = true;
  struct kr_bytes name, divisor;
  kr_bytes_init(&name, 1 << 16);
  kr_bytes_init(&divisor, 1 << 16);
  kr_expr_print(g->e->args[0], false, NULL, NULL, &name, NULL);
  kr_expr_print(g->e->args[1], false, NULL, NULL, &divisor, NULL);
  asm_tell(a, KR_SEV_NOTE, geo_place(v, g),
           "at %s = %lld the grid covers %lld threads; `ceil_div(%s, %s)` covers all", name.data,
           (long long)n, (long long)(blocks * d), name.data, divisor.data);
  kr_bytes_release(&name);
  kr_bytes_release(&divisor);
}

// What the marker says of a launch must be so where a site shows it: a version
// proved under another geometry than the program's is not proved.
static bool geo_as_launched(struct case_env *v, const struct asm_geo *g, const char *what,
                            const char *text, const struct kr_psite *site, int64_t value)
{
  struct kr_expr_error error = {0};
  struct kr_value there;
  int64_t i;
  bool ok = true;
  // `sms` has a value of the device's, which is not known here.
  if (!g->written || !text || strstr(g->text, "sms"))
    return true;
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  if (e && !env_raw(v, e, &there, &error) && !kr_value_as_int(there, &i) && i != value) {
    char say[512];
    snprintf(say, sizeof say, "the launch at line %u has %s %lld (`%.200s`), not %lld",
             site->line, what, (long long)i, text, (long long)value);
    ok = case_fail(v, g->written->at, say);
  }
  kr_expr_free(e);
  return ok;
}

static bool case_as_launched(struct case_env *v, const int64_t grid[3], const int64_t block[3],
                             int64_t shared)
{
  static const char *const grids[] = {"grid.x", "grid.y", "grid.z"};
  static const char *const blocks[] = {"block.x", "block.y", "block.z"};
  const struct assembly *a = v->a;
  bool ok = true;
  for (size_t s = 0; s < a->k->n_sites; s++) {
    const struct kr_psite *site = &a->k->sites[s];
    for (int d = 0; d < 3; d++) {
      // A dimension that one of the two leaves out is 1.
      const struct asm_geo *g = a->grid[d].e ? &a->grid[d] : &a->grid[0];
      const struct asm_geo *b = a->block[d].e ? &a->block[d] : &a->block[0];
      ok &= geo_as_launched(v, g, grids[d], site->grid[0] && !site->grid[d] ? "1" : site->grid[d],
                            site, grid[d]);
      ok &= geo_as_launched(v, b, blocks[d],
                            site->block[0] && !site->block[d] ? "1" : site->block[d], site,
                            block[d]);
    }
    const char *none = site->shared_text ? NULL : "0";
    ok &= geo_as_launched(v, &a->shared, "shared memory", site->shared ? site->shared : none, site,
                          shared);
  }
  return ok;
}

static bool case_launch(struct case_env *v)
{
  static const int64_t block_max[3] = {1024, 1024, 64};
  static const int64_t grid_max[3] = {INT32_MAX, 65535, 65535};
  struct assembly *a = v->a;
  int64_t block[3], grid[3], shared;
  for (int d = 0; d < 3; d++)
    if (!geo_value(v, &a->block[d], &v->busy[d], "block", 1,
                   d < 2 ? INT32_MAX : block_max[d], &block[d]))
      return false;
  char text[256];
  if (block[0] > CASE_BLOCK_THREADS || block[1] > CASE_BLOCK_THREADS ||
      block[0] * block[1] * block[2] > CASE_BLOCK_THREADS) {
    snprintf(text, sizeof text, "%.0f threads exceed the limit of %d a block",
             (double)block[0] * (double)block[1] * (double)block[2], CASE_BLOCK_THREADS);
    return case_fail(v, geo_place(v, &a->block[0]), text);
  }
  for (int d = 0; d < 3; d++)
    if (!geo_value(v, &a->grid[d], &v->busy[3 + d], "grid", 1, grid_max[d], &grid[d]))
      return false;
  if (!geo_value(v, &a->shared, NULL, "shared size", 0, INT64_MAX, &shared))
    return false;
  if (shared > CASE_SHARED_BYTES) {
    snprintf(text, sizeof text,
             "%lld bytes of shared memory exceed the %d that a launch may have without an "
             "attribute; more is not there yet",
             (long long)shared, CASE_SHARED_BYTES);
    return case_fail(v, geo_place(v, &a->shared), text);
  }
  for (int d = 0; d < 3; d++)
    geo_coverage(v, &a->grid[d], grid[d], block);
  return case_as_launched(v, grid, block, shared);
}

// --- sections ---

struct extent {
  int64_t start, count;
  bool null;
};

static bool section_extent(struct case_env *v, const struct asm_section *s, struct extent *out)
{
  const struct kr_msection *w = s->written;
  char text[256];
  int64_t inner = 1;
  *out = (struct extent){0, 1, false};
  for (size_t i = 0; i < w->n_ranges; i++) {
    int64_t length, start = 0;
    if (!case_eval_int(v, &w->ranges[i].length, &length))
      return false;
    if (length < 0) {
      snprintf(text, sizeof text, "negative length %lld", (long long)length);
      return case_fail(v, w->ranges[i].length.at, text);
    }
    if (w->ranges[i].start.e && !case_eval_int(v, &w->ranges[i].start, &start))
      return false;
    if (i == 0)
      out->start = start;
    else if (__builtin_mul_overflow(inner, length, &inner))
      return case_fail(v, w->at, "the section's length overflows 64 bits");
    if (__builtin_mul_overflow(out->count, length, &out->count))
      return case_fail(v, w->at, "the section's length overflows 64 bits");
  }
  int64_t end;
  if (__builtin_mul_overflow(out->start, inner, &out->start) ||
      __builtin_add_overflow(out->start, out->count, &end) ||
      out->count > (int64_t)1 << 48 || out->start > (int64_t)1 << 48 ||
      out->start < -((int64_t)1 << 48))
    return case_fail(v, w->at, "the section's length is out of all bounds");
  return true;
}

static bool fill_varies(const struct kr_expr *e)
{
  if (e->kind == KR_EXPR_NAME && asm_index_name(e->name))
    return true;
  if (e->kind == KR_EXPR_CALL)
    for (const char *const *p = (const char *const[]){"uniform", "normal", "index", "offsets",
                                                      "permutation", NULL};
         *p; p++)
      if (!strcmp(e->name, *p))
        return true;
  for (size_t i = 0; i < e->n_args; i++)
    if (fill_varies(e->args[i]))
      return true;
  return false;
}

// The arguments of generators, wherever they stand in the filler.
static bool fill_generators(struct case_env *v, const struct kr_mexpr *e,
                            const struct kr_expr *node, const struct asm_section *s,
                            const struct extent *x)
{
  struct kr_value arg[2];
  struct kr_expr_error error = {0};
  char text[256] = "";
  for (size_t i = 0; i < node->n_args; i++)
    if (!fill_generators(v, e, node->args[i], s, x))
      return false;
  if (node->kind != KR_EXPR_CALL || !fill_varies(node) || node->n_args > 2)
    return true;
  struct kr_span at = kr_marker_expr_place(v->a->r->src, e, node->offset, node->length);
  for (size_t i = 0; i < node->n_args; i++)
    if (!fill_varies(node->args[i]) && env_raw(v, node->args[i], &arg[i], &error))
      return case_fail(v, kr_marker_expr_place(v->a->r->src, e, error.offset, error.length),
                       error.text);
    else if (fill_varies(node->args[i]))
      return true; // an argument of its own for each element
  bool whole = !strcmp(node->name, "index") || !strcmp(node->name, "offsets");
  int64_t k = 0;
  if (whole && kr_value_as_int(arg[0], &k))
    snprintf(text, sizeof text, "`%s` needs a whole number", node->name);
  else if (!strcmp(node->name, "index") && k <= 0 && x->count > 0)
    snprintf(text, sizeof text, "index(%lld) has no value for the %lld elements of `%s`",
             (long long)k, (long long)x->count, s->leaf->path);
  else if (!strcmp(node->name, "offsets") && k < 0)
    snprintf(text, sizeof text, "offsets(%lld) would descend", (long long)k);
  else if (!strcmp(node->name, "uniform") &&
           !(kr_value_as_real(arg[0]) <= kr_value_as_real(arg[1])))
    snprintf(text, sizeof text, "`uniform` needs its lower end first");
  else if (!strcmp(node->name, "normal") && !(kr_value_as_real(arg[1]) >= 0))
    snprintf(text, sizeof text, "`normal` needs a deviation that is not negative");
  if (text[0])
    return case_fail(v, at, text);
  // What an integer element must hold.
  const struct kr_pleaf *leaf = &s->pointee->leaves[0];
  if (whole && node == e->e && leaf->kind < KR_SCALAR_F16 && x->count > 0 &&
      case_misfit(leaf->kind, kr_value_int(k - (node->name[0] == 'i')))) {
    snprintf(text, sizeof text, "values of `%s` up to %lld do not fit its elements (%s)",
             s->leaf->path, (long long)(k - (node->name[0] == 'i')), s->pointee->name);
    return case_fail(v, at, text);
  }
  return true;
}

static bool case_filler(struct case_env *v, const struct asm_section *s,
                        const struct kr_mfill *f, const struct extent *x)
{
  struct kr_value value;
  if (!fill_generators(v, &f->expr, f->expr.e, s, x))
    return false;
  if (fill_varies(f->expr.e))
    return true;
  if (!case_eval(v, &f->expr, &value))
    return false;
  for (size_t i = 0; i < s->pointee->n_leaves; i++) {
    const char *why = case_misfit(s->pointee->leaves[i].kind, value);
    if (!why)
      continue;
    struct kr_bytes text;
    kr_bytes_init(&text, 512);
    kr_value_print(value, &text);
    kr_bytes_addf(&text, " %s the elements of `%s` (%s)", why, s->leaf->path, s->pointee->name);
    case_fail(v, f->expr.at, text.data);
    kr_bytes_release(&text);
    return false;
  }
  return true;
}

static bool case_alias(struct case_env *v, size_t index, const struct kr_mfill *f,
                       const struct extent *extents)
{
  struct assembly *a = v->a;
  const struct extent *own = &extents[index];
  size_t target = 0;
  while (target < a->c->n_sections && strcmp(a->c->sections[target].path, f->path))
    target++;
  const struct extent *x = &extents[target];
  int64_t element = 0;
  char text[512];
  if (f->expr.e && !case_eval_int(v, &f->expr, &element))
    return false;
  if (x->null) {
    snprintf(text, sizeof text, "`%s` points into `%s`, which is null", a->c->sections[index].path,
             f->path);
    return case_fail(v, f->at, text);
  }
  int64_t first, end;
  if (__builtin_add_overflow(element, own->start, &first) ||
      __builtin_add_overflow(first, own->count, &end) || first < x->start ||
      end > x->start + x->count) {
    snprintf(text, sizeof text, "`&%s[%lld]` with %lld element%s leaves section `%s` (%lld … %lld)",
             f->path, (long long)element, (long long)own->count, own->count == 1 ? "" : "s",
             f->path, (long long)x->start, (long long)(x->start + x->count - 1));
    return case_fail(v, f->at, text);
  }
  return true;
}

static bool case_sections(struct case_env *v, const size_t *at)
{
  struct assembly *a = v->a;
  size_t n = a->c->n_sections;
  struct extent *extents = kr_xcalloc(n + 1, sizeof *extents);
  const struct kr_mfill **fills = kr_xcalloc(n + 1, sizeof *fills);
  bool ok = true;
  double bytes = 0, largest = 0;
  size_t big = 0;
  v->k->fillings = kr_xcalloc(n + 1, sizeof *v->k->fillings);
  for (size_t i = 0; i < n; i++) {
    const struct asm_section *s = &a->sections[i];
    size_t written = (size_t)(s->written - a->m->sections);
    struct kr_filling *out = &v->k->fillings[i];
    if (s->written->n_fills)
      fills[i] = &s->written->fills[case_choice(a, at, ASM_AXIS_FILL, written)];
    extents[i].null = fills[i] && fills[i]->kind == KR_FILL_NULL;
    if (!extents[i].null && !section_extent(v, s, &extents[i])) {
      ok = false;
      continue;
    }
    double size = extents[i].null ? 0 : (double)extents[i].count * (double)s->pointee->size;
    if (size > largest) {
      largest = size;
      big = i;
    }
    bytes += size;
    if (!fills[i])
      continue;
    switch (fills[i]->kind) {
    case KR_FILL_DEFAULT:
      break;
    case KR_FILL_NULL:
      out->kind = KR_FILLED_NULL;
      break;
    case KR_FILL_EXPR:
      out->kind = KR_FILLED_EXPR;
      out->expr = kr_xstrdup(fills[i]->expr.text);
      v->indices = true;
      ok &= case_filler(v, s, fills[i], &extents[i]);
      v->indices = false;
      break;
    case KR_FILL_ALIAS:
      out->kind = KR_FILLED_ALIAS;
      out->alias = kr_xstrdup(fills[i]->path);
      out->expr = fills[i]->expr.e ? kr_xstrdup(fills[i]->expr.text) : NULL;
      break;
    }
  }
  for (size_t i = 0; i < n && ok; i++)
    if (fills[i] && fills[i]->kind == KR_FILL_ALIAS)
      ok &= case_alias(v, i, fills[i], extents);
  if (ok && bytes > (double)((int64_t)1 << 46)) {
    char text[256];
    snprintf(text, sizeof text, "%.1f TB in section `%s` of %.1f TB in all; no device holds that",
             largest / 1e12, a->c->sections[big].path, bytes / 1e12);
    ok = case_fail(v, a->sections[big].written->at, text);
  }
  free(extents);
  free(fills);
  return ok;
}

// --- terms ---

static bool case_terms(struct case_env *v)
{
  const struct kr_marker *m = v->a->m;
  bool ok = true;
  for (size_t i = 0; i < m->n_aligns; i++) {
    int64_t bytes;
    if (!case_eval_int(v, &m->aligns[i].bytes, &bytes))
      ok = false;
    else if (bytes < 1 || bytes > 4096 || (bytes & (bytes - 1)))
      ok = case_fail(v, m->aligns[i].bytes.at, "an alignment is a power of two up to 4096, in "
                                               "bytes");
  }
  for (size_t i = 0; i < m->n_compares; i++)
    for (int j = 0; j < 2; j++) {
      const struct kr_mexpr *e = j ? &m->compares[i].atol : &m->compares[i].rtol;
      struct kr_value value;
      if (!e->e)
        continue;
      if (!case_eval(v, e, &value))
        ok = false;
      else if (!(kr_value_as_real(value) >= 0) || !isfinite(kr_value_as_real(value)))
        ok = case_fail(v, e->at, "a tolerance is a number that is not negative");
      else if (!j && kr_value_as_real(value) >= 1)
        ok = case_fail(v, e->at, "a relative tolerance of 1 or more lets anything pass");
    }
  return ok;
}

// --- all ---

// What tells the cases apart; all of the marker's values when there is one case.
static char *case_label(const struct case_env *v, const size_t *at)
{
  const struct assembly *a = v->a;
  struct kr_bytes out;
  kr_bytes_init(&out, 4096);
  for (size_t i = 0; i < v->n; i++) {
    const char *name = v->names[i].name;
    size_t index = 0;
    const struct kr_mbinding *b = asm_binding_find(a->m, name, &index);
    bool varies = b ? b->n_rows > 1 : !v->k->bindings[i].drawn;
    if (!varies && (a->n_axes || !b))
      continue;
    kr_bytes_addf(&out, "%s%s = ", out.len ? ", " : "", name);
    kr_value_print(v->names[i].value, &out);
  }
  for (size_t i = 0; i < a->n_axes; i++) {
    if (a->axes[i].kind != ASM_AXIS_FILL)
      continue;
    const struct kr_msection *s = &a->m->sections[a->axes[i].index];
    const struct kr_mfill *f = &s->fills[at[i]];
    kr_bytes_addf(&out, "%s%s = ", out.len ? ", " : "", s->path);
    if (f->kind == KR_FILL_NULL)
      kr_bytes_adds(&out, "null");
    else if (f->kind == KR_FILL_ALIAS)
      kr_bytes_addf(&out, "&%s%s%s%s", f->path, f->expr.e ? "[" : "",
                    f->expr.e ? f->expr.text : "", f->expr.e ? "]" : "");
    else
      kr_bytes_adds(&out, f->expr.text);
  }
  if (!out.len)
    kr_bytes_adds(&out, "the only case");
  char *label = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return label;
}

static void case_release(struct kr_case *k, size_t n_sections)
{
  free(k->label);
  for (size_t i = 0; i < k->n_bindings; i++) {
    free(k->bindings[i].path);
    free(k->bindings[i].expr);
  }
  free(k->bindings);
  for (size_t i = 0; k->fillings && i < n_sections; i++) {
    free(k->fillings[i].expr);
    free(k->fillings[i].alias);
  }
  free(k->fillings);
}

// 1 when the case was added, 0 when `require` drops it, -1 with an error told.
static int case_one(struct assembly *a, const size_t *at)
{
  struct kr_case k = {0};
  struct case_env v = {.a = a, .k = &k};
  int rc = -1;
  if (!case_bind(&v, at))
    goto out;
  rc = case_required(&v);
  if (rc <= 0)
    goto out;
  rc = -1;
  if (!case_fit_all(&v, at))
    goto out;
  bool ok = case_launch(&v);
  ok &= case_sections(&v, at);
  ok &= case_terms(&v);
  if (!ok)
    goto out;
  k.label = case_label(&v, at);
  a->c->cases = kr_xreallocarray(a->c->cases, a->c->n_cases + 1, sizeof *a->c->cases);
  a->c->cases[a->c->n_cases++] = k;
  k = (struct kr_case){0};
  rc = 1;
out:
  case_release(&k, a->c->n_sections);
  free(v.names);
  return rc;
}

static void case_axes(struct assembly *a)
{
  size_t cap = 0;
  for (size_t i = 0; i < a->m->n_bindings; i++)
    if (a->m->bindings[i].n_rows > 1) {
      KR_GROW(a->axes, a->n_axes, cap);
      a->axes[a->n_axes++] = (struct asm_axis){ASM_AXIS_BINDING, i, a->m->bindings[i].n_rows};
    }
  for (size_t i = 0; i < a->n_leaves; i++)
    if (a->leaves[i].leaf->kind == KR_SCALAR_BOOL && !a->leaves[i].binding) {
      KR_GROW(a->axes, a->n_axes, cap);
      a->axes[a->n_axes++] = (struct asm_axis){ASM_AXIS_BOOL, i, 2};
    }
  for (size_t i = 0; i < a->m->n_sections; i++)
    if (a->m->sections[i].n_fills > 1) {
      KR_GROW(a->axes, a->n_axes, cap);
      a->axes[a->n_axes++] = (struct asm_axis){ASM_AXIS_FILL, i, a->m->sections[i].n_fills};
    }
}

static bool case_too_many(struct assembly *a, size_t cases, bool product)
{
  struct kr_bytes factors;
  kr_bytes_init(&factors, 1024);
  for (size_t i = 0; i < a->n_axes; i++)
    kr_bytes_addf(&factors, "%s%zu", i ? " × " : "", a->axes[i].count);
  asm_fail(a, asm_marker_place(a), "%s%zu cases (%s), at most %d", product ? "" : "more than ",
           cases, factors.data, KR_MAX_CASES);
  kr_bytes_release(&factors);
  return false;
}

bool asm_cases(struct assembly *a)
{
  case_axes(a);
  size_t product = 1;
  for (size_t i = 0; i < a->n_axes; i++) {
    product *= a->axes[i].count;
    if (product > CASE_MAX_PRODUCT)
      return case_too_many(a, CASE_MAX_PRODUCT, false);
  }
  if (product > KR_MAX_CASES && !a->m->n_requires)
    return case_too_many(a, product, true);
  size_t *at = kr_xcalloc(a->n_axes + 1, sizeof *at);
  bool ok = true;
  for (size_t c = 0; c < product; c++) {
    int rc = case_one(a, at);
    ok = ok && rc >= 0;
    for (size_t i = a->n_axes; i-- > 0 && ++at[i] == a->axes[i].count;)
      at[i] = 0;
  }
  free(at);
  if (ok && a->c->n_cases > KR_MAX_CASES)
    return case_too_many(a, a->c->n_cases, true);
  if (ok && !a->c->n_cases)
    return asm_fail(a, a->m->requires_[0].at, "require leaves no case");
  return ok;
}
