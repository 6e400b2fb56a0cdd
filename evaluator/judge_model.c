#include "model_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "judge_internal.h"
#include "scope.h"

// Modelled time where nothing can be timed: one launch at each declared size,
// unshrunk, is counted, and a model of a GPU says what it would take there. The
// original is counted once, when the evaluator opens; its contents stay for the
// candidates, so that both are counted on the same.

enum { MODEL_BUDGET_MS = 100 }; // of a case; sampled blocks of it are plenty
#define MODEL_KEPT_BYTES ((size_t)2 << 30) // of contents that stay between candidates

// --- what does not fit ---

// A block that takes more registers than a multiprocessor has is refused by the
// driver, after everything here has passed.
static bool too_many_registers(const struct model_state *m, const struct kr_resources *res,
                               const struct kr_launch *l, char *text, size_t size)
{
  int threads = (int)(l->block[0] * l->block[1] * l->block[2]), warps = (threads + 31) / 32;
  int piece = (res->registers * 32 + 255) / 256 * 256;
  if (res->registers <= 0 || piece * warps <= m->gpu->registers)
    return false;
  snprintf(text, size, "%d registers a thread in blocks of %d threads are more than the %d of a "
           "multiprocessor of the %s", res->registers, threads, m->gpu->registers,
           m->gpu->name);
  return true;
}

// --- one case ---

static int plan_case(struct kr_evaluator *e, size_t index, struct kr_instance *in, bool contents,
                     struct kr_err *err)
{
  struct kr_override sms = {"sms", kr_value_int(e->model->gpu->sms)};
  return contents ? kr_instance_make(in, e->c, index, e->seed, KR_DIST_NORMAL, &sms, 1, err)
                  : instance_plan(in, e->c, index, &sms, 1, err);
}

// The contents of a case at its declared size, kept or made anew. Returns -1 with
// a sentence.
static int load_case(struct kr_evaluator *e, size_t index, struct kr_err *err)
{
  struct model_case *k = &e->model->cases[index];
  if (k->kept)
    return 0;
  if (plan_case(e, index, &k->in, false, err))
    return -1;
  size_t bytes = kr_instance_bytes(&k->in), most = e->d.facts->memory_bytes / 2;
  kr_instance_release(&k->in);
  if (most && bytes > most)
    return kr_err_set(err, "its buffers take %zu MiB, more than this machine can spare", bytes >> 20);
  if (plan_case(e, index, &k->in, true, err))
    return -1;
  if (e->backend->load(e->dev, &k->in, &k->data, err)) {
    kr_instance_release(&k->in);
    return -1;
  }
  k->kept = e->model->kept_bytes + bytes <= MODEL_KEPT_BYTES;
  e->model->kept_bytes += k->kept ? bytes : 0;
  return 0;
}

static void unload_case(struct kr_evaluator *e, size_t index, bool even_kept)
{
  struct model_case *k = &e->model->cases[index];
  if (!k->data || (k->kept && !even_kept))
    return;
  e->backend->dataset_free(e->dev, k->data);
  kr_instance_release(&k->in);
  k->data = NULL;
  k->kept = false;
}

struct counted {
  struct kr_run_result result;
  struct kr_case_model model;
};

// Counts one launch of `module` and models it. -1 with a sentence when the back
// end broke; `out->result` says how the launch went.
static int count_case(struct kr_evaluator *e, size_t index, struct kr_module *module,
                      const struct model_code *code, const struct kr_launch *launch,
                      unsigned budget_ms, struct counted *out, struct kr_err *err)
{
  struct kr_count_options o = {.launch = *launch, .budget_ms = budget_ms};
  memset(out, 0, sizeof *out);
  struct kr_counters *c = &out->model.counters;
  int rc = e->backend->count(e->dev, module, e->model->cases[index].data, &o, c, &out->result, err);
  e->lost |= out->result.device_lost;
  if (rc || out->result.status != KR_RUN_OK)
    return rc;
  size_t kernel = kr_case_kernel(e->c, index);
  model_refine(code, kernel, c);
  kr_gpu_model(e->model->gpu, c, &code->resources[kernel], &out->model.modelled);
  return 0;
}

// --- opening ---

static void add_why(struct kr_reference *ref, const char *label, const char *text)
{
  char *joined = kr_xasprintf("%s%scase %s has no modelled time: %s",
                              ref->model_why ? ref->model_why : "", ref->model_why ? "; " : "",
                              label, text);
  free(ref->model_why);
  ref->model_why = joined;
}

