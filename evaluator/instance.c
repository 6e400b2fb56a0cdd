#include "instance.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fill.h"
#include "number.h"
#include "scope.h"

enum { STREAM_SCALARS = 1 << 20 }; // sections and leaves use the numbers below

static struct scope instance_scope(const struct kr_instance *in, int64_t sms)
{
  return (struct scope){.contract = in->contract,
                        .instantiation = kr_case_kernel(in->contract, in->case_index),
                        .names = in->names,
                        .n_names = in->n_names,
                        .geometry = &in->contract->geometry,
                        .sms = sms};
}

static const struct kr_value *override_find(const struct kr_override *overrides, size_t n,
                                            const char *path)
{
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(overrides[i].path, path))
      return &overrides[i].value;
  }
  return NULL;
}

// --- scalars ---

// The values of the case's bindings, in order; later ones see earlier ones.
static int bind_names(struct kr_instance *in, const struct kr_case *k, int64_t sms,
                      const struct kr_override *overrides, size_t n_overrides, struct kr_err *err)
{
  in->names = kr_xcalloc(k->n_bindings + 1, sizeof *in->names);
  for (size_t i = 0; i < k->n_bindings; i++) {
    const struct kr_binding *b = &k->bindings[i];
    const struct kr_value *own = override_find(overrides, n_overrides, b->path);
    struct kr_value v;
    if (own && !b->fixed) {
      v = *own;
      in->held_out = true;
    } else if (b->drawn) {
      uint64_t bits = fill_bits(in->seed, STREAM_SCALARS, i);
      v = kr_value_real(0.25 + 0.75 * fill_unit(bits));
    } else {
      struct scope s = instance_scope(in, sms);
      if (scope_eval(&s, b->expr, b->path, &v, err))
        return -1;
    }
    in->names[i].name = kr_xstrdup(b->path);
    in->names[i].value = v;
    in->n_names = i + 1;
  }
  struct kr_bytes label;
  struct scope s = instance_scope(in, 0);
  kr_bytes_init(&label, 1 << 20);
  const struct kr_contract *c = in->contract;
  if (k->instantiation < c->n_instantiations && c->instantiations[k->instantiation].types[0])
    kr_bytes_addf(&label, "%s%s", c->instantiations[k->instantiation].types,
                  in->n_names ? ", " : "");
  scope_print(&s, &label);
  in->label = kr_bytes_take(&label);
  kr_bytes_release(&label);
  return 0;
}

static char *leaf_path(const struct kr_param *p, const struct kr_leaf *leaf)
{
  return leaf->path[0] ? kr_xasprintf("%s.%s", p->name, leaf->path) : kr_xstrdup(p->name);
}

static int put_scalar(struct kr_instance *in, size_t param, const struct kr_leaf *leaf,
                      struct kr_err *err)
{
  const struct kr_param *p = &kr_case_params(in->contract, in->case_index)[param];
  char *path = leaf_path(p, leaf);
  const char *type = leaf->path[0] ? number_c_name(leaf->kind) : p->type_name;
  const struct kr_constant *bound = NULL;
  int rc = 0;
  for (size_t i = 0; i < in->n_names; i++) {
    if (!strcmp(in->names[i].name, path))
      bound = &in->names[i];
  }
  if (!bound) {
    rc = kr_err_set(err,
                    "no value for `%s` (%s): add let(%s = ...), or fix(...) if the program never "
                    "uses another",
                    path, type, path);
  } else if (number_put_value(leaf->kind, in->params[param] + leaf->offset, bound->value)) {
    struct kr_bytes text;
    kr_bytes_init(&text, 256);
    kr_value_print(bound->value, &text);
    rc = kr_err_set(err, "%s does not fit `%s` (%s)", text.data, path, type);
    kr_bytes_release(&text);
  }
  free(path);
  return rc;
}

static int put_params(struct kr_instance *in, struct kr_err *err)
{
  const struct kr_contract *c = in->contract;
  const struct kr_param *params = kr_case_params(c, in->case_index);
  in->params = kr_xcalloc(c->n_params + 1, sizeof *in->params);
  for (size_t i = 0; i < c->n_params; i++)
    in->params[i] = kr_xcalloc(1, params[i].size);
  for (size_t i = 0; i < c->n_params; i++) {
    for (size_t l = 0; l < params[i].n_leaves; l++) {
      const struct kr_leaf *leaf = &params[i].leaves[l];
      if (leaf->kind != KR_POINTER && put_scalar(in, i, leaf, err))
        return -1;
    }
  }
  return 0;
}

