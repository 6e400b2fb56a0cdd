#include "assemble.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "assemble_internal.h"

// What a marker says and what libclang found, made into one frozen document.

void asm_tell(struct assembly *a, enum kr_severity severity, struct kr_span at, const char *fmt,
              ...)
{
  char text[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  kr_diags_add(a->diags, severity, at.offset, at.length, "%s", text);
}

bool asm_fail(struct assembly *a, struct kr_span at, const char *fmt, ...)
{
  char text[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  kr_diags_add(a->diags, KR_SEV_ERROR, at.offset, at.length, "%s", text);
  return false;
}

struct kr_span asm_marker_place(const struct assembly *a)
{
  return (struct kr_span){a->m->at.offset, 5};
}

// --- parameters ---

static bool take_leaves(struct assembly *a)
{
  bool ok = true;
  size_t cap = 0;
  for (size_t i = 0; i < a->k->n_params; i++) {
    const struct kr_pparam *p = &a->k->params[i];
    if (!p->name[0])
      ok = asm_fail(a, p->at, "parameter %zu has no name, so no marker can give it a value", i + 1);
    for (size_t l = 0; l < p->type.n_leaves; l++) {
      const struct kr_pleaf *leaf = &p->type.leaves[l];
      KR_GROW(a->leaves, a->n_leaves, cap);
      struct asm_leaf *out = &a->leaves[a->n_leaves++];
      *out = (struct asm_leaf){.param = p, .leaf = leaf, .p = i, .l = l};
      out->path = leaf->path[0] ? kr_xasprintf("%s.%s", p->name, leaf->path) : kr_xstrdup(p->name);
      out->binding = asm_binding_find(a->m, out->path, NULL);
      // An integer to the compiler, an object to the driver.
      if (strstr(p->type_name, "cudaTextureObject_t") ||
          strstr(p->type_name, "cudaSurfaceObject_t"))
        ok = asm_fail(a, p->at, "texture and surface objects (`%s`) are not there yet", out->path);
      else if (leaf->kind == KR_SCALAR_OPAQUE || leaf->kind == KR_SCALAR_VOID)
        ok = asm_fail(a, p->at, "parameter `%s` of type %s is not there yet", out->path,
                      p->type_name);
    }
  }
  return ok;
}

static bool is_param(const struct assembly *a, const char *path, const struct kr_pparam **out)
{
  for (size_t i = 0; i < a->k->n_params; i++) {
    size_t n = strlen(a->k->params[i].name);
    if (n && !strncmp(path, a->k->params[i].name, n) && (!path[n] || path[n] == '.')) {
      *out = &a->k->params[i];
      return true;
    }
  }
  return false;
}

// "n, a, x, y"
static void list_params(const struct assembly *a, struct kr_bytes *out)
{
  for (size_t i = 0; i < a->k->n_params; i++)
    kr_bytes_addf(out, "%s%s", i ? ", " : "", a->k->params[i].name);
}

// "rows, cols" of a struct parameter.
static void list_members(const struct assembly *a, const struct kr_pparam *p, struct kr_bytes *out)
{
  for (size_t i = 0; i < a->n_leaves; i++)
    if (a->leaves[i].param == p)
      kr_bytes_addf(out, "%s%s", out->len ? ", " : "", a->leaves[i].leaf->path);
}

// A path that begins with a parameter and names no leaf of it.
static bool fail_member(struct assembly *a, const struct kr_pparam *p, const char *path,
                        struct kr_span at)
{
  struct kr_bytes members;
  kr_bytes_init(&members, 1024);
  list_members(a, p, &members);
  bool struct_type = p->type.n_leaves > 1 || (p->type.n_leaves == 1 && p->type.leaves[0].path[0]);
  if (!struct_type)
    asm_fail(a, at, "`%s` (%s) has no members", p->name, p->type_name);
  else if (!strcmp(path, p->name))
    asm_fail(a, at, "`%s` is a struct; name its members: %s.%s", p->name, p->name,
             p->type.leaves[0].path);
  else
    asm_fail(a, at, "`%s` has no member `%s`; it has %s", p->name, path + strlen(p->name) + 1,
             members.data);
  kr_bytes_release(&members);
  return false;
}

static bool check_bindings(struct assembly *a)
{
  bool ok = true;
  for (size_t i = 0; i < a->m->n_bindings; i++) {
    const struct kr_mbinding *b = &a->m->bindings[i];
    for (size_t j = 0; j < b->n_paths; j++) {
      const struct asm_leaf *leaf = asm_leaf_find(a, b->paths[j]);
      const struct kr_pparam *p;
      bool number;
      if (leaf && leaf->leaf->kind == KR_SCALAR_POINTER)
        ok = asm_fail(a, b->path_at[j], "`%s` is a pointer (%s); give it a section: %s(%s[…])",
                      b->paths[j], asm_type_name(leaf), leaf->leaf->pointee_const ? "in" : "inout",
                      b->paths[j]);
      else if (!leaf && is_param(a, b->paths[j], &p))
        ok = fail_member(a, p, b->paths[j], b->path_at[j]);
      else if (asm_is_tparam(a, b->paths[j], &number))
        ok = asm_fail(a, b->path_at[j],
                      "`%s` is a template parameter; its values stand in instantiate(%s = …)",
                      b->paths[j], b->paths[j]);
      else if (!leaf && !asm_name_is_used(a, b->paths[j]))
        asm_tell(a, KR_SEV_WARNING, b->path_at[j], "`%s` is no parameter and is used nowhere",
                 b->paths[j]);
    }
  }
  return ok;
}

static bool check_values(struct assembly *a)
{
  bool ok = true;
  for (size_t i = 0; i < a->n_leaves; i++) {
    const struct asm_leaf *leaf = &a->leaves[i];
    if (leaf->binding || leaf->leaf->kind > KR_SCALAR_U64 || leaf->leaf->kind == KR_SCALAR_BOOL)
      continue;
    if (strchr(leaf->path, '['))
      ok = asm_fail(a, asm_marker_place(a),
                    "no value for `%s` (%s): arrays in structs by value are not there yet",
                    leaf->path, asm_type_name(leaf));
    else
      ok = asm_fail(a, asm_marker_place(a),
                    "no value for `%s` (%s): add let(%s = …), or fix(…) if the program never uses "
                    "another",
                    leaf->path, asm_type_name(leaf), leaf->path);
  }
  return ok;
}

// --- sections ---

static const struct kr_puse *use_of(const struct assembly *a, const char *path)
{
  for (size_t i = 0; i < a->k->n_uses; i++)
    if (!strcmp(a->k->uses[i].path, path))
      return &a->k->uses[i];
  return NULL;
}

static bool in_body(const struct kr_pkernel *k, const char *name)
{
  for (size_t i = 0; i < k->n_body_names; i++)
    if (!strcmp(k->body_names[i], name))
      return true;
  return false;
}

static bool fail_no_pointer(struct assembly *a, const struct kr_msection *s)
{
  const struct asm_leaf *leaf = asm_leaf_find(a, s->path);
  const struct kr_pparam *p;
  if (leaf)
    return asm_fail(a, s->at, "`%s` is %s %s; give its value: let(%s = …)", s->path,
                    strchr("aeio", asm_type_name(leaf)[0]) ? "an" : "a", asm_type_name(leaf),
                    s->path);
  if (is_param(a, s->path, &p))
    return fail_member(a, p, s->path, s->path_at);
  if (in_body(a->k, s->path))
    return asm_fail(a, s->path_at, "`%s` is no parameter; sections of device variables are not "
                    "there yet", s->path);
  struct kr_bytes params;
  kr_bytes_init(&params, 1024);
  list_params(a, &params);
  asm_fail(a, s->path_at,
           "`%s` has no parameter `%s`, and no device variable of that name is used; parameters "
           "are %s",
           a->k->name, s->path, params.len ? params.data : "none");
  kr_bytes_release(&params);
  return false;
}

static bool add_section(struct assembly *a, const struct kr_msection *w,
                        const struct asm_leaf *leaf)
{
  const struct kr_ptype *pointee = kr_pkernel_type(a->k, leaf->leaf->pointee);
  for (size_t i = 0; i < a->c->n_sections; i++)
    if (a->sections[i].leaf == leaf)
      return true; // told by the grammar
  if (!pointee || !pointee->size)
    return asm_fail(a, w->at, "`%s` (%s): elements of type %s are not there yet", leaf->path,
                    asm_type_name(leaf), leaf->leaf->pointee ? leaf->leaf->pointee : "unknown");
  // Instantiations are alike but for what pointers point to.
  struct asm_section probe = {w, leaf, pointee};
  for (size_t j = 1; j < a->n_inst; j++) {
    const struct kr_ptype *other = asm_pointee_under(a, &probe, j);
    bool sound = other && other->size;
    for (size_t i = 0; sound && i < other->n_leaves; i++)
      sound = other->leaves[i].kind < KR_SCALAR_POINTER;
    if (!sound)
      return asm_fail(a, w->at, "`%s`: elements of type %s, under the arguments <%s>, are not there "
                      "yet", leaf->path, other ? other->name : "unknown", a->inst[j]->asked);
  }
  for (size_t i = 0; i < pointee->n_leaves; i++) {
    enum kr_scalar kind = pointee->leaves[i].kind;
    if (kind == KR_SCALAR_VOID)
      return asm_fail(a, w->at, "`%s` is a void *; saying what it holds, %s[n] as half, is not "
                      "there yet", leaf->path, leaf->path);
    if (kind == KR_SCALAR_POINTER)
      return asm_fail(a, w->at, "`%s` points to pointers; sections of those are not there yet",
                      leaf->path);
    if (kind == KR_SCALAR_OPAQUE)
      return asm_fail(a, w->at, "`%s` (%s): elements of type %s are not there yet", leaf->path,
                      asm_type_name(leaf), pointee->name);
  }
  if (w->direction > KR_DIR_IN && leaf->leaf->pointee_const)
    return asm_fail(a, w->at, "`%s` points to const; it can only be `in`", leaf->path);
  if (w->n_ranges > 8)
    return asm_fail(a, w->at, "more than 8 brackets are not there yet");
  for (size_t i = 1; i < w->n_ranges; i++)
    if (w->ranges[i].start.e)
      return asm_fail(a, w->ranges[i].start.at,
                      "a start in another bracket than the first is not there yet");
  enum kr_role role = w->direction == KR_DIR_IN      ? KR_IN
                      : w->direction == KR_DIR_INOUT ? KR_INOUT
                      : w->direction == KR_DIR_OUT   ? KR_OUT
                      : leaf->leaf->pointee_const    ? KR_IN
                                                     : KR_INOUT;
  a->sections = kr_xreallocarray(a->sections, a->c->n_sections + 1, sizeof *a->sections);
  a->sections[a->c->n_sections] = (struct asm_section){w, leaf, pointee};
  a->c->sections =
      kr_xreallocarray(a->c->sections, a->c->n_sections + 1, sizeof *a->c->sections);
  struct kr_section *out = &a->c->sections[a->c->n_sections++];
  *out = (struct kr_section){.path = kr_xstrdup(leaf->path), .role = role};
  out->dims = kr_xcalloc(w->n_ranges + 1, sizeof *out->dims);
  out->n_dims = w->n_ranges;
  for (size_t i = 0; i < w->n_ranges; i++)
    out->dims[i] = kr_xstrdup(w->ranges[i].length.text);
  if (w->n_ranges && w->ranges[0].start.e) {
    struct kr_bytes start;
    kr_bytes_init(&start, KR_EXPR_MAX_TEXT * 4);
    kr_bytes_addf(&start, w->n_ranges > 1 ? "(%s)" : "%s", w->ranges[0].start.text);
    for (size_t i = 1; i < w->n_ranges; i++)
      kr_bytes_addf(&start, " * (%s)", w->ranges[i].length.text);
    out->start = kr_bytes_take(&start);
    kr_bytes_release(&start);
  }
  return true;
}

static bool take_sections(struct assembly *a)
{
  bool ok = true;
  const struct kr_msection *star = NULL;
  for (size_t i = 0; i < a->m->n_sections; i++) {
    const struct kr_msection *w = &a->m->sections[i];
    if (!strcmp(w->path, "*")) {
      star = w;
      continue;
    }
    const struct asm_leaf *leaf = asm_leaf_find(a, w->path);
    if (!leaf || leaf->leaf->kind != KR_SCALAR_POINTER)
      ok = fail_no_pointer(a, w);
    else
      ok &= add_section(a, w, leaf);
  }
  size_t covered = 0;
  for (size_t i = 0; i < a->n_leaves; i++) {
    const struct asm_leaf *leaf = &a->leaves[i];
    bool named = false;
    if (leaf->leaf->kind != KR_SCALAR_POINTER)
      continue;
    for (size_t j = 0; j < a->m->n_sections; j++)
      named = named || !strcmp(a->m->sections[j].path, leaf->path);
    if (named)
      continue;
    covered++;
    if (star) {
      ok &= add_section(a, star, leaf);
      continue;
    }
    const struct kr_puse *use = use_of(a, leaf->path);
    bool out = use && (use->uses & (KR_USE_WRITE | KR_USE_READ | KR_USE_ATOMIC)) == KR_USE_WRITE;
    ok = asm_fail(a, asm_marker_place(a),
                  "no size for pointer `%s` (%s): add %s(%s[…]) or data(*[…])", leaf->path,
                  asm_type_name(leaf), leaf->leaf->pointee_const ? "in" : out ? "out" : "inout",
                  leaf->path);
  }
  if (star && !covered)
    asm_tell(a, KR_SEV_WARNING, star->at, "`*` stands for no pointer: all are named elsewhere");
  return ok;
}

// Aliases are known only when all sections are.
static bool check_fills(struct assembly *a)
{
  bool ok = true;
  for (size_t i = 0; i < a->c->n_sections; i++) {
    const struct asm_section *s = &a->sections[i];
    const struct kr_puse *use = use_of(a, s->leaf->path);
    bool null = false, filled = s->written->n_fills > 0;
    for (size_t j = 0; j < s->written->n_fills; j++) {
      const struct kr_mfill *f = &s->written->fills[j];
      null = null || f->kind == KR_FILL_NULL;
      if (f->kind != KR_FILL_ALIAS)
        continue;
      size_t t = 0;
      while (t < a->c->n_sections && strcmp(a->c->sections[t].path, f->path))
        t++;
      if (t == a->c->n_sections) {
        ok = asm_fail(a, f->at, "`%s` is no section; give it one first: in(%s[…])", f->path,
                      f->path);
      } else if (t == i) {
        ok = asm_fail(a, f->at, "`%s` points into itself", f->path);
      } else if (strcmp(a->sections[t].pointee->name, s->pointee->name)) {
        ok = asm_fail(a, f->at, "`%s` has elements of type %s, `%s` of type %s", s->leaf->path,
                      s->pointee->name, f->path, a->sections[t].pointee->name);
      } else {
        for (size_t k = 0; k < a->sections[t].written->n_fills; k++)
          if (a->sections[t].written->fills[k].kind == KR_FILL_ALIAS)
            ok = asm_fail(a, f->at, "`%s` points into another section itself; point into that one",
                          f->path);
      }
    }
    if (use && (use->uses & KR_USE_NULL_TEST) && !null)
      asm_tell(a, KR_SEV_NOTE, s->written->at,
               "the body tests `%s` against null, which is never passed; = {…, null} adds that "
               "case",
               s->leaf->path);
    enum kr_scalar kind = s->pointee->n_leaves ? s->pointee->leaves[0].kind : KR_SCALAR_OPAQUE;
    if (use && (use->uses & KR_USE_SUBSCRIPT) && !filled && a->c->sections[i].role != KR_OUT &&
        kind <= KR_SCALAR_U64 && kind != KR_SCALAR_BOOL)
      ok = asm_fail(a, s->written->at,
                    "values of `%s` are a subscript at line %u; say their limit: %s%s = index(…)",
                    s->leaf->path, use->subscript_line, s->leaf->path,
                    s->written->n_ranges ? "[…]" : "");
    if (!use || s->written->direction != KR_DIR_DATA || s->leaf->leaf->pointee_const)
      continue;
    unsigned flow = use->uses & (KR_USE_READ | KR_USE_WRITE | KR_USE_ATOMIC);
    if (flow == KR_USE_WRITE)
      asm_tell(a, KR_SEV_NOTE, s->written->at,
               "`%s` is only stored through and taken as inout; out(%s[…]) would poison it first",
               s->leaf->path, s->leaf->path);
    else if (flow == KR_USE_ATOMIC && !filled)
      asm_tell(a, KR_SEV_NOTE, s->written->at, "`%s` is only added to; is `= 0` meant?",
               s->leaf->path);
  }
  return ok;
}

// The same variable passed for two pointers, one of which is written through: a
// version that holds where they differ may be wrong there.
static bool refuse_same_arguments(struct assembly *a)
{
  bool ok = true;
  for (size_t s = 0; s < a->k->n_sites; s++) {
    const struct kr_psite *site = &a->k->sites[s];
    for (size_t i = 0; i < site->n_args && i < a->k->n_params; i++) {
      for (size_t j = 0; j < i; j++) {
        const char *x = site->args[j].same_as_path, *y = site->args[i].same_as_path;
        const struct asm_leaf *p = asm_leaf_find(a, a->k->params[j].name);
        const struct asm_leaf *q = asm_leaf_find(a, a->k->params[i].name);
        if (!x || !y || strcmp(x, y) || !p || !q || p->leaf->kind != KR_SCALAR_POINTER ||
            q->leaf->kind != KR_SCALAR_POINTER ||
            (p->leaf->pointee_const && q->leaf->pointee_const))
          continue;
        bool aliased = false;
        for (size_t k = 0; k < a->m->n_sections; k++)
          for (size_t f = 0; f < a->m->sections[k].n_fills; f++)
            aliased = aliased || (a->m->sections[k].fills[f].kind == KR_FILL_ALIAS &&
                                  (!strcmp(a->m->sections[k].path, q->path) ||
                                   !strcmp(a->m->sections[k].path, p->path)));
        if (!aliased)
          ok = asm_fail(a, asm_marker_place(a),
                        "line %u passes `%s` for both `%s` and `%s`; say so: %s = &%s", site->line,
                        x, p->path, q->path, q->path, p->path);
      }
    }
  }
  return ok;
}

// --- terms ---

static struct kr_section *section_named(struct assembly *a, const char *path)
{
  for (size_t i = 0; i < a->c->n_sections; i++)
    if (!strcmp(a->c->sections[i].path, path))
      return &a->c->sections[i];
  return NULL;
}

static void put_compare(struct kr_section *s, const struct kr_mcompare *c)
{
  free(s->rtol);
  free(s->atol);
  s->rtol = c->rtol.text ? kr_xstrdup(c->rtol.text) : NULL;
  s->atol = c->atol.text ? kr_xstrdup(c->atol.text) : NULL;
  s->compare = c->kind == KR_COMPARE_EXACT ? KR_CMP_EXACT
               : c->kind == KR_COMPARE_TOL ? KR_CMP_TOL
                                           : KR_CMP_DEFAULT;
}

static bool take_terms(struct assembly *a)
{
  const struct kr_marker *m = a->m;
  bool ok = true;
  // For all first, then for one, in whatever order they were written.
  for (int named = 0; named < 2; named++) {
    for (size_t i = 0; i < m->n_compares; i++) {
      const struct kr_mcompare *c = &m->compares[i];
      if ((c->path != NULL) != named)
        continue;
      struct kr_section *s = c->path ? section_named(a, c->path) : NULL;
      if (c->path && !s)
        ok = asm_fail(a, c->path_at, "`%s` is no section of this kernel", c->path);
      else if (s && s->role == KR_IN)
        ok = asm_fail(a, c->path_at, "`%s` is only read, so nothing of it is compared", c->path);
      else if (s)
        put_compare(s, c);
      for (size_t j = 0; j < a->c->n_sections && !c->path; j++)
        if (a->c->sections[j].role != KR_IN)
          put_compare(&a->c->sections[j], c);
    }
    for (size_t i = 0; i < m->n_aligns; i++) {
      const struct kr_malign *al = &m->aligns[i];
      if ((al->path != NULL) != named)
        continue;
      struct kr_section *s = al->path ? section_named(a, al->path) : NULL;
      if (al->path && !s)
        ok = asm_fail(a, al->path_at, "`%s` is no section of this kernel", al->path);
      for (size_t j = 0; j < a->c->n_sections; j++) {
        if (al->path && &a->c->sections[j] != s)
          continue;
        free(a->c->sections[j].align);
        a->c->sections[j].align = kr_xstrdup(al->bytes.text);
      }
    }
  }
  for (size_t i = 0; i < m->n_requires; i++) {
    a->c->requires_ = kr_xreallocarray(a->c->requires_, i + 1, sizeof *a->c->requires_);
    a->c->requires_[i] = kr_xstrdup(m->requires_[i].text);
    a->c->n_requires = i + 1;
  }
  return ok;
}

static int constants_lookup(void *arg, const char *name, struct kr_value *out,
                            struct kr_expr_error *error)
{
  (void)error;
  const struct assembly *a = arg;
  const struct kr_pconstant *c = kr_unit_constant(a->unit, a->k->at.offset, name);
  if (!c || !c->known)
    return 1;
  *out = c->is_real ? kr_value_real(c->d) : kr_value_int(c->i);
  return 0;
}

static bool take_min_speedup(struct assembly *a)
{
  const struct kr_mexpr *e = &a->m->min_speedup;
  a->c->min_speedup = 1.02;
  if (!e->e)
    return true;
  struct kr_expr_env env = {.lookup = constants_lookup, .arg = a};
  struct kr_expr_error error = {0};
  struct kr_value v;
  if (kr_expr_eval(e->e, &env, &v, &error))
    return asm_fail(a, kr_marker_expr_place(a->r->src, e, error.offset, error.length),
                    "min_speedup is a number, the same for all cases: %s", error.text);
  a->c->min_speedup = kr_value_as_real(v);
  if (!(a->c->min_speedup >= 1 && a->c->min_speedup <= 1000))
    return asm_fail(a, e->at, "min_speedup is a factor of 1 or more, such as 1.05");
  return true;
}

// --- the document ---

static enum kr_kind kind_of(enum kr_scalar s)
{
  static const enum kr_kind kinds[] = {
      [KR_SCALAR_BOOL] = KR_BOOL, [KR_SCALAR_I8] = KR_I8,     [KR_SCALAR_U8] = KR_U8,
      [KR_SCALAR_I16] = KR_I16,   [KR_SCALAR_U16] = KR_U16,   [KR_SCALAR_I32] = KR_I32,
      [KR_SCALAR_U32] = KR_U32,   [KR_SCALAR_I64] = KR_I64,   [KR_SCALAR_U64] = KR_U64,
      [KR_SCALAR_F16] = KR_F16,   [KR_SCALAR_BF16] = KR_BF16, [KR_SCALAR_F32] = KR_F32,
      [KR_SCALAR_F64] = KR_F64,   [KR_SCALAR_POINTER] = KR_POINTER};
  return kinds[s];
}

// The contract's index of an element type; added when it is new.
static size_t take_type(struct kr_contract *c, const struct kr_ptype *t)
{
  for (size_t i = 0; i < c->n_types; i++)
    if (!strcmp(c->types[i].name, t->name))
      return i;
  c->types = kr_xreallocarray(c->types, c->n_types + 1, sizeof *c->types);
  struct kr_type *out = &c->types[c->n_types];
  *out = (struct kr_type){kr_xstrdup(t->name), t->size, t->align, NULL, 0};
  out->leaves = kr_xcalloc(t->n_leaves + 1, sizeof *out->leaves);
  for (size_t i = 0; i < t->n_leaves; i++)
    out->leaves[out->n_leaves++] = (struct kr_leaf){.path = kr_xstrdup(t->leaves[i].path),
                                                    .offset = t->leaves[i].offset,
                                                    .kind = kind_of(t->leaves[i].kind)};
  return c->n_types++;
}

struct kr_param *asm_params(struct kr_contract *c, const struct kr_pkernel *k,
                            const struct kr_pparam *params)
{
  struct kr_param *list = kr_xcalloc(k->n_params + 1, sizeof *list);
  for (size_t i = 0; i < k->n_params; i++) {
    const struct kr_pparam *p = &params[i];
    struct kr_param *out = &list[i];
    *out = (struct kr_param){kr_xstrdup(p->name), kr_xstrdup(p->type_name), p->type.size,
                             p->type.align, NULL, 0};
    out->leaves = kr_xcalloc(p->type.n_leaves + 1, sizeof *out->leaves);
    for (size_t l = 0; l < p->type.n_leaves; l++) {
      const struct kr_pleaf *leaf = &p->type.leaves[l];
      struct kr_leaf *to = &out->leaves[out->n_leaves++];
      *to = (struct kr_leaf){.path = kr_xstrdup(leaf->path),
                             .offset = leaf->offset,
                             .kind = kind_of(leaf->kind)};
      if (leaf->kind == KR_SCALAR_POINTER) {
        to->type = take_type(c, kr_pkernel_type(k, leaf->pointee));
        to->is_const = leaf->pointee_const;
      }
    }
  }
  return list;
}

static char **copy_strings(const char *const *items, size_t n)
{
  char **out = kr_xcalloc(n + 1, sizeof *out);
  for (size_t i = 0; i < n; i++)
    out[i] = kr_xstrdup(items[i]);
  return out;
}

static void take_rest(struct assembly *a)
{
  const struct assemble_request *r = a->r;
  const struct kr_pkernel *k = a->k;
  struct kr_contract *c = a->c;
  c->kernel = kr_xstrdup(k->qualified);
  c->file = kr_xstrdup(r->file);
  c->line = k->line;
  c->name_expression =
      kr_xstrdup(a->n_inst ? a->inst[0]->kernel.name_expression : k->name_expression);
  c->signature = kr_xstrdup(k->signature);
  c->before = kr_xstrdup(k->slice_before ? k->slice_before : "");
  c->after = kr_xstrdup(k->slice_after ? k->slice_after : "");
  c->code = kr_xstrndup(r->src->data + k->at.offset, k->at.length);
  c->flags = copy_strings(r->flags, r->n_flags);
  c->n_flags = r->n_flags;
  c->archs = copy_strings(r->archs, r->n_archs);
  c->n_archs = r->n_archs;
  c->shared_limit = 48 << 10;
  // Of the names that were asked for; others are no part of the contract.
  struct kr_parse_wants wants;
  assemble_wants(a->m, k, &wants);
  c->constants = kr_xcalloc(wants.n_names + 1, sizeof *c->constants);
  for (size_t i = 0; i < wants.n_names; i++) {
    const struct kr_pconstant *p = kr_unit_constant(a->unit, k->at.offset, wants.names[i]);
    bool same = p && p->known;
    for (size_t j = 0; j < a->n_inst && same; j++) {
      const struct kr_pconstant *q = asm_constant(a, j, wants.names[i]);
      same = q && q->known && q->is_real == p->is_real && q->i == p->i && q->d == p->d;
    }
    if (same)
      c->constants[c->n_constants++] = (struct kr_constant){
          kr_xstrdup(p->name), p->is_real ? kr_value_real(p->d) : kr_value_int(p->i)};
  }
  assemble_wants_release(&wants);
  if (a->n_inst)
    asm_take_instantiations(a);
}

static bool kernel_is_sound(struct assembly *a)
{
  const struct kr_pkernel *k = a->k;
  size_t errors = 0;
  if (k->refused)
    return asm_fail(a, k->refused_at.length ? k->refused_at : k->name_at, "%s", k->refused);
  for (size_t i = 0; i < k->n_errors; i++) {
    const struct kr_diag *d = &k->errors[i];
    kr_diags_add(a->diags, d->severity, d->offset, d->length, "%s", d->text);
    errors += d->severity == KR_SEV_ERROR;
  }
  return !errors;
}

int assemble_contract(const struct assemble_request *r, struct kr_contract *out,
                      struct kr_diags *diags)
{
  *out = (struct kr_contract){0};
  struct assembly a = {.r = r,
                       .m = r->marker,
                       .k = r->kernel,
                       .unit = r->unit,
                       .diags = diags,
                       .c = out};
  bool ok = kernel_is_sound(&a) && asm_templates(&a) && take_leaves(&a) && asm_check_state(&a);
  if (ok) {
    // As much as can be told at once.
    bool geometry = asm_geometry(&a);
    ok = check_bindings(&a) && geometry;
    ok &= take_sections(&a);
    ok &= check_values(&a);
    ok &= asm_check_all_names(&a);
  }
  if (ok) {
    ok = check_fills(&a);
    ok &= take_terms(&a);
    ok &= take_min_speedup(&a);
  }
  ok = ok && asm_cases(&a) && refuse_same_arguments(&a);
  if (ok) {
    out->n_params = a.k->n_params;
    out->params = asm_params(out, a.k, a.k->params);
    take_rest(&a);
    asm_tunable(&a);
  } else {
    kr_contract_release(out);
    *out = (struct kr_contract){0};
  }
  asm_templates_release(&a);
  for (size_t i = 0; i < a.n_leaves; i++)
    free(a.leaves[i].path);
  for (size_t d = 0; d < 3; d++) {
    kr_expr_free(a.grid[d].e);
    kr_expr_free(a.block[d].e);
    free(a.grid[d].text);
    free(a.block[d].text);
  }
  kr_expr_free(a.shared.e);
  free(a.shared.text);
  free(a.leaves);
  free(a.sections);
  free(a.axes);
  free(a.told);
  return ok ? 0 : -1;
}
