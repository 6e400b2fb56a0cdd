// model_count [--counters=FILE] GPU CUDA_PATH|none CONTRACT.json [VARIANT.cu]...: what a contract's
// original and variants (a file each, as a reply's code block) do in the first
// case, without judging them: a JSON object a line with variant, registers,
// modelled_us, bound and counters. With a FILE of earlier lines its counters are taken
// instead of new ones.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/variant.h"
#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"
#include "evaluator/model_internal.h"
#include "evaluator/scope.h"
#include "evaluator/wire.h"

static struct kr_device *dev;
static const struct kr_backend *backend;
static struct model_state state;
static struct kr_source earlier;

// The counters of a variant in the lines of an earlier run.
static int take_earlier(const char *name, struct kr_counters *out, struct kr_err *err)
{
  for (const char *p = earlier.data; p && *p; p = strchr(p, '\n'), p += p != NULL) {
    struct json_reader r = {err, false};
    cJSON *root = json_parse(p, strcspn(p, "\n"), err);
    char *variant = root ? json_get_string(&r, root, "variant", false) : NULL;
    bool same = variant && !strcmp(variant, name);
    if (same)
      counters_read(&r, cJSON_GetObjectItemCaseSensitive(root, "counters"), out);
    free(variant);
    cJSON_Delete(root);
    if (!root || r.failed)
      return -1;
    if (same)
      return 0;
  }
  return kr_err_set(err, "no earlier counters");
}

static int count(const struct kr_contract *c, const char *name, const char *text,
                 const struct kr_geometry *geometry, const struct kr_instance *in,
                 struct kr_dataset *data, const struct kr_device_facts *facts)
{
  struct kr_err err = {{0}};
  struct kr_module *m = NULL;
  struct kr_run_result r = {0};
  struct kr_count_options o = {.budget_ms = 100};
  struct kr_case_model model = {0};
  struct model_code code;
  struct kr_bytes log, out;
  kr_bytes_init(&log, 1 << 20);
  kr_bytes_init(&out, 1 << 20);
  int rc = -1;
  if (kr_instance_launch(in, geometry, facts, &o.launch, &err))
    goto out;
  if (earlier.data) {
    if (take_earlier(name, &model.counters, &err))
      goto out;
    goto counted;
  }
  int compiled = backend->compile(dev, c, text, strlen(text), &m, &log, &err);
  if (compiled) {
    if (compiled > 0)
      kr_err_set(&err, "%.300s", log.data);
    m = NULL;
    goto out;
  }
  if (backend->count(dev, m, data, &o, &model.counters, &r, &err))
    goto out;
  if (r.status != KR_RUN_OK) {
    kr_err_set(&err, "%s", r.text);
    goto out;
  }
counted:
  model_code(&state, c, text, strlen(text), &code);
  model_refine(&code, 0, &model.counters);
  kr_gpu_model(state.gpu, &model.counters, &code.resources[0], &model.modelled);
  struct json_writer w = {&out, false};
  json_open(&w, '{');
  json_string(&w, "variant", name);
  json_number(&w, "registers", code.resources[0].registers);
  json_number(&w, "modelled_us", model.modelled.us);
  json_string(&w, "bound", kr_term_name(model.modelled.bound));
  json_number(&w, "cpu_ms", r.cpu_ms);
  json_key(&w, "counters");
  counters_put(&w, &model.counters);
  json_close(&w, '}');
  puts(out.data);
  fflush(stdout);
  rc = 0;
out:
  if (rc)
    fprintf(stderr, "%s: %s\n", name, err.text);
  kr_run_result_release(&r);
  if (m)
    backend->module_free(dev, m);
  kr_bytes_release(&log);
  kr_bytes_release(&out);
  return rc;
}

int main(int argc, char **argv)
{
  struct kr_err err = {{0}};
  struct kr_contract c;
  struct kr_source src;
  struct kr_instance in;
  struct kr_dataset *data;
  backend = kr_backend_find("cpu");
  if (argc > 1 && !strncmp(argv[1], "--counters=", 11)) {
    if (kr_source_read(&earlier, argv[1] + 11, &err)) {
      fprintf(stderr, "%s\n", err.text);
      return 1;
    }
    argv++;
    argc--;
  }
  state.gpu = argc > 3 ? kr_gpu_find(argv[1]) : NULL;
  if (!state.gpu || !backend || !backend->count) {
    fprintf(stderr, "model_count GPU CUDA_PATH|none CONTRACT [VARIANT]...\n");
    return 2;
  }
  const char *cuda = strcmp(argv[2], "none") ? argv[2] : NULL;
  struct kr_backend_options o = {.cuda_path = cuda};
  model_compiler_open(&state, cuda);
  if (kr_source_read(&src, argv[3], &err) || kr_contract_from_json(&c, src.data, src.len, &err) ||
      backend->open(&o, &dev, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  struct kr_device_facts facts = *backend->facts(dev);
  facts.sms = state.gpu->sms;
  facts.shared_optin_bytes = (size_t)state.gpu->shared_block_bytes;
  struct kr_override sms = {"sms", kr_value_int(state.gpu->sms)};
  data = NULL;
  if (earlier.data ? instance_plan(&in, &c, 0, &sms, 1, &err)
                   : kr_instance_make(&in, &c, 0, 1, KR_DIST_NORMAL, &sms, 1, &err) ||
                         backend->load(dev, &in, &data, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  int bad = 0;
  char *text = kr_xasprintf("%s%s%s", c.before, c.code, c.after);
  bad |= count(&c, "original", text, &c.geometry, &in, data, &facts);
  free(text);
  for (int i = 4; i < argc; i++) {
    struct kr_source v;
    struct variant variant;
    if (kr_source_read(&v, argv[i], &err))
      return 1;
    char *reply = kr_xasprintf("~~~~~~~~\n%s\n~~~~~~~~\n", v.data);
    const char *dot = strstr(argv[i], ".v");
    char name[32];
    snprintf(name, sizeof name, "%.*s", dot ? (int)strcspn(dot + 1, ".") : 0, dot ? dot + 1 : "");
    if (variant_parse(reply, strlen(reply), false, &c.geometry, &variant)) {
      fprintf(stderr, "%s: %s\n", argv[i], variant.why);
      return 1;
    }
    text = kr_xasprintf("%s\n%s\n%s", c.before, variant.candidate.code, c.after);
    bad |= count(&c, name, text,
                 variant.candidate.has_geometry ? &variant.candidate.geometry : &c.geometry, &in,
                 data, &facts);
    free(text);
    free(reply);
    variant_release(&variant);
    kr_source_release(&v);
  }
  if (data)
    backend->dataset_free(dev, data);
  kr_instance_release(&in);
  backend->close(dev);
  model_compiler_close(&state);
  kr_contract_release(&c);
  kr_source_release(&src);
  if (earlier.data)
    kr_source_release(&earlier);
  return bad ? 1 : 0;
}
