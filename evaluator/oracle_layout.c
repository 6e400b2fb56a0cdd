#include "oracle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "number.h"
#include "widen.h"

// Types, parameters and contents in double. A layout is only made anew where the
// plain rules of C give the one that the contract holds; there they also give the
// wider one.

static bool is_narrow(enum kr_kind kind)
{
  return kind == KR_F16 || kind == KR_BF16 || kind == KR_F32;
}

static enum kr_kind wide_kind(enum kr_kind kind)
{
  return is_narrow(kind) ? KR_F64 : kind;
}

// CUDA's vectors, whose alignment is their own.
static size_t vector_align(const struct kr_leaf *leaves, size_t n, size_t size, size_t align,
                           size_t *wide_size)
{
  size_t unit = n ? kr_kind_size(leaves[0].kind) : 0;
  static const char *const names[] = {"x", "y", "z", "w"};
  if ((n != 2 && n != 4) || size != n * unit || align != size)
    return 0;
  for (size_t i = 0; i < n; i++) {
    if (leaves[i].kind != leaves[0].kind || strcmp(leaves[i].path, names[i]) ||
        leaves[i].offset != i * unit)
      return 0;
  }
  *wide_size = n * sizeof(double);
  return 16; // of double2 and double4 alike
}

// Offsets by the rules of C; the size is returned.
static size_t lay_out(const struct kr_leaf *leaves, size_t n, bool wide, size_t *offsets,
                      size_t *align)
{
  size_t at = 0;
  *align = 1;
  for (size_t i = 0; i < n; i++) {
    size_t unit = kr_kind_size(wide ? wide_kind(leaves[i].kind) : leaves[i].kind);
    at = (at + unit - 1) / unit * unit;
    offsets[i] = at;
    at += unit;
    if (unit > *align)
      *align = unit;
  }
  return (at + *align - 1) / *align * *align;
}

static int widen_layout(struct kr_leaf *leaves, size_t n, size_t *size, size_t *align,
                        const char *what, struct kr_err *why)
{
  size_t narrow = 0, nested = 0, wide_size;
  for (size_t i = 0; i < n; i++) {
    narrow += is_narrow(leaves[i].kind);
    nested += strchr(leaves[i].path, '.') != NULL;
  }
  if (!narrow)
    return 0;
  size_t wide_align = vector_align(leaves, n, *size, *align, &wide_size);
  if (wide_align) {
    for (size_t i = 0; i < n; i++) {
      leaves[i].kind = KR_F64;
      leaves[i].offset = i * sizeof(double);
    }
    *size = wide_size;
    *align = wide_align;
    return 0;
  }
  size_t *offsets = kr_xcalloc(n, sizeof *offsets), own_align;
  bool plain = lay_out(leaves, n, false, offsets, &own_align) == *size && own_align == *align;
  for (size_t i = 0; i < n && plain; i++)
    plain = offsets[i] == leaves[i].offset;
  // A struct in a struct is aligned as a whole, which its leaves do not tell.
  plain &= !nested || narrow == n;
  if (plain) {
    *size = lay_out(leaves, n, true, offsets, align);
    for (size_t i = 0; i < n; i++) {
      leaves[i].offset = offsets[i];
      leaves[i].kind = wide_kind(leaves[i].kind);
    }
  }
  free(offsets);
  return plain ? 0 : kr_err_set(why, "the layout of `%s` in double is not known", what);
}

// A macro of the command line that names a type or a function would have to be
// widened with the rest.
static int check_flags(const struct kr_contract *c, struct kr_err *why)
{
  for (size_t i = 0; i < c->n_flags; i++) {
    struct kr_err ignored = {{0}};
    const char *value = strchr(c->flags[i], '=');
    if (strncmp(c->flags[i], "-D", 2) && (!i || strcmp(c->flags[i - 1], "-D")))
      continue;
    char *wide = value ? widen_name("", value + 1, &ignored) : NULL;
    bool same = !value || (wide && !strcmp(wide, value + 1));
    free(wide);
    if (!same)
      return kr_err_set(why, "the compiler flag `%.100s` names a type, a function or a float",
                        c->flags[i]);
  }
  return 0;
}

