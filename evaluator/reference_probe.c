#include "reference_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fill.h"
#include "scope.h"

// Attempts: placements and sizes beyond the declared ones. Nothing is asked of a
// variant later that the original does not do itself.

enum {
  MAX_POINTS = 64, // held-out sizes tried in all, of each instantiation
  MORE_VALUES = 3, // of an extent under further arguments of a template
  STREAM_POINTS = 2 << 20
};

// Whether a point is usable: known from before, or found out by running there.
// Returns 1 usable, 0 not (with the reason in `why`), -1 when the device is
// lost or the back end broke.
static int try_point(struct kr_evaluator *e, const struct sizes_point *p, size_t nonfinite_limit,
                     struct kr_bytes *why, struct kr_err *err)
{
  char attempt[200];
  snprintf(attempt, sizeof attempt, "case %zu: %.180s", p->case_index, p->label);
  if (reference_avoids(e, attempt)) {
    kr_bytes_adds(why, "the original faults");
    return 0;
  }
  for (size_t i = 0; e->known && i < e->known->n_probes; i++) {
    const struct kr_probe *known = &e->known->probes[i];
    if (!strcmp(known->label, p->label)) {
      kr_bytes_adds(why, known->why ? known->why : "");
      return known->usable;
    }
  }
  if (e->known) {
    kr_bytes_adds(why, "not tried");
    return 0;
  }
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct kr_err made = {{0}};
  if (evaluator_instance(e, p->case_index, e->seed, KR_DIST_NORMAL, p->overrides, p->n, &in,
                         &made)) {
    kr_bytes_adds(why, made.text);
    return 0;
  }
  reference_attempt(e, attempt);
  struct original_run o = {0};
  int rc = -1;
  if (!e->backend->load(e->dev, &in, &data, err)) {
    rc = reference_run(e, &in, data, &o, err);
    if (!rc) {
      rc = o.clean;
      kr_bytes_add(why, o.why.data, o.why.len);
      e->ref.deterministic &= !o.clean || o.deterministic;
      if (o.clean && compare_count_nonfinite(&in, o.trial.run[0].after) > nonfinite_limit) {
        kr_bytes_adds(why, "the original's result is not finite");
        rc = 0;
      }
    }
    reference_run_release(&o);
    e->backend->dataset_free(e->dev, data);
  }
  kr_instance_release(&in);
  reference_attempt(e, "");
  return rc;
}

static void add_probe(struct kr_evaluator *e, const char *label, bool usable, const char *why)
{
  e->ref.probes = kr_xreallocarray(e->ref.probes, e->ref.n_probes + 1, sizeof *e->ref.probes);
  e->ref.probes[e->ref.n_probes++] =
      (struct kr_probe){kr_xstrdup(label), usable, usable ? NULL : kr_xstrdup(why)};
}

// Tries a point once and remembers it. Returns as try_point() does.
static int probe(struct kr_evaluator *e, size_t case_index, const struct kr_override *o, size_t n,
                 size_t nonfinite_limit, struct kr_err *err)
{
  struct sizes_point p = {.case_index = case_index, .n = n};
  sizes_join(p.overrides, o, n, NULL, 0);
  p.label = sizes_label(o, n);
  if (case_index) {
    char *with_case = kr_xasprintf("%s (case %s)", p.label, e->c->cases[case_index].label);
    free(p.label);
    p.label = with_case;
  }
  for (size_t i = 0; i < e->ref.n_probes; i++) {
    if (!strcmp(e->ref.probes[i].label, p.label)) {
      free(p.label);
      return e->ref.probes[i].usable;
    }
  }
  struct kr_bytes why;
  kr_bytes_init(&why, 64 << 10);
  int rc = try_point(e, &p, nonfinite_limit, &why, err);
  if (rc >= 0)
    add_probe(e, p.label, rc, why.data);
  kr_bytes_release(&why);
  if (rc == 1) {
    KR_GROW(e->points, e->n_points, e->cap_points);
    e->points[e->n_points++] = p;
  } else {
    free(p.label);
  }
  return rc;
}

