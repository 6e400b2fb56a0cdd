#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "evaluate.h"
#include "fill.h"
#include "scope.h"

// Opening: the original is run before any model speaks. At its declared cases it
// must be clean and repeat itself; what else it survives (other sizes, buffers
// at the edge of memory) is found out here, and nothing is asked of a variant
// that the original does not do itself.

enum {
  MAX_POINTS = 64,         // held-out sizes tried in all
  MAX_KEPT_BYTES = 1 << 30 // of declared cases kept between judgements
};
// A run may take 200 ms; a judgement needs dozens, so less is looked for.
#define SHRINK_MS 80.0
#define SHRINK_BYTES ((size_t)8 << 20)

enum { STREAM_POINTS = 2 << 20 };

double evaluator_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int evaluator_instance(const struct kr_evaluator *e, size_t case_index, uint64_t seed,
                       enum kr_distribution dist, const struct kr_override *extra, size_t n_extra,
                       struct kr_instance *out, struct kr_err *err)
{
  const struct declared_case *k = &e->cases[case_index];
  struct kr_override all[2 * SIZES_MAX_OVERRIDES];
  size_t n = sizes_join(all, extra, n_extra, k->overrides, k->n_overrides);
  int rc = kr_instance_make(out, e->c, case_index, seed, dist, all, n, err);
  if (!rc)
    out->held_out = n_extra > 0; // a shrunk case is still the one that was told
  return rc;
}

int evaluator_original(struct kr_evaluator *e, const struct kr_instance *in,
                       struct kr_dataset *data, struct trial *out, struct kr_err *err)
{
  static const enum kr_placement place[2] = {KR_PLACE_ALIGN, KR_PLACE_ALIGN};
  int rc = trial_run(out, &e->d, e->original, data, in, &e->c->geometry, place, 2, err);
  e->lost |= out->device_lost;
  return rc;
}

// What one run of the original on an instance showed.
struct original_run {
  struct trial trial;
  bool clean;         // both launches ended well and agree within the tolerance
  bool deterministic; // they agree bit for bit
  struct kr_bytes why;
};

static void original_release(struct original_run *o)
{
  trial_release(&o->trial);
  kr_bytes_release(&o->why);
}

// Compares the two launches of the original with each other.
static int self_compare(const struct kr_instance *in, struct original_run *o, struct kr_err *err)
{
  struct trial swapped = o->trial;
  swapped.run[0] = o->trial.run[1];
  swapped.run[1] = o->trial.run[0];
  swapped.poison[0] = o->trial.poison[1];
  swapped.poison[1] = o->trial.poison[0];
  struct compare_result r;
  if (trial_compare(in, &o->trial, &swapped, false, false, false, &r, NULL, err))
    return -1;
  o->deterministic = r.kind == COMPARE_EQUAL && r.exact;
  o->clean = r.kind == COMPARE_EQUAL;
  if (o->clean)
    return 0;
  struct kr_bytes where;
  kr_bytes_init(&where, 4096);
  compare_where(in, &r, &where);
  const char *path = in->contract->sections[in->buffers[r.buffer].section].path;
  if (r.kind == COMPARE_CONST)
    kr_bytes_addf(&o->why, "`%s` is declared `in`, but the original changes %s from %.9g to %.9g: "
                  "it is inout(%s[...])", path, where.data, r.expected, r.got, path);
  else if (in->buffers[r.buffer].role == KR_OUT)
    kr_bytes_addf(&o->why, "output `%s` differs between two runs of the original (%s: %.9g, %.9g): "
                  "it depends on what was there before (inout(%s[...])), or it has no one right "
                  "answer (compare(%s = tol(...)))", path, where.data, r.expected, r.got, path, path);
  else
    kr_bytes_addf(&o->why, "output `%s` differs from run to run (%s: %.9g, %.9g): say how much is "
                  "right with compare(%s = tol(...))", path, where.data, r.expected, r.got, path);
  kr_bytes_release(&where);
  return 0;
}