// The original at one case. 0 whatever came of it; -1 when the device is lost.
static int open_model_case(struct kr_evaluator *e, size_t index)
{
  struct model_state *m = e->model;
  struct kr_err err = {{0}};
  struct kr_launch launch;
  struct counted n = {0};
  const struct kr_resources *res = &m->original.resources[kr_case_kernel(e->c, index)];
  char text[300] = "";
  if (load_case(e, index, &err) ||
      kr_instance_launch(&m->cases[index].in, &e->c->geometry, &m->facts, &launch, &err)) {
    snprintf(text, sizeof text, "%s", err.text);
  } else if (!too_many_registers(m, res, &launch, text, sizeof text)) {
    if (count_case(e, index, e->original, &m->original, &launch, MODEL_BUDGET_MS, &n, &err))
      snprintf(text, sizeof text, "%s", err.text);
    else if (n.result.status != KR_RUN_OK)
      snprintf(text, sizeof text, "%s", n.result.text);
    else
      m->cases[index].ready = true;
  }
  if (m->cases[index].ready) {
    e->ref.case_model[index] = n.model;
    e->ref.case_us[index] = n.model.modelled.us;
  } else {
    add_why(&e->ref, e->c->cases[index].label, text);
  }
  kr_run_result_release(&n.result);
  unload_case(e, index, !m->cases[index].ready);
  return e->lost ? -1 : 0;
}

static void put_original_resources(struct kr_evaluator *e)
{
  struct kr_resources *r = &e->ref.resources;
  const struct model_state *m = e->model;
  if (m->original.known)
    *r = m->original.resources[0];
  for (size_t k = 0; k < e->c->n_cases; k++) {
    if (!m->cases[k].ready)
      continue;
    const struct kr_case_model *c = &e->ref.case_model[k];
    r->shared_bytes = (int)(c->counters.static_shared_bytes + c->counters.dynamic_shared_bytes);
    r->occupancy = c->modelled.occupancy;
    return;
  }
}

int model_open(struct kr_evaluator *e, const struct kr_backend_options *options, struct kr_err *err)
{
  const char *name = options ? options->gpu : NULL;
  const struct kr_gpu *gpu = name ? kr_gpu_find(name) : kr_gpu_default();
  if (!gpu) {
    kr_err_set(err, "no GPU `%s` is known to the model; known are", name);
    for (size_t i = 0; kr_gpu_at(i); i++) {
      size_t n = strlen(err->text);
      snprintf(err->text + n, sizeof err->text - n, "%s %s (%s)", i ? "," : "", kr_gpu_at(i)->name,
               kr_gpu_at(i)->arch);
    }
    return -1;
  }
  struct model_state *m = e->model = kr_xcalloc(1, sizeof *m);
  m->gpu = gpu;
  m->cases = kr_xcalloc(e->c->n_cases, sizeof *m->cases);
  m->facts = *e->d.facts;
  m->facts.sms = gpu->sms;
  m->facts.shared_optin_bytes = (size_t)gpu->shared_block_bytes;
  m->facts.l2_bytes = (size_t)gpu->l2_bytes;
  snprintf(m->facts.name, sizeof m->facts.name, "%s", gpu->name);
  snprintf(m->facts.arch, sizeof m->facts.arch, "%s", gpu->arch);
  struct kr_reference *ref = &e->ref;
  ref->modelled = true;
  ref->model_validated = gpu->validated;
  snprintf(ref->model_gpu, sizeof ref->model_gpu, "%s %s", gpu->name, gpu->arch);
  ref->case_us = kr_xcalloc(e->c->n_cases, sizeof *ref->case_us);
  ref->case_model = kr_xcalloc(e->c->n_cases, sizeof *ref->case_model);
  model_compiler_open(m, options ? options->cuda_path : NULL);
  struct kr_bytes text;
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  kr_bytes_adds(&text, e->c->before);
  kr_bytes_adds(&text, e->c->code);
  kr_bytes_adds(&text, e->c->after);
  model_code(m, e->c, text.data, text.len, &m->original);
  kr_bytes_release(&text);
  for (size_t k = 0; k < e->c->n_cases; k++) {
    if (open_model_case(e, k))
      return kr_err_set(err, "the device was lost while the original was counted");
  }
  put_original_resources(e);
  return 0;
}

void model_close(struct kr_evaluator *e)
{
  struct model_state *m = e->model;
  if (!m)
    return;
  for (size_t k = 0; k < e->c->n_cases; k++)
    unload_case(e, k, true);
  model_compiler_close(m);
  free(m->cases);
  free(m);
  e->model = NULL;
}

// --- judging ---

