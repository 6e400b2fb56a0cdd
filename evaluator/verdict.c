#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "evaluator.h"
#include "json.h"
#include "wire.h"

// What is said of a candidate and of the original, and how it travels.

static const char *const stage_names[] = {"parse", "screen",  "compile", "smoke",
                                          "check", "time", "confirm", NULL};
static const char *const status_names[] = {
    "ok",    "unchanged", "refused",    "compile-error", "launch-failed", "fault",
    "timeout", "wrong",     "unstable",   "impossible",    "unsupported",   "environment", NULL};

enum { MAX_ITEMS = 65536 };

const char *kr_stage_name(enum kr_stage stage)
{
  return stage_names[stage];
}

const char *kr_status_name(enum kr_status status)
{
  return status_names[status];
}

void kr_verdict_init(struct kr_verdict *v)
{
  static const struct kr_resources unknown = {-1, -1, -1, -1, 0, 0};
  memset(v, 0, sizeof *v);
  v->max_rel_err = -1;
  v->base_resources = v->resources = unknown;
}

void kr_case_time_release(struct kr_case_time *t)
{
  free(t->label);
  free(t->base_model);
  free(t->cand_model);
  memset(t, 0, sizeof *t);
}

void kr_verdict_release(struct kr_verdict *v)
{
  free(v->log);
  free(v->told);
  free(v->where);
  for (size_t i = 0; i < v->n_times; i++)
    kr_case_time_release(&v->times[i]);
  free(v->times);
  free(v->note);
  kr_verdict_init(v);
}

static void put_resources(struct json_writer *w, const char *key, const struct kr_resources *r)
{
  json_key(w, key);
  json_open(w, '{');
  json_number(w, "registers", r->registers);
  json_number(w, "shared_bytes", r->shared_bytes);
  json_number(w, "local_bytes", r->local_bytes);
  json_number(w, "const_bytes", r->const_bytes);
  json_number(w, "max_threads", r->max_threads);
  json_number(w, "occupancy", r->occupancy);
  json_close(w, '}');
}

static int get_int(struct json_reader *r, const cJSON *obj, const char *key)
{
  double d = json_get_number(r, obj, key, -1);
  if (!(d >= -1 && d <= INT32_MAX)) {
    json_fail(r, "\"%s\" is no count", key);
    return -1;
  }
  return (int)d;
}

static void get_resources(struct json_reader *r, const cJSON *root, const char *key,
                          struct kr_resources *out)
{
  const cJSON *obj = cJSON_GetObjectItemCaseSensitive(root, key);
  if (!obj || r->failed)
    return;
  json_expect_keys(r, obj, key,
                   "registers shared_bytes local_bytes const_bytes max_threads occupancy");
  out->registers = get_int(r, obj, "registers");
  out->shared_bytes = get_int(r, obj, "shared_bytes");
  out->local_bytes = get_int(r, obj, "local_bytes");
  out->const_bytes = get_int(r, obj, "const_bytes");
  out->max_threads = get_int(r, obj, "max_threads");
  out->occupancy = json_get_number(r, obj, "occupancy", 0);
}

void kr_verdict_to_json(const struct kr_verdict *v, struct kr_bytes *out)
{
  struct json_writer w = {out, false};
  json_open(&w, '{');
  json_string(&w, "stage", stage_names[v->stage]);
  json_string(&w, "status", status_names[v->status]);
  json_words(&w, "log", v->log);
  json_words(&w, "told", v->told);
  json_bool(&w, "held_out", v->held_out);
  json_words(&w, "where", v->where);
  json_number(&w, "expected", v->expected);
  json_number(&w, "got", v->got);
  json_number(&w, "max_rel_err", v->max_rel_err);
  json_number(&w, "checks", (double)v->checks);
  json_bool(&w, "exact", v->exact);
  json_key(&w, "times");
  json_open(&w, '[');
  for (size_t i = 0; i < v->n_times; i++) {
    const struct kr_case_time *t = &v->times[i];
    json_open(&w, '{');
    json_string(&w, "label", t->label);
    json_number(&w, "base_us", t->base_us);
    json_number(&w, "cand_us", t->cand_us);
    json_number(&w, "ratio", t->ratio);
    json_number(&w, "lo", t->lo);
    json_number(&w, "hi", t->hi);
    json_number(&w, "n", (double)t->n);
    if (v->modelled) {
      json_string(&w, "base_bound", t->base_bound);
      json_string(&w, "cand_bound", t->cand_bound);
      json_key(&w, "base_model");
      case_model_put(&w, t->base_model);
      json_key(&w, "cand_model");
      case_model_put(&w, t->cand_model);
    }
    json_close(&w, '}');
  }
  json_close(&w, ']');
  json_number(&w, "speedup", v->speedup);
  json_number(&w, "lo", v->lo);
  json_number(&w, "hi", v->hi);
  json_bool(&w, "confirmed", v->confirmed);
  json_bool(&w, "modelled", v->modelled);
  if (v->modelled) {
    json_bool(&w, "model_validated", v->model_validated);
    json_string(&w, "model_gpu", v->model_gpu);
  }
  put_resources(&w, "base_resources", &v->base_resources);
  put_resources(&w, "resources", &v->resources);
  json_number(&w, "wall_ms", v->wall_ms);
  json_number(&w, "compile_ms", v->compile_ms);
  json_number(&w, "check_ms", v->check_ms);
  json_number(&w, "time_ms", v->time_ms);
  json_hash(&w, "code_hash", v->code_hash);
  json_words(&w, "note", v->note);
  json_close(&w, '}');
}