// Returns 0 with `o` filled; -1 when the back end broke or the device is lost.
static int run_original(struct kr_evaluator *e, const struct kr_instance *in,
                        struct kr_dataset *data, struct original_run *o, struct kr_err *err)
{
  memset(o, 0, sizeof *o);
  kr_bytes_init(&o->why, 64 << 10);
  if (evaluator_original(e, in, data, &o->trial, err))
    return -1;
  if (o->trial.status == KR_STATUS_OK)
    return self_compare(in, o, err);
  kr_bytes_adds(&o->why, o->trial.text);
  if (e->lost)
    return kr_err_set(err, "%s", o->trial.text);
  return 0;
}

static bool avoided(const struct kr_evaluator *e, const char *attempt)
{
  for (size_t i = 0; i < e->n_avoid; i++) {
    if (!strcmp(e->avoid[i], attempt))
      return true;
  }
  return false;
}

// A new attempt, or "" when one is over; what the device was lost at stays.
static void begin_attempt(struct kr_evaluator *e, const char *attempt)
{
  if (e->lost)
    return;
  snprintf(e->attempt, sizeof e->attempt, "%s", attempt);
  if (e->on_attempt)
    e->on_attempt(e->watcher, attempt);
}

// --- shrinking ---

// v scaled down by 2^k, its residue to the block's width (and with it to every
// vector's) kept, at least one whole block where v has one.
static int64_t shrunk(int64_t v, int k, int64_t width)
{
  if (v < width)
    width = 32;
  if (v < 2 * width)
    return v;
  int64_t blocks = v / width >> k;
  return (blocks ? blocks : 1) * width + v % width;
}

static int64_t block_width(const struct kr_evaluator *e, const struct kr_instance *in)
{
  struct kr_launch launch;
  int64_t threads = 256;
  if (!kr_instance_launch(in, &e->c->geometry, e->d.facts, &launch, NULL))
    threads = (int64_t)launch.block[0] * launch.block[1] * launch.block[2];
  int64_t width = 32;
  while (width < threads || width % threads)
    width += 32;
  return width > 1 << 14 ? 1 << 14 : width; // a block of odd size and 32 may have a large multiple
}

static size_t shrink_overrides(const struct kr_contract *c, size_t case_index,
                               const struct sizes_binding *bindings, int k, int64_t width,
                               struct kr_override *out, bool *changed)
{
  size_t n = 0;
  *changed = false;
  const struct kr_case *kase = &c->cases[case_index];
  for (size_t i = 0; i < kase->n_bindings && n + 2 < SIZES_MAX_OVERRIDES; i++) {
    if (bindings[i].role != SIZES_EXTENT)
      continue;
    int64_t v = shrunk(bindings[i].value, k, width);
    if (v == bindings[i].value)
      continue;
    *changed = true;
    out[n].path = kase->bindings[i].path;
    out[n++].value = kr_value_int(v);
  }
  return n;
}

// Runs the case at scale 2^-k once; how long it took, negative when it is no
// size for the original.
static double shrink_try(struct kr_evaluator *e, size_t case_index, const struct kr_override *o,
                         size_t n, struct kr_err *err)
{
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct trial t = {0};
  static const enum kr_placement place[2] = {KR_PLACE_ALIGN, KR_PLACE_ALIGN};
  double ms = -1;
  if (instance_plan(&in, e->c, case_index, o, n, err))
    return -1;
  size_t bytes = kr_instance_bytes(&in);
  kr_instance_release(&in);
  if (bytes > SHRINK_BYTES)
    return INFINITY;
  if (kr_instance_make(&in, e->c, case_index, e->seed, KR_DIST_NORMAL, o, n, err))
    return -1;
  double start = evaluator_now_ms();
  if (!e->backend->load(e->dev, &in, &data, err) &&
      !trial_run(&t, &e->d, e->original, data, &in, &e->c->geometry, place, 1, err)) {
    if (t.status == KR_STATUS_OK)
      ms = t.wall_ms > 0 ? t.wall_ms : evaluator_now_ms() - start;
    else if (t.status == KR_STATUS_TIMEOUT)
      ms = INFINITY;
    else
      kr_err_set(err, "%s", t.text);
  }
  trial_release(&t);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return ms;
}