static struct kr_case_model *copy_model(const struct kr_case_model *m)
{
  struct kr_case_model *copy = kr_xmalloc(sizeof *copy);
  *copy = *m;
  return copy;
}

// Of the logarithm of a case's ratio.
static double sampling_variance(const struct kr_case_time *t)
{
  double a = kr_gpu_model_sampling_error(&t->base_model->counters);
  double b = kr_gpu_model_sampling_error(&t->cand_model->counters);
  return a * a + b * b;
}

static void put_case(struct judgement *j, size_t index, const struct kr_case_model *cand)
{
  const struct kr_evaluator *e = j->e;
  const struct kr_case_model *base = &e->ref.case_model[index];
  struct kr_case_time *t = &j->v->times[j->v->n_times++];
  *t = (struct kr_case_time){.label = kr_xstrdup(e->c->cases[index].label),
                             .base_us = base->modelled.us,
                             .cand_us = cand->modelled.us,
                             .ratio = base->modelled.us / cand->modelled.us,
                             .base_bound = kr_term_name(base->modelled.bound),
                             .cand_bound = kr_term_name(cand->modelled.bound),
                             .base_model = copy_model(base),
                             .cand_model = copy_model(cand)};
  double off = kr_gpu_model_error() * exp(2 * sqrt(sampling_variance(t)));
  t->lo = t->ratio / off;
  t->hi = t->ratio * off;
}

static void sum_up(struct kr_verdict *v)
{
  double sum = 0, variance = 0;
  for (size_t i = 0; i < v->n_times; i++) {
    sum += log(v->times[i].ratio);
    variance += sampling_variance(&v->times[i]);
  }
  v->speedup = exp(sum / (double)v->n_times);
  double off = kr_gpu_model_error() * exp(2 * sqrt(variance) / (double)v->n_times);
  v->lo = v->speedup / off;
  v->hi = v->speedup * off;
}

// Without a time for every case that the original has one for there is none at all.
static void drop_times(struct kr_verdict *v)
{
  for (size_t i = 0; i < v->n_times; i++)
    kr_case_time_release(&v->times[i]);
  free(v->times);
  v->times = NULL;
  v->n_times = 0;
}

// A launch on the GPU may fall out otherwise than here, where warps run one after
// another: races are looked for in what was drawn of the blocks. Those that the
// original has as well are the kernel's way.
static int races_of(struct judgement *j, size_t index, const struct kr_launch *launch)
{
  struct kr_evaluator *e = j->e;
  struct model_case *k = &e->model->cases[index];
  struct kr_count_options o = {.launch = *launch, .budget_ms = MODEL_BUDGET_MS, .races = true};
  struct kr_counters c;
  struct kr_run_result r;
  struct kr_err err = {{0}};
  int rc = JUDGE_PASSED;
  if (e->backend->count(e->dev, j->m, k->data, &o, &c, &r, &err)) {
    e->lost |= r.device_lost;
    judge_broke(j, err.text);
    return JUDGE_BROKE;
  }
  e->lost |= r.device_lost;
  if (r.status == KR_RUN_FAULT && k->original_races == RACES_UNKNOWN) {
    struct kr_count_options first = o;
    struct kr_run_result its;
    if (!kr_instance_launch(&k->in, &e->c->geometry, &e->model->facts, &first.launch, &err) &&
        !e->backend->count(e->dev, e->original, k->data, &first, &c, &its, &err)) {
      // One that cannot be looked through excuses nobody.
      k->original_races = its.status == KR_RUN_FAULT ? RACES_SEEN : RACES_NONE;
      e->lost |= its.device_lost;
      kr_run_result_release(&its);
    } else {
      judge_broke(j, err.text);
      rc = JUDGE_BROKE;
    }
  }
  if (rc == JUDGE_PASSED && r.status == KR_RUN_FAULT) {
    char *text = kr_xasprintf("%.400s, in the case %.80s at its declared size", r.text,
                              e->c->cases[index].label);
    if (k->original_races != RACES_SEEN) {
      judge_fail(j, KR_STAGE_TIME, KR_STATUS_UNSTABLE, false, text);
      rc = JUDGE_FAILED;
    } else {
      judge_note(j->v, "the original races as well");
    }
    free(text);
  } else if (rc == JUDGE_PASSED && r.status != KR_RUN_OK) {
    judge_note(j->v, "races could not be looked for");
    judge_note(j->v, r.text);
  }
  kr_run_result_release(&r);
  return rc;
}