static int obey_requires(struct kr_instance *in, int64_t sms, struct kr_err *err)
{
  for (size_t i = 0; i < in->contract->n_requires; i++) {
    const char *text = in->contract->requires_[i];
    struct scope s = instance_scope(in, sms);
    struct kr_value v;
    if (scope_eval(&s, text, "require", &v, err))
      return -1;
    if (!kr_value_true(v)) {
      kr_err_set(err, "require(%s) does not hold with %s", text, in->label);
      return 1;
    }
  }
  return 0;
}

// --- buffers ---

// The pointer leaf that a path names; from_json() saw to it that there is one.
static const struct kr_leaf *find_pointer(const struct kr_contract *c,
                                          const struct kr_param *params, const char *path,
                                          size_t *param)
{
  for (size_t i = 0; i < c->n_params; i++) {
    for (size_t l = 0; l < params[i].n_leaves; l++) {
      const struct kr_leaf *leaf = &params[i].leaves[l];
      char *own = leaf_path(&params[i], leaf);
      bool found = leaf->kind == KR_POINTER && !strcmp(own, path);
      free(own);
      if (found) {
        *param = i;
        return leaf;
      }
    }
  }
  return NULL;
}

static int measure(struct kr_instance *in, struct scope *s, const struct kr_section *section,
                   struct kr_buffer *b, struct kr_err *err)
{
  char what[256];
  snprintf(what, sizeof what, "section `%.200s`", section->path);
  b->count = 1;
  b->n_dims = section->n_dims;
  for (size_t i = 0; i < section->n_dims; i++) {
    if (scope_eval_int(s, section->dims[i], what, &b->dims[i], err))
      return -1;
    if (b->dims[i] < 0)
      return kr_err_set(err, "negative length %lld of section `%s`, in the case %s",
                        (long long)b->dims[i], section->path, in->label);
    if (__builtin_mul_overflow(b->count, b->dims[i], &b->count))
      return kr_err_set(err, "the length of section `%s` overflows, in the case %s", section->path,
                        in->label);
  }
  if (section->start && scope_eval_int(s, section->start, what, &b->start, err))
    return -1;
  int64_t bytes, last;
  if (__builtin_mul_overflow(b->count, (int64_t)b->type->size, &bytes) || bytes > INT64_MAX / 4 ||
      __builtin_add_overflow(b->start, b->count, &last) || b->start < -(INT64_MAX / 4) ||
      last > INT64_MAX / 4)
    return kr_err_set(err, "the size of section `%s` overflows, in the case %s", section->path,
                      in->label);
  b->bytes = (size_t)bytes;
  b->align = b->type->align;
  if (section->align) {
    int64_t align;
    if (scope_eval_int(s, section->align, "align", &align, err))
      return -1;
    if (align < 1 || align > 4096 || align & (align - 1))
      return kr_err_set(err, "align(%lld) of `%s` is no power of two up to 4096", (long long)align,
                        section->path);
    if ((size_t)align > b->align)
      b->align = (size_t)align;
  }
  return 0;
}

// A pointer into another section: the slot goes to that buffer, which keeps the
// stronger direction. All that the pointer's own section spans must lie inside.
static int point_into(struct kr_instance *in, struct scope *s, size_t section, size_t slot,
                      const struct kr_buffer *own, const size_t *buffer_of, struct kr_err *err)
{
  const struct kr_contract *c = in->contract;
  const struct kr_filling *f = &c->cases[in->case_index].fillings[section];
  size_t target = (size_t)(kr_contract_section(c, f->alias) - c->sections);
  const char *path = c->sections[section].path;
  int64_t element = 0;
  if (buffer_of[target] == SIZE_MAX)
    return kr_err_set(err, "`%s` points into `%s`, which is itself no buffer in this case", path,
                      f->alias);
  struct kr_buffer *b = &in->buffers[buffer_of[target]];
  if (f->expr && scope_eval_int(s, f->expr, path, &element, err))
    return -1;
  if (own->type->size != b->type->size)
    return kr_err_set(err, "`%s` and `%s` have elements of %zu and %zu bytes", path, f->alias,
                      own->type->size, b->type->size);
  int64_t first, end;
  if (__builtin_add_overflow(element, own->start, &first) ||
      __builtin_add_overflow(first, own->count, &end) || first < b->start ||
      end > b->start + b->count || b->null)
    return kr_err_set(err, "`&%s[%lld]` with %lld elements leaves section `%s` (%lld ... %lld)",
                      f->alias, (long long)element, (long long)own->count, f->alias,
                      (long long)b->start, (long long)(b->start + b->count - 1));
  if (own->role != KR_IN && b->role == KR_IN)
    b->role = KR_INOUT;
  if (own->role == KR_INOUT && b->role == KR_OUT)
    b->role = KR_INOUT;
  in->slots[slot].buffer = buffer_of[target];
  in->slots[slot].element = element;
  return 0;
}