// Finds the largest scale at which a run takes at most SHRINK_MS, from the
// smallest up: a first try at full size could take minutes.
static int shrink_case(struct kr_evaluator *e, size_t case_index, struct kr_err *err)
{
  struct declared_case *k = &e->cases[case_index];
  struct kr_instance in;
  if (instance_plan(&in, e->c, case_index, k->overrides, k->n_overrides, err))
    return -1;
  int64_t width = block_width(e, &in);
  k->bytes = kr_instance_bytes(&in);
  kr_instance_release(&in);
  struct kr_err why = {{0}};
  bool found = false;
  double last = 0;
  struct kr_override best[SIZES_MAX_OVERRIDES];
  size_t n_best = 0;
  for (int scale = 30; scale >= 0; scale--) {
    struct kr_override o[SIZES_MAX_OVERRIDES];
    bool changed, same;
    size_t n = shrink_overrides(e->c, case_index, k->bindings, scale, width, o, &changed);
    o[n++] = k->overrides[0];
    same = found && n == n_best;
    for (size_t i = 0; same && i + 1 < n; i++)
      same = o[i].value.i == best[i].value.i;
    if (same)
      continue;
    double ms = shrink_try(e, case_index, o, n, &why);
    if (ms < 0 && !changed)
      found = false; // it fails as declared: smaller sizes do not mend that
    if (ms < 0)
      continue;
    if (ms > SHRINK_MS && found)
      break;
    memcpy(best, o, n * sizeof *o);
    n_best = n;
    found = true;
    // Work may grow with the third power of the scale: do not start what would
    // take seconds.
    double growth = last > 1 ? ms / last : 2;
    last = ms;
    if (!changed || ms * (growth > 2 ? growth : 2) > 2 * SHRINK_MS)
      break;
  }
  if (!found) { // what is wrong with it is told where the case is opened
    bool changed;
    struct kr_override sms = k->overrides[0];
    n_best = k->bytes <= SHRINK_BYTES ? 0
                                      : shrink_overrides(e->c, case_index, k->bindings, 30, width,
                                                         best, &changed);
    best[n_best++] = sms;
  }
  for (size_t i = 0; i < n_best; i++)
    k->overrides[i] = best[i];
  k->n_overrides = n_best;
  char *label = sizes_label(best, n_best);
  kr_debug("verify", "case %s runs as %s", e->c->cases[case_index].label,
           label[0] ? label : "declared");
  free(label);
  return 0;
}

// --- declared cases ---

// Bytes that the original surely wrote: outputs that held another value before.
static double count_written(const struct kr_instance *in, const struct trial *t)
{
  double total = 0;
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (b->null || !b->bytes || b->role == KR_IN)
      continue;
    const unsigned char *after = t->run[1].after[i];
    size_t size = b->type->size;
    for (int64_t k = 0; k < b->count; k++) {
      const unsigned char *at = after + (size_t)k * size;
      bool written;
      if (b->role == KR_OUT) {
        written = false;
        for (size_t n = 0; n < size && !written; n++)
          written = at[n] != t->poison[1];
      } else {
        written = memcmp(at, b->init + (size_t)k * size, size);
      }
      total += written ? (double)size : 0;
    }
  }
  return total;
}

static double bytes_touched(const struct kr_instance *in)
{
  double total = 0;
  for (size_t i = 0; i < in->n_buffers; i++)
    total += (double)in->buffers[i].bytes * (in->buffers[i].role == KR_INOUT ? 2 : 1);
  return total;
}

static int time_original(struct kr_evaluator *e, struct kr_dataset *data,
                         const struct kr_instance *in, double *us, struct kr_err *err)
{
  struct kr_time_options o = {.pairs = 12, .budget_ms = 200, .seed = e->seed};
  struct kr_time_result r = {0};
  if (kr_instance_launch(in, &e->c->geometry, e->d.facts, &o.launch_a, err))
    return -1;
  o.launch_b = o.launch_a;
  if (!o.launch_a.grid[0] || !o.launch_a.grid[1] || !o.launch_a.grid[2])
    return kr_err_set(err, "nothing runs in the case %s: its grid is empty", in->label);
  if (e->backend->time(e->dev, e->original, e->original, data, &o, &r, err))
    return -1;
  double sum = 0;
  for (size_t i = 0; i < r.n; i++)
    sum += r.a_us[i] + r.b_us[i];
  *us = r.n ? sum / (2 * (double)r.n) : 0;
  kr_time_result_release(&r);
  return 0;
}