// One case of the candidate. A launch that ends badly fails it; one that could
// not be counted leaves it without times, and `*counted` false.
static int model_case_of(struct judgement *j, size_t index, const struct model_code *code,
                         unsigned budget_ms, bool *counted)
{
  struct kr_evaluator *e = j->e;
  struct model_state *m = e->model;
  struct kr_err err = {{0}};
  struct kr_launch launch;
  struct counted n = {0};
  const char *label = e->c->cases[index].label;
  const struct kr_resources *res = &code->resources[kr_case_kernel(e->c, index)];
  char text[400] = "";
  int rc = JUDGE_PASSED;
  if (load_case(e, index, &err)) {
    judge_broke(j, err.text);
    return JUDGE_BROKE;
  }
  if (kr_instance_launch(&m->cases[index].in, j->geometry, &m->facts, &launch, &err)) {
    judge_fail(j, KR_STAGE_TIME, KR_STATUS_LAUNCH_FAILED, false, err.text);
    rc = JUDGE_FAILED;
    goto out;
  }
  if (too_many_registers(m, res, &launch, text, sizeof text)) {
    judge_fail(j, KR_STAGE_TIME, KR_STATUS_LAUNCH_FAILED, false, text);
    rc = JUDGE_FAILED;
    goto out;
  }
  if (count_case(e, index, j->m, code, &launch, budget_ms, &n, &err)) {
    judge_broke(j, err.text);
    rc = JUDGE_BROKE;
    goto out;
  }
  snprintf(text, sizeof text, "%.300s, in the case %.80s at its declared size", n.result.text, label);
  switch (n.result.status) {
  case KR_RUN_OK:
    put_case(j, index, &n.model);
    *counted = true;
    if (j->o->thorough)
      rc = races_of(j, index, &launch);
    break;
  case KR_RUN_FAULT:
  case KR_RUN_LAUNCH_FAILED:
    judge_fail(j, KR_STAGE_TIME,
               n.result.status == KR_RUN_FAULT ? KR_STATUS_FAULT : KR_STATUS_LAUNCH_FAILED, false,
               text);
    rc = JUDGE_FAILED;
    break;
  default: // it took too long to count, or holds what is not counted yet
    judge_note(j->v, "no modelled time");
    judge_note(j->v, text);
  }
out:
  kr_run_result_release(&n.result);
  unload_case(e, index, false);
  j->device_lost |= e->lost;
  return rc;
}

static void put_resources_of(struct kr_verdict *v, const struct kr_reference *ref,
                             const struct model_code *code)
{
  v->base_resources = ref->resources;
  if (code->known)
    v->resources = code->resources[0];
  if (!v->n_times)
    return;
  const struct kr_case_model *c = v->times[0].cand_model;
  v->resources.shared_bytes =
      (int)(c->counters.static_shared_bytes + c->counters.dynamic_shared_bytes);
  v->resources.occupancy = c->modelled.occupancy;
}

int judge_model(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  struct model_state *m = e->model;
  size_t n_ready = 0;
  for (size_t k = 0; k < e->c->n_cases; k++)
    n_ready += m->cases[k].ready;
  if (e->ref.model_why)
    judge_note(j->v, e->ref.model_why);
  if (!n_ready)
    return JUDGE_PASSED;
  judge_begin_stage(j, KR_STAGE_TIME);
  struct model_code code;
  model_code(m, e->c, j->text.data, j->text.len, &code);
  if (code.known && m->original.known && kr_hash_equal(code.hash, m->original.hash) &&
      judge_same_launches(j)) {
    char *text = kr_xasprintf("its machine code for %s equals the original's", m->gpu->arch);
    judge_fail(j, KR_STAGE_TIME, KR_STATUS_UNCHANGED, false, text);
    free(text);
    return JUDGE_FAILED;
  }
  j->v->times = kr_xcalloc(n_ready, sizeof *j->v->times);
  unsigned budget = j->o->time_budget_ms ? j->o->time_budget_ms / (unsigned)n_ready : MODEL_BUDGET_MS;
  int rc = JUDGE_PASSED;
  bool counted = true;
  for (size_t k = 0; k < e->c->n_cases && rc == JUDGE_PASSED && counted; k++) {
    if (!m->cases[k].ready)
      continue;
    counted = false;
    rc = model_case_of(j, k, &code, budget ? budget : 1, &counted);
  }
  if (rc != JUDGE_PASSED || !counted)
    drop_times(j->v);
  put_resources_of(j->v, &e->ref, &code);
  if (!j->v->n_times)
    return rc;
  sum_up(j->v);
  j->v->modelled = true;
  j->v->model_validated = m->gpu->validated;
  snprintf(j->v->model_gpu, sizeof j->v->model_gpu, "%s", e->ref.model_gpu);
  return rc;
}