static void get_text(struct json_reader *r, const cJSON *obj, const char *key, char *out,
                     size_t size)
{
  char *s = json_get_string(r, obj, key, true);
  if (s && strlen(s) >= size)
    json_fail(r, "\"%s\" is too long", key);
  else if (s)
    memcpy(out, s, strlen(s) + 1);
  free(s);
}

// A name that outlives the JSON.
static const char *bound_name(struct json_reader *r, const cJSON *obj, const char *key)
{
  int bound = case_bound_read(r, obj, key);
  return bound < 0 ? NULL : kr_term_name((enum kr_term)bound);
}

void verdict_read(struct json_reader *r, const cJSON *root, struct kr_verdict *v)
{
  kr_verdict_init(v);
  json_expect_keys(r, root, "the verdict",
                   "stage status log told held_out where expected got max_rel_err checks exact "
                   "times speedup lo hi confirmed modelled model_validated model_gpu base_resources resources wall_ms compile_ms "
                   "check_ms time_ms code_hash note");
  int stage = json_get_name(r, root, "stage", stage_names, -1);
  int status = json_get_name(r, root, "status", status_names, -1);
  if (stage < 0 || status < 0)
    json_fail(r, "a verdict needs \"stage\" and \"status\"");
  else
    v->stage = (enum kr_stage)stage, v->status = (enum kr_status)status;
  v->log = json_get_string(r, root, "log", true);
  v->told = json_get_string(r, root, "told", true);
  v->held_out = json_get_bool(r, root, "held_out", false);
  v->where = json_get_string(r, root, "where", true);
  v->expected = json_get_number(r, root, "expected", 0);
  v->got = json_get_number(r, root, "got", 0);
  v->max_rel_err = json_get_number(r, root, "max_rel_err", -1);
  v->checks = json_get_size(r, root, "checks", 0, 1u << 30);
  v->exact = json_get_bool(r, root, "exact", false);
  const cJSON *item = json_get_array(r, root, "times", KR_MAX_CASES, &v->n_times);
  v->times = v->n_times ? kr_xcalloc(v->n_times, sizeof *v->times) : NULL;
  for (struct kr_case_time *t = v->times; item; item = item->next, t++) {
    json_expect_keys(r, item, "a time",
                     "label base_us cand_us ratio lo hi n base_bound cand_bound base_model "
                     "cand_model");
    t->label = json_get_string(r, item, "label", false);
    t->base_us = json_get_number(r, item, "base_us", 0);
    t->cand_us = json_get_number(r, item, "cand_us", 0);
    t->ratio = json_get_number(r, item, "ratio", 0);
    t->lo = json_get_number(r, item, "lo", 0);
    t->hi = json_get_number(r, item, "hi", 0);
    t->n = json_get_size(r, item, "n", 0, 1u << 30);
    t->base_bound = bound_name(r, item, "base_bound");
    t->cand_bound = bound_name(r, item, "cand_bound");
    t->base_model = case_model_read(r, cJSON_GetObjectItemCaseSensitive(item, "base_model"));
    t->cand_model = case_model_read(r, cJSON_GetObjectItemCaseSensitive(item, "cand_model"));
  }
  v->speedup = json_get_number(r, root, "speedup", 0);
  v->lo = json_get_number(r, root, "lo", 0);
  v->hi = json_get_number(r, root, "hi", 0);
  v->confirmed = json_get_bool(r, root, "confirmed", false);
  v->modelled = json_get_bool(r, root, "modelled", false);
  v->model_validated = json_get_bool(r, root, "model_validated", false);
  get_text(r, root, "model_gpu", v->model_gpu, sizeof v->model_gpu);
  get_resources(r, root, "base_resources", &v->base_resources);
  get_resources(r, root, "resources", &v->resources);
  v->wall_ms = json_get_number(r, root, "wall_ms", 0);
  v->compile_ms = json_get_number(r, root, "compile_ms", 0);
  v->check_ms = json_get_number(r, root, "check_ms", 0);
  v->time_ms = json_get_number(r, root, "time_ms", 0);
  v->code_hash = json_get_hash(r, root, "code_hash");
  v->note = json_get_string(r, root, "note", true);
}