static int open_case(struct kr_evaluator *e, size_t index, bool keep, struct kr_err *err)
{
  struct declared_case *k = &e->cases[index];
  struct original_run o = {0};
  const char *label = e->c->cases[index].label;
  kr_bytes_init(&o.why, 16);
  int rc = -1;
  begin_attempt(e, "");
  int made = evaluator_instance(e, index, e->seed, KR_DIST_NORMAL, NULL, 0, &k->in, err);
  if (made) {
    kr_err_prefix(err, "case %s", label);
    goto out;
  }
  if (e->backend->load(e->dev, &k->in, &k->data, err))
    goto out;
  kr_bytes_release(&o.why);
  int ran = run_original(e, &k->in, k->data, &o, err);
  k->expected = o.trial;
  memset(&o.trial, 0, sizeof o.trial);
  if (ran && !e->lost)
    goto out;
  if (ran || k->expected.status != KR_STATUS_OK) {
    bool memory = k->expected.status == KR_STATUS_FAULT;
    kr_err_set(err, "the original itself ends in %s in the case %s: %s%s",
               kr_status_name(k->expected.status), k->in.label, k->expected.text,
               memory ? "; section or filler is wrong" : "");
    goto out;
  }
  if (!o.clean) {
    kr_err_set(err, "%s, in the case %s", o.why.data, k->in.label);
    goto out;
  }
  e->ref.deterministic &= o.deterministic;
  e->ref.case_bytes[index] = bytes_touched(&k->in);
  k->written_bytes = count_written(&k->in, &k->expected);
  if (e->ref.case_us && !e->known && time_original(e, k->data, &k->in, &e->ref.case_us[index], err))
    goto out;
  k->kept = true;
  rc = 0;
out:
  original_release(&o);
  if (rc || !keep) {
    trial_release(&k->expected);
    memset(&k->expected, 0, sizeof k->expected);
    if (k->data)
      e->backend->dataset_free(e->dev, k->data);
    k->data = NULL;
    if (made == 0)
      kr_instance_release(&k->in);
    k->kept = false;
  }
  return rc;
}

// --- attempts: placements and sizes ---

// Whether a point is usable: known from before, or found out by running there.
// Returns 1 usable, 0 not (with the reason in `why`), -1 when the device is
// lost or the back end broke.
static int try_point(struct kr_evaluator *e, const struct sizes_point *p, size_t nonfinite_limit,
                     struct kr_bytes *why, struct kr_err *err)
{
  char attempt[200];
  snprintf(attempt, sizeof attempt, "case %zu: %.180s", p->case_index, p->label);
  if (avoided(e, attempt)) {
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
  begin_attempt(e, attempt);
  struct original_run o = {0};
  int rc = -1;
  if (!e->backend->load(e->dev, &in, &data, err)) {
    rc = run_original(e, &in, data, &o, err);
    if (!rc) {
      rc = o.clean;
      kr_bytes_add(why, o.why.data, o.why.len);
      e->ref.deterministic &= !o.clean || o.deterministic;
      if (o.clean && compare_count_nonfinite(&in, o.trial.run[0].after) > nonfinite_limit) {
        kr_bytes_adds(why, "the original's result is not finite");
        rc = 0;
      }
    }
    original_release(&o);
    e->backend->dataset_free(e->dev, data);
  }
  kr_instance_release(&in);
  begin_attempt(e, "");
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
    bool pass = e->brief && fill_bits(e->seed, STREAM_POINTS, (uint64_t)v) % 3;
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
  if (case_index > 0)
    return 0; // the first case carries the rest
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
                      u * sizes_prime_near(most - 2),
                      u * sizes_random_prime(bits[0], most < 5000 ? most : 5000),
                      u * sizes_random_prime(bits[1], most < 300 ? most : 300),
                      u * (1 + (int64_t)fill_below(bits[2], (uint64_t)(most < 1000 ? most : 1000))),
                      u,
                      0};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
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

static int probe_sizes(struct kr_evaluator *e, struct kr_err *err)
{
  for (size_t k = 0; k < e->c->n_cases; k++) {
    size_t nonfinite = e->cases[k].kept
                           ? compare_count_nonfinite(&e->cases[k].in, e->cases[k].expected.run[0].after)
                           : SIZE_MAX;
    for (size_t i = 0; i < e->c->cases[k].n_bindings; i++) {
      const struct sizes_binding *b = &e->cases[k].bindings[i];
      const char *path = e->c->cases[k].bindings[i].path;
      int rc = 0;
      if (e->ref.n_probes >= MAX_POINTS)
        return 0;
      if (b->role == SIZES_EXTENT)
        rc = probe_extent(e, k, i, err);
      else if (b->role == SIZES_REAL && !k)
        rc = probe_real(e, k, i, nonfinite, err);
      else if (b->role == SIZES_INTEGER && !k)
        rc = probe_int(e, k, path, b->value + 1, err) < 0 ||
                     probe_int(e, k, path, b->value - 1, err) < 0
                 ? -1
                 : 0;
      if (rc < 0)
        return -1;
    }
  }
  for (uint64_t i = 0; i < 3; i++) {
    if (probe_small(e, 0, e->seed + 17 * i + 1, err) < 0)
      return -1;
  }
  return 0;
}

// Whether the original survives buffers at an edge of memory.
static int try_place(struct kr_evaluator *e, enum kr_placement place, const char *attempt,
                     bool *survives, struct kr_err *err)
{
  *survives = false;
  if (avoided(e, attempt))
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
  begin_attempt(e, attempt);
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
  begin_attempt(e, "");
  return rc;
}

// Integer inputs on a small size: are all results whole, so that nothing is rounded?
static int try_integers(struct kr_evaluator *e, struct kr_err *err)
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
        !rc && t.status == KR_STATUS_OK && compare_all_whole(&in, t.run[0].after);
    trial_release(&t);
    e->backend->dataset_free(e->dev, data);
  }
  kr_instance_release(&in);
  return rc;
}