static bool has_narrow_output(const struct kr_contract *c)
{
  for (size_t i = 0; i < c->n_params * kr_contract_kernels(c); i++) {
    const struct kr_param *p = &kr_contract_params(c, i / c->n_params)[i % c->n_params];
    for (size_t l = 0; l < p->n_leaves; l++) {
      const struct kr_leaf *leaf = &p->leaves[l];
      if (leaf->kind != KR_POINTER || leaf->is_const)
        continue;
      const struct kr_type *t = &c->types[leaf->type];
      for (size_t k = 0; k < t->n_leaves; k++) {
        if (is_narrow(t->leaves[k].kind))
          return true;
      }
    }
  }
  return false;
}

static int widen_types(struct kr_contract *c, bool casts, struct kr_err *why)
{
  for (size_t i = 0; i < c->n_types; i++) {
    struct kr_type *t = &c->types[i];
    if (casts && (!t->n_leaves || kr_kind_size(t->leaves[0].kind) == 1))
      return kr_err_set(why, "it casts pointers, and one is to `%s`", t->name);
    if (widen_layout(t->leaves, t->n_leaves, &t->size, &t->align, t->name, why))
      return -1;
  }
  for (size_t k = 0; k <= c->n_instantiations; k++) {
    struct kr_param *p = k ? c->instantiations[k - 1].params : c->params;
    for (size_t i = 0; p && i < c->n_params; i++) {
      if (widen_layout(p[i].leaves, p[i].n_leaves, &p[i].size, &p[i].align, p[i].type_name, why))
        return -1;
    }
  }
  return 0;
}

static int widen_names(struct kr_contract *c, const char *text, struct kr_err *why)
{
  for (size_t k = 0; k <= c->n_instantiations; k++) {
    char **name = k ? &c->instantiations[k - 1].name_expression : &c->name_expression;
    char *wide = widen_name(text, *name, why);
    if (!wide)
      return -1;
    free(*name);
    *name = wide;
  }
  return 0;
}

int oracle_contract(const struct kr_contract *c, struct kr_contract *out, struct kr_err *why)
{
  memset(out, 0, sizeof *out);
  why->text[0] = '\0';
  if (!has_narrow_output(c))
    return kr_err_set(why, "it has no output of float, half or bfloat16");
  if (check_flags(c, why))
    return -1;
  struct kr_bytes json, text;
  struct widened w = {0};
  kr_bytes_init(&json, SIZE_MAX / 2);
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  kr_bytes_adds(&text, c->before);
  kr_bytes_adds(&text, c->code);
  int rc = kr_bytes_adds(&text, c->after) ? kr_err_set(why, "its text is too large")
                                          : widen(&w, text.data, why);
  if (!rc) {
    kr_contract_to_json(c, &json);
    rc = kr_contract_from_json(out, json.data, json.len, why);
  }
  if (!rc) {
    free(out->before);
    free(out->code);
    free(out->after);
    out->before = kr_xstrdup("");
    out->code = w.text;
    out->after = kr_xstrdup("");
    w.text = NULL;
    rc = widen_names(out, text.data, why) || widen_types(out, w.casts, why) ? -1 : 0;
    // The widest element is a half; nothing is lost by too much.
    if (!rc && out->geometry.shared) {
      int times = 2;
      for (size_t i = 0; i < c->n_types; i++) {
        for (size_t l = 0; l < c->types[i].n_leaves; l++)
          times = kr_kind_size(c->types[i].leaves[l].kind) == 2 ? 4 : times;
      }
      char *wider = kr_xasprintf("(%s) * %d", out->geometry.shared, times);
      free(out->geometry.shared);
      out->geometry.shared = wider;
      out->shared_limit *= times;
    }
    if (rc)
      kr_contract_release(out);
  }
  widened_release(&w);
  kr_bytes_release(&json);
  kr_bytes_release(&text);
  return rc;
}

// --- an instance ---

static void convert(const struct kr_leaf *from, const struct kr_leaf *to, size_t n,
                    const unsigned char *src, unsigned char *dst)
{
  for (size_t l = 0; l < n; l++) {
    if (from[l].kind == to[l].kind)
      memcpy(dst + to[l].offset, src + from[l].offset, kr_kind_size(from[l].kind));
    else
      number_put_real(KR_F64, dst + to[l].offset, number_get_real(from[l].kind, src + from[l].offset));
  }
}