int kr_verdict_from_json(struct kr_verdict *v, const char *json, size_t len, struct kr_err *err)
{
  kr_verdict_init(v);
  cJSON *root = json_parse(json, len, err);
  if (!root)
    return kr_err_prefix(err, "verdict");
  struct json_reader r = {err, false};
  verdict_read(&r, root, v);
  cJSON_Delete(root);
  if (!r.failed)
    return 0;
  kr_verdict_release(v);
  return kr_err_prefix(err, "verdict");
}

// --- the reference ---

void kr_reference_release(struct kr_reference *r)
{
  for (size_t i = 0; i < r->n_probes; i++) {
    free(r->probes[i].label);
    free(r->probes[i].why);
  }
  free(r->probes);
  free(r->case_us);
  free(r->case_bytes);
  free(r->case_written);
  free(r->case_model);
  free(r->model_why);
  free(r->require_hint);
  free(r->oracle_why);
  memset(r, 0, sizeof *r);
}

void facts_put(struct json_writer *w, const struct kr_device_facts *f)
{
  json_open(w, '{');
  json_string(w, "name", f->name);
  json_string(w, "arch", f->arch);
  json_string(w, "uuid", f->uuid);
  json_number(w, "sms", f->sms);
  json_number(w, "warp", f->warp);
  json_number(w, "l2_bytes", (double)f->l2_bytes);
  json_number(w, "memory_bytes", (double)f->memory_bytes);
  json_number(w, "shared_optin_bytes", (double)f->shared_optin_bytes);
  json_number(w, "peak_bytes_per_s", f->peak_bytes_per_s);
  json_string(w, "driver", f->driver);
  json_string(w, "compiler", f->compiler);
  json_close(w, '}');
}

void facts_read(struct json_reader *r, const cJSON *obj, struct kr_device_facts *f)
{
  const size_t most = (size_t)1 << 52;
  memset(f, 0, sizeof *f);
  json_expect_keys(r, obj, "the device",
                   "name arch uuid sms warp l2_bytes memory_bytes shared_optin_bytes "
                   "peak_bytes_per_s driver compiler");
  get_text(r, obj, "name", f->name, sizeof f->name);
  get_text(r, obj, "arch", f->arch, sizeof f->arch);
  get_text(r, obj, "uuid", f->uuid, sizeof f->uuid);
  f->sms = (int)json_get_size(r, obj, "sms", 0, INT32_MAX);
  f->warp = (int)json_get_size(r, obj, "warp", 0, INT32_MAX);
  f->l2_bytes = json_get_size(r, obj, "l2_bytes", 0, most);
  f->memory_bytes = json_get_size(r, obj, "memory_bytes", 0, most);
  f->shared_optin_bytes = json_get_size(r, obj, "shared_optin_bytes", 0, most);
  f->peak_bytes_per_s = json_get_number(r, obj, "peak_bytes_per_s", 0);
  get_text(r, obj, "driver", f->driver, sizeof f->driver);
  get_text(r, obj, "compiler", f->compiler, sizeof f->compiler);
}

static void put_numbers(struct json_writer *w, const char *key, const double *x, size_t n)
{
  json_key(w, key);
  json_open(w, '[');
  for (size_t i = 0; x && i < n; i++)
    json_put_number(w, x[i]);
  json_close(w, ']');
}

void kr_reference_to_json(const struct kr_reference *r, struct kr_bytes *out)
{
  struct json_writer w = {out, false};
  json_open(&w, '{');
  json_key(&w, "device");
  facts_put(&w, &r->device);
  json_hash(&w, "code_hash", r->code_hash);
  put_resources(&w, "resources", &r->resources);
  json_bool(&w, "deterministic", r->deterministic);
  json_bool(&w, "exact_ends", r->exact_ends);
  json_bool(&w, "exact_starts", r->exact_starts);
  json_bool(&w, "integer_exact", r->integer_exact);
  json_bool(&w, "oracle", r->oracle);
  json_words(&w, "oracle_why", r->oracle_why);
  json_key(&w, "probes");
  json_open(&w, '[');
  for (size_t i = 0; i < r->n_probes; i++) {
    json_open(&w, '{');
    json_string(&w, "label", r->probes[i].label);
    json_bool(&w, "usable", r->probes[i].usable);
    json_words(&w, "why", r->probes[i].why);
    json_close(&w, '}');
  }
  json_close(&w, ']');
  json_number(&w, "n_cases", (double)r->n_cases);
  put_numbers(&w, "case_us", r->case_us, r->n_cases);
  put_numbers(&w, "case_bytes", r->case_bytes, r->n_cases);
  put_numbers(&w, "case_written", r->case_written, r->case_written ? r->n_cases : 0);
  json_bool(&w, "modelled", r->modelled);
  if (r->modelled) {
    json_bool(&w, "model_validated", r->model_validated);
    json_string(&w, "model_gpu", r->model_gpu);
    json_key(&w, "case_model");
    json_open(&w, '[');
    for (size_t i = 0; i < r->n_cases; i++)
      case_model_put(&w, r->case_us[i] > 0 ? &r->case_model[i] : NULL);
    json_close(&w, ']');
  }
  json_words(&w, "model_why", r->model_why);
  json_words(&w, "require_hint", r->require_hint);
  json_close(&w, '}');
}