// --- open and close ---

static int compile_original(struct kr_evaluator *e, struct kr_err *err)
{
  struct kr_bytes text, log;
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  kr_bytes_init(&log, 1 << 20);
  kr_bytes_adds(&text, e->c->before);
  kr_bytes_adds(&text, e->c->code);
  int rc = kr_bytes_adds(&text, e->c->after);
  if (rc)
    kr_err_set(err, "the slice of %s is too large", e->c->kernel);
  else
    rc = e->backend->compile(e->dev, e->c, text.data, text.len, &e->original, &log, err);
  if (rc > 0) {
    kr_err_set(err, "the original does not compile on its own: %.1500s", log.data);
    rc = -1;
  }
  kr_bytes_release(&text);
  kr_bytes_release(&log);
  return rc;
}

static int open_cases(struct kr_evaluator *e, struct kr_err *err)
{
  size_t n = e->c->n_cases, total = 0;
  e->cases = kr_xcalloc(n, sizeof *e->cases);
  e->ref.n_cases = n;
  e->ref.case_bytes = kr_xcalloc(n, sizeof *e->ref.case_bytes);
  if (e->backend->can_time)
    e->ref.case_us = kr_xcalloc(n, sizeof *e->ref.case_us);
  for (size_t k = 0; k < n; k++) {
    struct declared_case *c = &e->cases[k];
    struct kr_instance plan;
    c->overrides[0] = (struct kr_override){"sms", kr_value_int(e->d.facts->sms)};
    c->n_overrides = 1;
    c->bindings = sizes_of_case(e->c, k, c->overrides, 1, err);
    if (!c->bindings)
      return -1;
    if (!e->backend->can_time) {
      if (shrink_case(e, k, err))
        return -1;
      free(c->bindings);
      c->bindings = sizes_of_case(e->c, k, c->overrides, c->n_overrides, err);
      if (!c->bindings)
        return -1;
    }
    if (instance_plan(&plan, e->c, k, c->overrides, c->n_overrides, err))
      return -1;
    c->bytes = kr_instance_bytes(&plan);
    total += c->bytes;
    kr_instance_release(&plan);
  }
  for (size_t k = 0; k < n; k++) {
    if (open_case(e, k, total <= MAX_KEPT_BYTES, err))
      return -1;
  }
  return 0;
}

