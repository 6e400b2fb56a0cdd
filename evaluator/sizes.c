#include "sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fill.h"
#include "scope.h"

// --- which bindings shape the problem ---

struct mention {
  const char *name;
  bool found;
};

static void mention_visit(void *arg, const struct kr_expr *name, bool is_call)
{
  struct mention *m = arg;
  m->found |= !is_call && name->kind == KR_EXPR_NAME && !strcmp(name->name, m->name);
}

static bool mentions(const char *text, const char *name)
{
  if (!text)
    return false;
  struct kr_expr_error error;
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  if (!e)
    return false;
  struct mention m = {name, false};
  kr_expr_names(e, mention_visit, &m);
  kr_expr_free(e);
  return m.found;
}

static bool shapes_directly(const struct kr_contract *c, const struct kr_case *k, const char *name)
{
  for (int i = 0; i < 3; i++) {
    if (mentions(c->geometry.grid[i], name) || mentions(c->geometry.block[i], name))
      return true;
  }
  if (mentions(c->geometry.shared, name))
    return true;
  for (size_t s = 0; s < c->n_sections; s++) {
    if (mentions(c->sections[s].start, name) || mentions(k->fillings[s].expr, name))
      return true;
    for (size_t d = 0; d < c->sections[s].n_dims; d++) {
      if (mentions(c->sections[s].dims[d], name))
        return true;
    }
  }
  return false;
}

static bool shapes(const struct kr_contract *c, const struct kr_case *k, size_t binding)
{
  const char *name = k->bindings[binding].path;
  if (shapes_directly(c, k, name))
    return true;
  for (size_t i = binding + 1; i < k->n_bindings; i++) {
    if (mentions(k->bindings[i].expr, name) && shapes(c, k, i))
      return true;
  }
  return false;
}

// A binding written in terms of others follows them.
static bool follows(const struct kr_case *k, size_t binding)
{
  for (size_t i = 0; i < binding; i++) {
    if (mentions(k->bindings[binding].expr, k->bindings[i].path))
      return true;
  }
  return false;
}

// The kind of the scalar that a binding names; POINTER when it names none.
static enum kr_kind scalar_kind(const struct kr_contract *c, const struct kr_param *params,
                                const char *path)
{
  for (size_t i = 0; i < c->n_params; i++) {
    const struct kr_param *p = &params[i];
    size_t n = strlen(p->name);
    if (strncmp(path, p->name, n))
      continue;
    for (size_t l = 0; l < p->n_leaves; l++) {
      const char *leaf = p->leaves[l].path;
      if (leaf[0] ? path[n] == '.' && !strcmp(path + n + 1, leaf) : !path[n])
        return p->leaves[l].kind;
    }
  }
  return KR_POINTER;
}

struct sizes_binding *sizes_of_case(const struct kr_contract *c, size_t case_index,
                                    const struct kr_override *base, size_t n_base,
                                    struct kr_err *err)
{
  struct kr_instance in;
  if (instance_plan(&in, c, case_index, base, n_base, err))
    return NULL;
  const struct kr_case *k = &c->cases[case_index];
  struct sizes_binding *out = kr_xcalloc(k->n_bindings + 1, sizeof *out);
  for (size_t i = 0; i < k->n_bindings; i++) {
    const struct kr_binding *b = &k->bindings[i];
    enum kr_kind kind = scalar_kind(c, kr_case_params(c, case_index), b->path);
    out[i].unit = 1;
    if (b->fixed || kind == KR_BOOL || (!b->drawn && follows(k, i)))
      continue;
    if (b->drawn || kr_kind_is_float(kind)) {
      out[i].role = SIZES_REAL;
      out[i].real = b->drawn ? 0 : kr_value_as_real(in.names[i].value);
    } else if (!kr_value_as_int(in.names[i].value, &out[i].value)) {
      out[i].role = shapes(c, k, i) ? SIZES_EXTENT : SIZES_INTEGER;
    }
  }
  kr_instance_release(&in);
  return out;
}

// --- values ---

bool sizes_allowed(const struct kr_contract *c, size_t case_index,
                   const struct kr_override *overrides, size_t n)
{
  struct kr_instance in;
  if (instance_plan(&in, c, case_index, overrides, n, NULL))
    return false;
  kr_instance_release(&in);
  return true;
}

size_t sizes_join(struct kr_override *out, const struct kr_override *extra, size_t n_extra,
                  const struct kr_override *base, size_t n_base)
{
  for (size_t i = 0; i < n_extra; i++)
    out[i] = extra[i];
  for (size_t i = 0; i < n_base; i++)
    out[n_extra + i] = base[i];
  return n_extra + n_base;
}

int64_t sizes_unit(const struct kr_contract *c, size_t case_index, const char *path, int64_t value,
                   const struct kr_override *base, size_t n_base)
{
  struct kr_override with[SIZES_MAX_OVERRIDES + 1];
  struct kr_override changed = {path, kr_value_int(0)};
  sizes_join(with, &changed, 1, base, n_base);
  for (int64_t unit = 1; unit <= 4096; unit++) {
    if (value % unit)
      continue; // the value itself is a multiple of its unit
    for (int sign = -1; sign <= 1; sign += 2) {
      with[0].value = kr_value_int(value + sign * unit);
      if (value + sign * unit > 0 && sizes_allowed(c, case_index, with, n_base + 1))
        return unit;
    }
  }
  return 0;
}

static bool is_prime(int64_t v)
{
  if (v < 4)
    return v > 1;
  if (!(v % 2))
    return false;
  for (int64_t d = 3; d <= v / d; d += 2) {
    if (!(v % d))
      return false;
  }
  return true;
}

int64_t sizes_prime_near(int64_t value)
{
  if (value > INT64_C(1) << 44) // beyond any length; trial division would take long
    value = INT64_C(1) << 44;
  while (value > 2 && !is_prime(value))
    value--;
  return value < 2 ? 2 : value;
}

int64_t sizes_random_prime(uint64_t bits, int64_t most)
{
  if (most < 3)
    return 2;
  return sizes_prime_near(2 + (int64_t)fill_below(bits, (uint64_t)(most - 1)));
}

char *sizes_label(const struct kr_override *overrides, size_t n)
{
  struct kr_bytes text;
  kr_bytes_init(&text, 4096);
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(overrides[i].path, "sms"))
      continue;
    kr_bytes_addf(&text, "%s%s = ", text.len ? ", " : "", overrides[i].path);
    kr_value_print(overrides[i].value, &text);
  }
  char *label = kr_bytes_take(&text);
  kr_bytes_release(&text);
  return label;
}