static int probe_int(struct kr_evaluator *e, size_t case_index, const char *path, int64_t v,
                     struct kr_err *err)
{
  struct kr_override o = {path, kr_value_int(v)};
  const struct declared_case *k = &e->cases[case_index];
  struct kr_override all[SIZES_MAX_OVERRIDES + 1];
  sizes_join(all, &o, 1, k->overrides, k->n_overrides);
  // What `require` or a section's length forbids is no size at all, not one at
  // which the original fails.
  struct kr_instance plan;
  if (v < 0 || instance_plan(&plan, e->c, case_index, all, k->n_overrides + 1, NULL))
    return 2;
  bool large = kr_instance_bytes(&plan) > EVALUATOR_LARGE_BYTES;
  kr_instance_release(&plan);
  if (large) {
    // Which of them a brief opening takes depends on its seed.
    bool pass = e->brief && !e->known && fill_bits(e->seed, STREAM_POINTS, (uint64_t)v) % 3;
    if (pass || !e->large_left)
      return 2;
    e->large_left--;
  }
  return probe(e, case_index, &o, 1, SIZE_MAX, err);
}

// The smallest power of two whose multiples the original can take, where it
// fails beside its own value: "works only when n % 1024 == 0".
static int64_t find_unit(struct kr_evaluator *e, size_t case_index, const char *path, int64_t value,
                         int64_t unit, struct kr_err *err)
{
  int64_t good = 0;
  for (int64_t m = 1024; m > unit; m /= 2) {
    if (value % m || m % unit)
      continue;
    int64_t at = value / m > 8 ? 7 * m : 3 * m;
    int rc = probe_int(e, case_index, path, at, err);
    if (rc < 0)
      return -1;
    if (rc != 1)
      break;
    good = m;
  }
  return good;
}

static int probe_extent(struct kr_evaluator *e, size_t case_index, size_t binding,
                        struct kr_err *err)
{
  const char *path = e->c->cases[case_index].bindings[binding].path;
  struct declared_case *k = &e->cases[case_index];
  struct sizes_binding *b = &k->bindings[binding];
  b->unit = sizes_unit(e->c, case_index, path, b->value, k->overrides, k->n_overrides);
  if (!b->unit)
    return 0;
  int64_t u = b->unit;
  int up = probe_int(e, case_index, path, b->value + u, err);
  int down = up < 0 ? up : probe_int(e, case_index, path, b->value - u, err);
  if (up < 0 || down < 0)
    return -1;
  if (!kr_case_is_first(e->c, case_index))
    return 0; // the first case of a kernel carries the rest
  if (up != 1 && down != 1 && (up == 0 || down == 0)) {
    int64_t found = find_unit(e, case_index, path, b->value, u, err);
    if (found < 0)
      return -1;
    b->unit = found;
    if (!found)
      return 0;
    if (!e->ref.require_hint)
      e->ref.require_hint = kr_xasprintf("works only when %s %% %lld == 0; add require(%s %% %lld == 0)",
                                         path, (long long)found, path, (long long)found);
    u = found;
  }
  uint64_t bits[4];
  for (int i = 0; i < 4; i++)
    bits[i] = fill_bits(e->seed, STREAM_POINTS, binding * 8 + (uint64_t)i);
  int64_t most = b->value / u;
  int64_t values[] = {b->value + u * (2 + (int64_t)fill_below(bits[3], (uint64_t)most / 8 + 2)),
                      u * sizes_random_prime(bits[1], most < 300 ? most : 300),
                      u * (1 + (int64_t)fill_below(bits[2], (uint64_t)(most < 1000 ? most : 1000))),
                      u * sizes_prime_near(most - 2),
                      u * sizes_random_prime(bits[0], most < 5000 ? most : 5000),
                      u,
                      0};
  // Under further arguments a template is tried at fewer.
  size_t n = case_index ? MORE_VALUES : sizeof values / sizeof *values;
  for (size_t i = 0; i < n; i++) {
    if (values[i] != b->value && probe_int(e, case_index, path, values[i], err) < 0)
      return -1;
  }
  return 0;
}