static int plan_buffers(struct kr_instance *in, int64_t sms, struct kr_err *err)
{
  const struct kr_contract *c = in->contract;
  const struct kr_case *k = &c->cases[in->case_index];
  struct scope s = instance_scope(in, sms);
  in->slots = kr_xcalloc(c->n_sections + 1, sizeof *in->slots);
  in->buffers = kr_xcalloc(c->n_sections + 1, sizeof *in->buffers);
  size_t *buffer_of = kr_xcalloc(c->n_sections + 1, sizeof *buffer_of);
  struct kr_buffer *own = kr_xcalloc(c->n_sections + 1, sizeof *own);
  size_t total = 0;
  int rc = -1;
  for (size_t i = 0; i < c->n_sections; i++) {
    struct kr_pointer_slot *slot = &in->slots[in->n_slots++];
    const struct kr_leaf *leaf = find_pointer(c, kr_case_params(c, in->case_index),
                                              c->sections[i].path, &slot->param);
    if (!leaf) {
      kr_err_set(err, "section `%s` is no pointer of the kernel", c->sections[i].path);
      goto out;
    }
    slot->offset = leaf->offset;
    slot->buffer = SIZE_MAX;
    buffer_of[i] = SIZE_MAX;
    own[i].section = i;
    own[i].role = c->sections[i].role;
    own[i].type = &c->types[leaf->type];
    own[i].null = k->fillings[i].kind == KR_FILLED_NULL;
    if (own[i].null) {
      own[i].n_dims = 1;
      own[i].align = own[i].type->align;
    } else if (measure(in, &s, &c->sections[i], &own[i], err)) {
      goto out;
    }
    if (k->fillings[i].kind == KR_FILLED_ALIAS)
      continue;
    if (!own[i].null)
      slot->buffer = in->n_buffers;
    buffer_of[i] = in->n_buffers;
    in->buffers[in->n_buffers++] = own[i];
    total += own[i].bytes;
    if (total > SIZE_MAX / 8) {
      kr_err_set(err, "the sections together overflow, in the case %s", in->label);
      goto out;
    }
  }
  for (size_t i = 0; i < c->n_sections; i++) {
    if (k->fillings[i].kind == KR_FILLED_ALIAS &&
        point_into(in, &s, i, i, &own[i], buffer_of, err))
      goto out;
  }
  rc = 0;
out:
  free(buffer_of);
  free(own);
  return rc;
}

// Every pointer of every parameter needs a section: none may be left wild.
static int check_pointers(const struct kr_contract *c, struct kr_err *err)
{
  for (size_t i = 0; i < c->n_params; i++) {
    for (size_t l = 0; l < c->params[i].n_leaves; l++) {
      if (c->params[i].leaves[l].kind != KR_POINTER)
        continue;
      char *path = leaf_path(&c->params[i], &c->params[i].leaves[l]);
      int rc = 0;
      if (!kr_contract_section(c, path))
        rc = kr_err_set(err, "no size for pointer `%s`: add inout(%s[...]) or data(*[...])", path,
                        path);
      free(path);
      if (rc)
        return rc;
    }
  }
  return 0;
}

static int check_memory(const struct kr_instance *in, struct kr_err *err)
{
  size_t total = kr_instance_bytes(in), largest = 0;
  size_t have = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  if (total <= have / 4 * 3)
    return 0;
  for (size_t i = 1; i < in->n_buffers; i++) {
    if (in->buffers[i].bytes > in->buffers[largest].bytes)
      largest = i;
  }
  const struct kr_buffer *b = &in->buffers[largest];
  return kr_err_set(err, "%.1f GB in section `%s` of %.1f GB in all; this machine has %.1f GB (%s)",
                    (double)b->bytes / 1e9, in->contract->sections[b->section].path,
                    (double)total / 1e9, (double)have / 1e9, in->label);
}

