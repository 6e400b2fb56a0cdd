#include "assemble_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// The sections of one case: lengths, what fills them, and where they overlap.

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

static const struct kr_ptype *pointee_of(const struct case_env *v, const struct asm_section *s)
{
  return asm_pointee_under(v->a, s, v->inst);
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
    if (!fill_varies(node->args[i]) && case_eval_raw(v, node->args[i], &arg[i], &error))
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
  const struct kr_pleaf *leaf = &pointee_of(v, s)->leaves[0];
  if (whole && node == e->e && leaf->kind < KR_SCALAR_F16 && x->count > 0 &&
      case_misfit(leaf->kind, kr_value_int(k - (node->name[0] == 'i')))) {
    snprintf(text, sizeof text, "values of `%s` up to %lld do not fit its elements (%s)",
             s->leaf->path, (long long)(k - (node->name[0] == 'i')), pointee_of(v, s)->name);
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
  const struct kr_ptype *pointee = pointee_of(v, s);
  for (size_t i = 0; i < pointee->n_leaves; i++) {
    const char *why = case_misfit(pointee->leaves[i].kind, value);
    if (!why)
      continue;
    struct kr_bytes text;
    kr_bytes_init(&text, 512);
    kr_value_print(value, &text);
    kr_bytes_addf(&text, " %s the elements of `%s` (%s)", why, s->leaf->path, pointee->name);
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

bool case_sections(struct case_env *v, const size_t *at)
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
    double size = extents[i].null ? 0 : (double)extents[i].count * (double)pointee_of(v, s)->size;
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