void reference_read(struct json_reader *r, const cJSON *root, struct kr_reference *out)
{
  memset(out, 0, sizeof *out);
  json_expect_keys(r, root, "the reference",
                   "device code_hash resources deterministic exact_ends exact_starts "
                   "integer_exact oracle oracle_why probes n_cases case_us case_bytes case_written "
                   "modelled model_validated model_gpu case_model model_why require_hint");
  const cJSON *device = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(root, "device");
  facts_read(r, device, &out->device);
  out->code_hash = json_get_hash(r, root, "code_hash");
  get_resources(r, root, "resources", &out->resources);
  out->deterministic = json_get_bool(r, root, "deterministic", false);
  out->exact_ends = json_get_bool(r, root, "exact_ends", false);
  out->exact_starts = json_get_bool(r, root, "exact_starts", false);
  out->integer_exact = json_get_bool(r, root, "integer_exact", false);
  out->oracle = json_get_bool(r, root, "oracle", false);
  out->oracle_why = json_get_string(r, root, "oracle_why", true);
  const cJSON *item = json_get_array(r, root, "probes", MAX_ITEMS, &out->n_probes);
  out->probes = out->n_probes ? kr_xcalloc(out->n_probes, sizeof *out->probes) : NULL;
  for (struct kr_probe *p = out->probes; item; item = item->next, p++) {
    json_expect_keys(r, item, "a probe", "label usable why");
    p->label = json_get_string(r, item, "label", false);
    p->usable = json_get_bool(r, item, "usable", false);
    p->why = json_get_string(r, item, "why", true);
  }
  out->n_cases = json_get_size(r, root, "n_cases", 0, KR_MAX_CASES);
  size_t n_us, n_bytes, n_written;
  out->case_us = json_get_numbers(r, root, "case_us", KR_MAX_CASES, &n_us);
  out->case_bytes = json_get_numbers(r, root, "case_bytes", KR_MAX_CASES, &n_bytes);
  out->case_written = json_get_numbers(r, root, "case_written", KR_MAX_CASES, &n_written);
  if (n_bytes != out->n_cases || (n_us && n_us != out->n_cases) ||
      (n_written && n_written != out->n_cases))
    json_fail(r, "the reference has figures for %zu of %zu cases", n_bytes, out->n_cases);
  if (!n_written) {
    free(out->case_written);
    out->case_written = NULL;
  }
  out->modelled = json_get_bool(r, root, "modelled", false);
  out->model_validated = json_get_bool(r, root, "model_validated", false);
  get_text(r, root, "model_gpu", out->model_gpu, sizeof out->model_gpu);
  size_t n_models;
  item = json_get_array(r, root, "case_model", KR_MAX_CASES, &n_models);
  if (out->modelled && (n_models != out->n_cases || !n_us))
    json_fail(r, "the reference has models of %zu of %zu cases", n_models, out->n_cases);
  out->case_model = out->modelled ? kr_xcalloc(out->n_cases, sizeof *out->case_model) : NULL;
  for (size_t i = 0; item && !r->failed && out->modelled; item = item->next, i++) {
    struct kr_case_model *m = case_model_read(r, item);
    if (m)
      out->case_model[i] = *m;
    free(m);
  }
  out->model_why = json_get_string(r, root, "model_why", true);
  out->require_hint = json_get_string(r, root, "require_hint", true);
}

int kr_reference_from_json(struct kr_reference *r, const char *json, size_t len,
                           struct kr_err *err)
{
  memset(r, 0, sizeof *r);
  cJSON *root = json_parse(json, len, err);
  if (!root)
    return kr_err_prefix(err, "reference");
  struct json_reader reader = {err, false};
  reference_read(&reader, root, r);
  cJSON_Delete(root);
  if (!reader.failed)
    return 0;
  kr_reference_release(r);
  return kr_err_prefix(err, "reference");
}