static int fill_buffers(struct kr_instance *in, enum kr_distribution dist, int64_t sms,
                        struct kr_err *err)
{
  const struct kr_contract *c = in->contract;
  if (check_memory(in, err))
    return -1;
  for (size_t i = 0; i < in->n_buffers; i++) {
    struct kr_buffer *b = &in->buffers[i];
    if (b->null || b->role == KR_OUT)
      continue;
    const struct kr_section *section = &c->sections[b->section];
    const struct kr_filling *f = &c->cases[in->case_index].fillings[b->section];
    struct kr_expr *e = NULL;
    // Section by section, so that what is measured here is what is filled.
    b->init = calloc(b->bytes ? b->bytes : 1, 1);
    if (!b->init)
      return kr_err_set(err, "no memory for the %zu bytes of section `%s`, in the case %s",
                        b->bytes, section->path, in->label);
    if (f->kind == KR_FILLED_EXPR) {
      struct scope s = instance_scope(in, sms);
      e = scope_filler(&s, f->expr, section->path, err);
      if (!e)
        return -1;
    }
    struct fill_request q = {.type = b->type,
                             .count = b->count,
                             .dims = b->dims,
                             .n_dims = b->n_dims,
                             .e = e,
                             .dist = dist,
                             .seed = in->seed,
                             .section = (uint32_t)b->section,
                             .path = section->path};
    int rc = fill_buffer(b->init, &q, err);
    kr_expr_free(e);
    if (rc)
      return rc;
  }
  return 0;
}

int instance_use_outputs(struct kr_instance *in, struct kr_err *err)
{
  for (size_t i = 0; i < in->n_buffers; i++) {
    struct kr_buffer *b = &in->buffers[i];
    if (b->null || b->role != KR_OUT)
      continue;
    b->init = calloc(b->bytes ? b->bytes : 1, 1);
    if (!b->init)
      return kr_err_set(err, "no memory for the %zu bytes of section `%s`", b->bytes,
                        in->contract->sections[b->section].path);
    struct fill_request q = {.type = b->type,
                             .count = b->count,
                             .dims = b->dims,
                             .n_dims = b->n_dims,
                             .dist = KR_DIST_INTEGER,
                             .seed = in->seed,
                             .section = (uint32_t)b->section,
                             .path = in->contract->sections[b->section].path};
    if (fill_buffer(b->init, &q, err))
      return -1;
    b->role = KR_INOUT;
  }
  return 0;
}

static int make(struct kr_instance *out, const struct kr_contract *c, size_t case_index,
                uint64_t seed, enum kr_distribution dist, const struct kr_override *overrides,
                size_t n_overrides, bool filled, struct kr_err *err)
{
  memset(out, 0, sizeof *out);
  out->contract = c;
  out->case_index = case_index;
  out->seed = seed;
  const struct kr_value *sms = override_find(overrides, n_overrides, "sms");
  int64_t n_sms = 0;
  if (sms && kr_value_as_int(*sms, &n_sms))
    return kr_err_set(err, "`sms` is no whole number");
  int rc = bind_names(out, &c->cases[case_index], n_sms, overrides, n_overrides, err);
  if (!rc)
    rc = put_params(out, err);
  if (!rc)
    rc = obey_requires(out, n_sms, err);
  if (!rc)
    rc = check_pointers(c, err);
  if (!rc)
    rc = plan_buffers(out, n_sms, err);
  if (!rc && filled)
    rc = fill_buffers(out, dist, n_sms, err);
  if (rc)
    kr_instance_release(out);
  return rc;
}

int kr_instance_make(struct kr_instance *out, const struct kr_contract *c, size_t case_index,
                     uint64_t seed, enum kr_distribution dist, const struct kr_override *overrides,
                     size_t n_overrides, struct kr_err *err)
{
  return make(out, c, case_index, seed, dist, overrides, n_overrides, true, err);
}

int instance_plan(struct kr_instance *out, const struct kr_contract *c, size_t case_index,
                  const struct kr_override *overrides, size_t n_overrides, struct kr_err *err)
{
  return make(out, c, case_index, 0, KR_DIST_ZERO, overrides, n_overrides, false, err);
}