static unsigned char *convert_buffer(const struct kr_buffer *from, const struct kr_buffer *to)
{
  unsigned char *out = calloc(to->bytes ? to->bytes : 1, 1);
  if (!out)
    return NULL;
  bool floats = from->type->n_leaves == 1 && from->type->leaves[0].kind == KR_F32 &&
                from->type->size == sizeof(float);
  for (int64_t i = 0; i < from->count; i++) {
    if (floats) {
      ((double *)(void *)out)[i] = (double)((const float *)(const void *)from->init)[i];
      continue;
    }
    convert(from->type->leaves, to->type->leaves, from->type->n_leaves,
            from->init + (size_t)i * from->type->size, out + (size_t)i * to->type->size);
  }
  return out;
}

static bool fits_memory(size_t bytes)
{
  size_t have = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  return bytes <= have / 4;
}

static int convert_buffers(const struct kr_instance *in, const struct kr_contract *wide,
                           struct kr_instance *out, struct kr_err *why)
{
  const struct kr_contract *c = in->contract;
  out->buffers = kr_xcalloc(in->n_buffers + 1, sizeof *out->buffers);
  size_t total = 0;
  for (size_t i = 0; i < in->n_buffers; i++) {
    struct kr_buffer *b = &out->buffers[i];
    *b = in->buffers[i];
    b->type = &wide->types[in->buffers[i].type - c->types];
    b->bytes = (size_t)b->count * b->type->size;
    b->init = NULL;
    if (b->type->align > b->align)
      b->align = b->type->align;
    total += b->bytes;
    out->n_buffers = i + 1;
  }
  if (!fits_memory(total))
    return kr_err_set(why, "%.1f GB in double do not fit this machine", (double)total / 1e9);
  for (size_t i = 0; i < in->n_buffers; i++) {
    if (!in->buffers[i].init)
      continue;
    out->buffers[i].init = convert_buffer(&in->buffers[i], &out->buffers[i]);
    if (!out->buffers[i].init)
      return kr_err_set(why, "no memory for %zu bytes in double", out->buffers[i].bytes);
  }
  return 0;
}

// A pointer keeps its parameter and its leaf. One that points into the buffer of
// another must still step by the same elements there.
static int convert_slots(const struct kr_instance *in, const struct kr_contract *wide,
                         struct kr_instance *out, struct kr_err *why)
{
  const struct kr_contract *c = in->contract;
  out->slots = kr_xcalloc(in->n_slots + 1, sizeof *out->slots);
  for (size_t i = 0; i < in->n_slots; i++) {
    const struct kr_pointer_slot *slot = &in->slots[i];
    const struct kr_param *p = &kr_case_params(c, in->case_index)[slot->param];
    const struct kr_leaf *leaf = NULL;
    out->slots[i] = *slot;
    for (size_t l = 0; l < p->n_leaves; l++) {
      if (p->leaves[l].kind == KR_POINTER && p->leaves[l].offset == slot->offset) {
        leaf = &p->leaves[l];
        out->slots[i].offset = kr_case_params(wide, in->case_index)[slot->param].leaves[l].offset;
      }
    }
    if (!leaf)
      return kr_err_set(why, "a pointer of `%s` has no place in double", p->name);
    if (slot->buffer != SIZE_MAX && in->buffers[slot->buffer].type != &c->types[leaf->type])
      return kr_err_set(why, "`%s` points into a buffer of another type", p->name);
    out->n_slots = i + 1;
  }
  return 0;
}

int oracle_instance(const struct kr_instance *in, const struct kr_contract *wide,
                    struct kr_instance *out, struct kr_err *why)
{
  const struct kr_contract *c = in->contract;
  *out = (struct kr_instance){.contract = wide,
                              .case_index = in->case_index,
                              .label = kr_xstrdup(in->label),
                              .held_out = in->held_out,
                              .seed = in->seed};
  out->params = kr_xcalloc(c->n_params + 1, sizeof *out->params);
  for (size_t i = 0; i < c->n_params; i++) {
    const struct kr_param *from = &kr_case_params(c, in->case_index)[i];
    const struct kr_param *to = &kr_case_params(wide, in->case_index)[i];
    out->params[i] = kr_xcalloc(1, to->size);
    convert(from->leaves, to->leaves, from->n_leaves, in->params[i], out->params[i]);
  }
  out->names = kr_xcalloc(in->n_names + 1, sizeof *out->names);
  for (size_t i = 0; i < in->n_names; i++) {
    out->names[i] = (struct kr_constant){kr_xstrdup(in->names[i].name), in->names[i].value};
    out->n_names = i + 1;
  }
  int rc = convert_slots(in, wide, out, why);
  if (!rc)
    rc = convert_buffers(in, wide, out, why);
  if (rc)
    kr_instance_release(out);
  return rc;
}