// A floating scalar: another magnitude, and the other sign where the original's
// results stay as finite as they are.
static int probe_real(struct kr_evaluator *e, size_t case_index, size_t binding,
                      size_t nonfinite, struct kr_err *err)
{
  const struct sizes_binding *b = &e->cases[case_index].bindings[binding];
  double scale = b->real != 0 ? fabs(b->real) : 1;
  for (int sign = b->real != 0 ? 1 : -1; sign >= -1; sign -= 2) {
    uint64_t bits = fill_bits(e->seed, STREAM_POINTS, binding * 8 + 5 + (uint64_t)(sign < 0));
    // Rounded, so that labels are short and the value is the same as a float.
    double v = sign * scale * (floor((0.25 + 0.75 * fill_unit(bits)) * 64) / 64);
    struct kr_override o = {e->c->cases[case_index].bindings[binding].path, kr_value_real(v)};
    if (probe(e, case_index, &o, 1, nonfinite, err) < 0)
      return -1;
  }
  // A small one (an epsilon) may be ignored without a trace unless it is large once.
  if (b->real != 0) {
    uint64_t bits = fill_bits(e->seed, STREAM_POINTS, binding * 8 + 4);
    double v = b->real * (512 + floor(512 * fill_unit(bits)));
    struct kr_override o = {e->c->cases[case_index].bindings[binding].path, kr_value_real(v)};
    if (probe(e, case_index, &o, 1, nonfinite, err) < 0)
      return -1;
  }
  return 0;
}

// 0 and 1 take turns of their own in many kernels, and what is above 1 is not
// below it: a drawn scalar is neither, unless it is tried. Extents are small
// meanwhile, where they may be.
static int probe_special(struct kr_evaluator *e, size_t case_index, size_t binding,
                         size_t nonfinite, struct kr_err *err)
{
  const struct kr_case *k = &e->c->cases[case_index];
  const struct declared_case *d = &e->cases[case_index];
  uint64_t bits = fill_bits(e->seed, STREAM_POINTS, binding * 8 + 7);
  const double values[] = {0, 1, -1, floor((2 + 6 * fill_unit(bits)) * 64) / 64};
  for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
    struct kr_override o[SIZES_MAX_OVERRIDES], all[2 * SIZES_MAX_OVERRIDES];
    size_t n = 1;
    o[0] = (struct kr_override){k->bindings[binding].path, kr_value_real(values[v])};
    for (size_t i = 0; i < k->n_bindings && n + 2 < SIZES_MAX_OVERRIDES; i++) {
      const struct sizes_binding *b = &d->bindings[i];
      if (b->role != SIZES_EXTENT || !b->unit)
        continue;
      int64_t most = b->value / b->unit;
      uint64_t size = fill_bits(e->seed + v, STREAM_POINTS, 1000 + binding * 16 + i);
      o[n].path = k->bindings[i].path;
      o[n++].value = kr_value_int(b->unit * sizes_random_prime(size, most < 300 ? most : 300));
    }
    if (!sizes_allowed(e->c, case_index, all, sizes_join(all, o, n, d->overrides, d->n_overrides)))
      continue;
    if (probe(e, case_index, o, n, nonfinite, err) < 0)
      return -1;
  }
  return 0;
}

// All extents small at once: cheap, and no tail is left untouched.
static int probe_small(struct kr_evaluator *e, size_t case_index, uint64_t bits, struct kr_err *err)
{
  struct kr_override o[SIZES_MAX_OVERRIDES];
  size_t n = 0;
  const struct kr_case *k = &e->c->cases[case_index];
  for (size_t i = 0; i < k->n_bindings && n + 2 < SIZES_MAX_OVERRIDES; i++) {
    const struct sizes_binding *b = &e->cases[case_index].bindings[i];
    if (b->role != SIZES_EXTENT || !b->unit)
      continue;
    int64_t most = b->value / b->unit;
    o[n].path = k->bindings[i].path;
    o[n++].value = kr_value_int(
        b->unit * sizes_random_prime(fill_bits(bits, STREAM_POINTS, i), most < 200 ? most : 200));
  }
  if (n < 2)
    return 0;
  struct kr_override all[2 * SIZES_MAX_OVERRIDES];
  const struct declared_case *d = &e->cases[case_index];
  if (!sizes_allowed(e->c, case_index, all,
                     sizes_join(all, o, n, d->overrides, d->n_overrides)))
    return 0;
  return probe(e, case_index, o, n, SIZE_MAX, err) < 0 ? -1 : 0;
}

