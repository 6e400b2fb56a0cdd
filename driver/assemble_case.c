#include "assemble_case.h"

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
  CASE_SMS = 132, // of no particular device; only so that `sms` has a value here
  CASE_WARP = 32
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

bool case_fail(struct case_env *v, struct kr_span at, const char *text)
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
  const struct kr_pconstant *c = asm_constant(v->a, v->inst, name);
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
  const struct kr_pconstant *c = asm_constant(v->a, v->inst, name);
  free(name);
  if (!c || !c->known)
    return 1;
  *out = kr_value_int(c->i);
  return 0;
}

int case_eval_raw(struct case_env *v, const struct kr_expr *e, struct kr_value *out,
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
  int rc = case_eval_raw(v, g->e, out, &inner);
  v->busy[slot] = false;
  if (rc)
    snprintf(error->text, sizeof error->text, "in `%s.%c`: %.220s", grid ? "grid" : "block",
             'x' + which, inner.text);
  return rc ? -1 : 0;
}

bool case_eval(struct case_env *v, const struct kr_mexpr *e, struct kr_value *out)
{
  struct kr_expr_error error = {0};
  if (!case_eval_raw(v, e->e, out, &error))
    return true;
  return case_fail(v, kr_marker_expr_place(v->a->r->src, e, error.offset, error.length),
                   error.text);
}

bool case_eval_int(struct case_env *v, const struct kr_mexpr *e, int64_t *out)
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

const char *case_misfit(enum kr_scalar kind, struct kr_value v)
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
  const char *why = case_misfit(asm_leaf_under(v->a, leaf, v->inst)->kind, value);
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

size_t case_choice(const struct assembly *a, const size_t *at, enum asm_axis_kind kind,
                   size_t index)
{
  for (size_t i = 0; i < a->n_axes; i++)
    if (a->axes[i].kind == kind && a->axes[i].index == index)
      return at[i];
  return 0;
}

// The bindings of one case: a template's arguments, drawn scalars and bools first,
// then the marker's in order.
static bool case_bind(struct case_env *v, const size_t *at)
{
  struct assembly *a = v->a;
  struct kr_case *k = v->k;
  size_t total = a->n_leaves + a->k->n_tparams;
  for (size_t i = 0; i < a->m->n_bindings; i++)
    total += a->m->bindings[i].n_paths;
  v->names = kr_xcalloc(total + 1, sizeof *v->names);
  for (size_t i = 0; i < a->k->n_tparams && a->n_inst; i++) {
    const struct kr_ptparam *t = &a->k->tparams[i];
    if (t->kind == KR_TKIND_TYPE || !t->name[0])
      continue;
    int64_t value = a->inst[v->inst]->values[i];
    v->names[v->n++] = (struct kr_constant){t->name, kr_value_int(value)};
    case_add_binding(k, (struct kr_binding){.path = kr_xstrdup(t->name),
                                            .expr = kr_xasprintf("%lld", (long long)value),
                                            .fixed = true});
  }
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
  if (a->n_inst)
    asm_types_label(a, v->inst, &out);
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
  struct case_env v = {.a = a, .k = &k, .inst = case_choice(a, at, ASM_AXIS_INSTANCE, 0)};
  k.instantiation = v.inst;
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
  if (a->n_inst > 1) {
    KR_GROW(a->axes, a->n_axes, cap);
    a->axes[a->n_axes++] = (struct asm_axis){ASM_AXIS_INSTANCE, 0, a->n_inst};
  }
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
    for (size_t i = a->n_axes; i > 0; i--) {
      at[i - 1]++;
      if (at[i - 1] < a->axes[i - 1].count)
        break;
      at[i - 1] = 0;
    }
  }
  free(at);
  if (ok && a->c->n_cases > KR_MAX_CASES)
    return case_too_many(a, a->c->n_cases, true);
  // Each text serves all instantiations, so none may go without a case.
  for (size_t i = 0; i < a->n_inst && ok && a->c->n_cases; i++) {
    size_t c = 0;
    while (c < a->c->n_cases && a->c->cases[c].instantiation != i)
      c++;
    if (c == a->c->n_cases)
      ok = asm_fail(a, a->m->requires_[0].at, "require leaves no case of `%s<%s>`", a->k->name,
                    a->inst[i]->asked);
  }
  if (ok && !a->c->n_cases)
    return asm_fail(a, a->m->requires_[0].at, "require leaves no case");
  return ok;
}
