#include "reference_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "model_internal.h"
#include "oracle.h"
#include "scope.h"

// Opening: the original is run before any model speaks. At its declared cases it
// must be clean and repeat itself; what else it survives (other sizes, buffers
// at the edge of memory) is found out here, and nothing is asked of a variant
// that the original does not do itself.

enum { MAX_KEPT_BYTES = 1 << 30 }; // of declared cases kept between judgements

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

void reference_run_release(struct original_run *o)
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
  struct compare_input q = trial_input(in, &o->trial, &swapped);
  if (compare_runs(&q, &r, err))
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

int reference_run(struct kr_evaluator *e, const struct kr_instance *in,
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

bool reference_avoids(const struct kr_evaluator *e, const char *attempt)
{
  for (size_t i = 0; i < e->n_avoid; i++) {
    if (!strcmp(e->avoid[i], attempt))
      return true;
  }
  return false;
}

void reference_attempt(struct kr_evaluator *e, const char *attempt)
{
  if (e->lost)
    return;
  snprintf(e->attempt, sizeof e->attempt, "%s", attempt);
  if (e->on_attempt)
    e->on_attempt(e->watcher, attempt);
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
  if (e->brief && e->known && index < e->known->n_cases) {
    // One share of a confirmation: another process saw the original run.
    e->ref.case_bytes[index] = e->known->case_bytes[index];
    k->written_bytes = e->known->case_written ? e->known->case_written[index] : 0;
    e->ref.case_written[index] = k->written_bytes;
    return 0;
  }
  kr_bytes_init(&o.why, 16);
  int rc = -1;
  reference_attempt(e, "");
  int made = evaluator_instance(e, index, e->seed, KR_DIST_NORMAL, NULL, 0, &k->in, err);
  if (made) {
    kr_err_prefix(err, "case %s", label);
    goto out;
  }
  if (e->backend->load(e->dev, &k->in, &k->data, err))
    goto out;
  kr_bytes_release(&o.why);
  int ran = reference_run(e, &k->in, k->data, &o, err);
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
  k->written_bytes = e->ref.case_written[index] = count_written(&k->in, &k->expected);
  if (e->ref.case_us && !e->known && time_original(e, k->data, &k->in, &e->ref.case_us[index], err))
    goto out;
  k->kept = true;
  rc = 0;
out:
  reference_run_release(&o);
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
  e->ref.case_written = kr_xcalloc(n, sizeof *e->ref.case_written);
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
      if (reference_shrink(e, k, err))
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
  oracle_open(e);
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
  } else if (reference_try_place(e, KR_PLACE_END, "place end", &e->ref.exact_ends, err) ||
             reference_try_place(e, KR_PLACE_START, "place start", &e->ref.exact_starts, err) ||
             reference_try_integers(e, err)) {
    return -1;
  }
  if (reference_probe_sizes(e, err))
    return -1;
  e->d.exact_ends = e->ref.exact_ends;
  e->d.exact_starts = e->ref.exact_starts;
  return 0;
}

static void forget_avoided(struct kr_evaluator *e)
{
  for (size_t i = 0; i < e->n_avoid; i++)
    free(e->avoid[i]);
  free(e->avoid);
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
  e->avoid = kr_xcalloc(setup->n_avoid + 1, sizeof *e->avoid);
  for (; e->n_avoid < setup->n_avoid; e->n_avoid++)
    e->avoid[e->n_avoid] = kr_xstrdup(setup->avoid[e->n_avoid]);
  e->on_stage = setup->on_stage;
  e->on_attempt = setup->on_attempt;
  e->watcher = setup->watcher;
  e->brief = setup->brief;
  // Where cases are shrunk, sizes depend on how fast the machine was just then.
  e->known = setup->backend->can_time ? setup->known : NULL;
  e->large_left = setup->brief && !e->known ? 1 : 6;
  e->ref.resources = (struct kr_resources){-1, -1, -1, -1, 0, 0};
  if (e->backend->open(setup->options, &e->dev, err)) {
    forget_avoided(e);
    free(e);
    return -1;
  }
  e->d.backend = e->backend;
  e->d.dev = e->dev;
  e->d.facts = e->backend->facts(e->dev);
  int rc = open_reference(e, err);
  if (!rc && !e->backend->can_time && e->backend->count && !setup->brief)
    rc = model_open(e, setup->options, err);
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
  model_close(e);
  for (size_t i = 0; i < e->n_points; i++)
    free(e->points[i].label);
  free(e->points);
  oracle_close(e);
  if (e->original)
    e->backend->module_free(e->dev, e->original);
  kr_reference_release(&e->ref);
  e->backend->close(e->dev);
  forget_avoided(e);
  free(e);
}

const struct kr_reference *kr_evaluator_reference(const struct kr_evaluator *e)
{
  return &e->ref;
}