int reference_probe_sizes(struct kr_evaluator *e, struct kr_err *err)
{
  size_t before = 0; // probes of other instantiations
  for (size_t k = 0; k < e->c->n_cases; k++) {
    bool first = kr_case_is_first(e->c, k);
    if (first)
      before = e->ref.n_probes;
    size_t nonfinite = e->cases[k].kept
                           ? compare_count_nonfinite(&e->cases[k].in, e->cases[k].expected.run[0].after)
                           : SIZE_MAX;
    for (size_t i = 0; i < e->c->cases[k].n_bindings; i++) {
      const struct sizes_binding *b = &e->cases[k].bindings[i];
      const char *path = e->c->cases[k].bindings[i].path;
      int rc = 0;
      if (e->ref.n_probes - before >= MAX_POINTS)
        break;
      if (b->role == SIZES_EXTENT)
        rc = probe_extent(e, k, i, err);
      else if (b->role == SIZES_REAL && first) {
        rc = probe_real(e, k, i, nonfinite, err);
        if (!rc && e->c->cases[k].bindings[i].drawn && !k)
          rc = probe_special(e, k, i, nonfinite, err);
      } else if (b->role == SIZES_INTEGER && first)
        rc = probe_int(e, k, path, b->value + 1, err) < 0 ||
                     probe_int(e, k, path, b->value - 1, err) < 0
                 ? -1
                 : 0;
      if (rc < 0)
        return -1;
    }
  }
  for (size_t k = 0; k < e->c->n_cases; k++) {
    for (uint64_t i = 0; kr_case_is_first(e->c, k) && i < (k ? 1 : 3); i++) {
      if (probe_small(e, k, e->seed + 17 * (i + k) + 1, err) < 0)
        return -1;
    }
  }
  return 0;
}

int reference_try_place(struct kr_evaluator *e, enum kr_placement place, const char *attempt,
                        bool *survives, struct kr_err *err)
{
  *survives = false;
  if (reference_avoids(e, attempt))
    return 0;
  // The smallest case that keeps its promises there, or a held-out size that does.
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < e->c->n_cases; k++) {
    struct declared_case *c = &e->cases[k];
    struct kr_instance plan;
    if (instance_plan(&plan, e->c, k, c->overrides, c->n_overrides, NULL))
      continue;
    if (trial_place_fits(&plan, place) && (best == SIZE_MAX || c->bytes < e->cases[best].bytes))
      best = k;
    kr_instance_release(&plan);
  }
  if (best == SIZE_MAX)
    return 0;
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct trial t = {0};
  const enum kr_placement places[2] = {place, place};
  if (evaluator_instance(e, best, e->seed, KR_DIST_NORMAL, NULL, 0, &in, err))
    return -1;
  reference_attempt(e, attempt);
  int rc = e->backend->load(e->dev, &in, &data, err);
  if (!rc) {
    rc = trial_run(&t, &e->d, e->original, data, &in, &e->c->geometry, places, 1, err);
    *survives = !rc && t.status == KR_STATUS_OK;
    e->lost |= t.device_lost;
    if (!rc && e->lost)
      rc = kr_err_set(err, "%s", t.text);
    trial_release(&t);
    e->backend->dataset_free(e->dev, data);
  }
  kr_instance_release(&in);
  reference_attempt(e, "");
  return rc;
}

int reference_try_integers(struct kr_evaluator *e, struct kr_err *err)
{
  size_t best = 0;
  for (size_t k = 1; k < e->c->n_cases; k++) {
    if (e->cases[k].bytes < e->cases[best].bytes)
      best = k;
  }
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct trial t = {0};
  struct kr_override o[SIZES_MAX_OVERRIDES];
  size_t n = 0;
  const struct kr_case *k = &e->c->cases[best];
  for (size_t i = 0; i < k->n_bindings && n + 2 < SIZES_MAX_OVERRIDES; i++) {
    if (k->bindings[i].drawn)
      o[n++] = (struct kr_override){k->bindings[i].path, kr_value_int(2)};
  }
  if (evaluator_instance(e, best, e->seed, KR_DIST_INTEGER, o, n, &in, NULL))
    return 0;
  int rc = e->backend->load(e->dev, &in, &data, err);
  if (!rc) {
    rc = evaluator_original(e, &in, data, &t, err);
    if (!rc && e->lost)
      rc = kr_err_set(err, "%s", t.text);
    e->ref.integer_exact =
        !rc && t.status == KR_STATUS_OK && compare_inputs_whole(&in) &&
        compare_all_whole(&in, t.run[0].after);
    trial_release(&t);
    e->backend->dataset_free(e->dev, data);
  }
  kr_instance_release(&in);
  return rc;
}