void kr_instance_release(struct kr_instance *in)
{
  free(in->label);
  for (size_t i = 0; in->params && i < in->contract->n_params; i++)
    free(in->params[i]);
  free(in->params);
  free(in->slots);
  for (size_t i = 0; i < in->n_buffers; i++)
    free(in->buffers[i].init);
  free(in->buffers);
  for (size_t i = 0; i < in->n_names; i++)
    free(in->names[i].name);
  free(in->names);
  memset(in, 0, sizeof *in);
}

// --- the launch ---

static int launch_axis(struct scope *s, const char *text, const char *what, int64_t least,
                       int64_t most, const struct kr_instance *in,
                       const struct kr_device_facts *facts, unsigned *out, struct kr_err *err)
{
  int64_t v = 1;
  if (text && scope_eval_int(s, text, what, &v, err))
    return -1;
  if (v < least)
    return kr_err_set(err, "%s is %lld, with %s", what, (long long)v, in->label);
  if (v > most)
    return kr_err_set(err, "%s is %lld, more than the limit of %lld (%s), with %s", what,
                      (long long)v, (long long)most, facts->arch, in->label);
  *out = (unsigned)v;
  return 0;
}

int kr_instance_launch(const struct kr_instance *in, const struct kr_geometry *geometry,
                       const struct kr_device_facts *facts, struct kr_launch *out,
                       struct kr_err *err)
{
  static const char *const block_names[] = {"block.x", "block.y", "block.z"};
  static const char *const grid_names[] = {"grid.x", "grid.y", "grid.z"};
  static const int64_t grid_max[] = {INT_MAX, 65535, 65535};
  struct scope s = instance_scope(in, facts->sms);
  s.geometry = geometry;
  memset(out, 0, sizeof *out);
  int64_t threads = 1;
  // The product is told before any axis: 1024 threads is what a user knows.
  s.in_block = true;
  for (int i = 0; i < 3; i++) {
    if (launch_axis(&s, geometry->block[i], block_names[i], 1, INT_MAX, in, facts, &out->block[i],
                    err))
      return -1;
    if (__builtin_mul_overflow(threads, (int64_t)out->block[i], &threads))
      threads = INT64_MAX;
  }
  s.in_block = false;
  if (threads > 1024)
    return kr_err_set(err, "%lld threads exceed the limit of 1024 (%s), with %s",
                      (long long)threads, facts->arch, in->label);
  if (out->block[2] > 64)
    return kr_err_set(err, "block.z is %u, more than the limit of 64 (%s), with %s", out->block[2],
                      facts->arch, in->label);
  for (int i = 0; i < 3; i++) {
    if (launch_axis(&s, geometry->grid[i], grid_names[i], 0, grid_max[i], in, facts, &out->grid[i],
                    err))
      return -1;
  }
  int64_t shared = 0;
  if (geometry->shared && scope_eval_int(&s, geometry->shared, "shared", &shared, err))
    return -1;
  if (shared < 0)
    return kr_err_set(err, "shared is %lld bytes, with %s", (long long)shared, in->label);
  if (shared > in->contract->shared_limit)
    return kr_err_set(err,
                      "%lld bytes of dynamic shared memory exceed the %lld that the launch sites "
                      "give, with %s",
                      (long long)shared, (long long)in->contract->shared_limit, in->label);
  if (facts->shared_optin_bytes && (size_t)shared > facts->shared_optin_bytes)
    return kr_err_set(err, "%lld bytes of dynamic shared memory exceed the limit of %zu (%s), with %s",
                      (long long)shared, facts->shared_optin_bytes, facts->arch, in->label);
  out->shared_bytes = (unsigned)shared;
  out->cooperative = geometry->cooperative;
  return 0;
}

size_t kr_instance_bytes(const struct kr_instance *in)
{
  size_t total = 0;
  for (size_t i = 0; i < in->n_buffers; i++)
    total += in->buffers[i].bytes;
  return total;
}

void kr_buffer_place(const struct kr_instance *in, size_t buffer, int64_t index,
                     struct kr_bytes *out)
{
  const struct kr_buffer *b = &in->buffers[buffer];
  kr_bytes_adds(out, in->contract->sections[b->section].path);
  if (b->n_dims < 2) {
    long long at = index + b->start;
    kr_bytes_addf(out, "[%lld]", at);
    return;
  }
  int64_t places[8];
  for (size_t k = b->n_dims; k-- > 0;) {
    places[k] = k ? index % b->dims[k] : index;
    if (k)
      index /= b->dims[k];
  }
  for (size_t k = 0; k < b->n_dims; k++)
    kr_bytes_addf(out, "[%lld]", (long long)places[k]);
}