static int open_reference(struct kr_evaluator *e, struct kr_err *err)
{
  e->ref.device = *e->d.facts;
  e->ref.deterministic = true;
  if (compile_original(e, err))
    return -1;
  e->ref.code_hash = e->backend->module_hash(e->dev, e->original);
  if (open_cases(e, err))
    return -1;
  struct kr_instance plan;
  struct kr_launch launch;
  if (!instance_plan(&plan, e->c, 0, e->cases[0].overrides, e->cases[0].n_overrides, NULL)) {
    if (!kr_instance_launch(&plan, &e->c->geometry, e->d.facts, &launch, NULL) &&
        e->backend->module_resources(e->dev, e->original, &launch, &e->ref.resources))
      e->ref.resources = (struct kr_resources){-1, -1, -1, -1, 0, 0};
    kr_instance_release(&plan);
  }
  bool known = e->known != NULL;
  if (known) {
    e->ref.exact_ends = e->known->exact_ends;
    e->ref.exact_starts = e->known->exact_starts;
    e->ref.integer_exact = e->known->integer_exact;
    e->ref.deterministic &= e->known->deterministic;
    for (size_t k = 0; e->ref.case_us && e->known->case_us && k < e->ref.n_cases; k++)
      e->ref.case_us[k] = k < e->known->n_cases ? e->known->case_us[k] : 0;
  } else if (try_place(e, KR_PLACE_END, "place end", &e->ref.exact_ends, err) ||
             try_place(e, KR_PLACE_START, "place start", &e->ref.exact_starts, err) ||
             try_integers(e, err)) {
    return -1;
  }
  if (probe_sizes(e, err))
    return -1;
  e->d.exact_ends = e->ref.exact_ends;
  e->d.exact_starts = e->ref.exact_starts;
  return 0;
}

int evaluator_open(struct kr_evaluator **out, const struct evaluator_setup *setup, char *lost,
                   size_t lost_size, struct kr_err *err)
{
  *out = NULL;
  lost[0] = '\0';
  struct kr_evaluator *e = kr_xcalloc(1, sizeof *e);
  e->backend = setup->backend;
  e->c = setup->contract;
  e->seed = setup->seed;
  e->avoid = setup->avoid;
  e->n_avoid = setup->n_avoid;
  e->on_stage = setup->on_stage;
  e->on_attempt = setup->on_attempt;
  e->watcher = setup->watcher;
  e->brief = setup->brief;
  e->large_left = setup->brief ? 1 : 6;
  // Where cases are shrunk, sizes depend on how fast the machine was just then.
  e->known = setup->backend->can_time ? setup->known : NULL;
  e->ref.resources = (struct kr_resources){-1, -1, -1, -1, 0, 0};
  if (e->backend->open(setup->options, &e->dev, err)) {
    free(e);
    return -1;
  }
  e->d.backend = e->backend;
  e->d.dev = e->dev;
  e->d.facts = e->backend->facts(e->dev);
  int rc = open_reference(e, err);
  e->avoid = NULL;
  e->known = NULL;
  if (!rc) {
    *out = e;
    return 0;
  }
  if (e->lost && e->attempt[0])
    snprintf(lost, lost_size, "%s", e->attempt);
  kr_evaluator_close(e);
  return -1;
}

int kr_evaluator_open(struct kr_evaluator **out, const struct kr_backend *backend,
                      const struct kr_backend_options *options, const struct kr_contract *c,
                      uint64_t seed, struct kr_err *err)
{
  struct evaluator_setup setup = {
      .backend = backend, .options = options, .contract = c, .seed = seed};
  char lost[200];
  int rc = evaluator_open(out, &setup, lost, sizeof lost, err);
  if (rc && lost[0])
    kr_err_prefix(err, "the original took the device with it at %s", lost);
  return rc;
}

void kr_evaluator_close(struct kr_evaluator *e)
{
  if (!e)
    return;
  for (size_t k = 0; e->cases && k < e->c->n_cases; k++) {
    struct declared_case *c = &e->cases[k];
    free(c->bindings);
    if (!c->kept)
      continue;
    trial_release(&c->expected);
    e->backend->dataset_free(e->dev, c->data);
    kr_instance_release(&c->in);
  }
  free(e->cases);
  for (size_t i = 0; i < e->n_points; i++)
    free(e->points[i].label);
  free(e->points);
  if (e->original)
    e->backend->module_free(e->dev, e->original);
  kr_reference_release(&e->ref);
  e->backend->close(e->dev);
  free(e);
}

const struct kr_reference *kr_evaluator_reference(const struct kr_evaluator *e)
{
  return &e->ref;
}
