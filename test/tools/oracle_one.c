// oracle_one [cpu | nvrtc | text | run] < LIST.json: for each kernel of a
// `kevin-rewrite --list --format=json` says whether its slice can be computed in
// double, and why not. With a compiler named the text in double is compiled too; with
// `text` it is printed; with `run` it is run on the CPU at the first case and the
// tolerances that follow are printed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cJSON.h>

#include "evaluator/oracle.h"
#ifdef KR_HAVE_CUDA
#include "evaluator/cuda/compile.h"
#endif

static const char *compile_cpu(const struct kr_contract *c, struct kr_bytes *log)
{
  struct kr_device *dev = NULL;
  struct kr_module *m = NULL;
  struct kr_err err = {{0}};
  struct kr_backend_options options = {.timeout_ms = 20000};
  const struct kr_backend *b = kr_backend_find("cpu");
  if (!b || b->open(&options, &dev, &err))
    return "the CPU back end is not there";
  int rc = b->compile(dev, c, c->code, strlen(c->code), &m, log, &err);
  if (m)
    b->module_free(dev, m);
  b->close(dev);
  return rc ? log->len ? log->data : "it does not compile" : NULL;
}

static const char *compile_nvrtc(const struct kr_contract *c, struct kr_bytes *log)
{
#ifdef KR_HAVE_CUDA
  static struct nvrtc_compiler compiler;
  static bool open;
  struct cuda_code code = {0};
  struct kr_err err = {{0}};
  if (!open && nvrtc_compiler_open(&compiler, NULL, &err))
    return "NVRTC is not there";
  open = true;
  int rc = nvrtc_compile(&compiler, c, "sm_90", c->code, strlen(c->code), &code, log, &err);
  cuda_code_release(&code);
  return rc ? log->len ? log->data : "it does not compile" : NULL;
#else
  (void)c, (void)log;
  return "built without CUDA";
#endif
}

// An opened evaluator, asked as a judgement would ask it.
static void run_cpu(const struct kr_contract *c)
{
  struct kr_evaluator *e;
  struct kr_err err = {{0}};
  struct kr_backend_options options = {.timeout_ms = 20000};
  struct declared_case *k;
  struct oracle_run run;
  if (kr_evaluator_open(&e, kr_backend_find("cpu"), &options, c, 1, &err)) {
    printf("  %s\n", err.text);
    return;
  }
  k = &e->cases[0];
  if (!k->kept || oracle_run(e, &k->in, &k->expected, &run, &err) != 1) {
    printf("  no oracle: %s\n", err.text);
  } else {
    double **t = oracle_tolerances(&k->in, &k->expected, &run);
    for (size_t b = 0; b < k->in.n_buffers; b++) {
      for (size_t l = 0; l < k->in.buffers[b].type->n_leaves; l++)
        printf("  %s: %.2g\n", c->sections[k->in.buffers[b].section].path, t[b][l]);
    }
    oracle_tolerances_free(&k->in, t);
  }
  oracle_run_release(&run);
  kr_evaluator_close(e);
}

static int look(const cJSON *contract, const char *with)
{
  struct kr_contract c, wide;
  struct kr_err err = {{0}};
  char *json = cJSON_PrintUnformatted(contract);
  struct kr_bytes log;
  if (kr_contract_from_json(&c, json, strlen(json), &err)) {
    printf("error: %s\n", err.text);
    return 1;
  }
  kr_bytes_init(&log, 1 << 20);
  if (oracle_contract(&c, &wide, &err)) {
    printf("%s: no oracle: %s\n", c.kernel, err.text);
  } else {
    const char *failed = !strcmp(with, "cpu")     ? compile_cpu(&wide, &log)
                         : !strcmp(with, "nvrtc") ? compile_nvrtc(&wide, &log)
                                                  : NULL;
    printf("%s: oracle%s%s\n", c.kernel, failed ? ", which fails: " : "", failed ? failed : "");
    if (!strcmp(with, "text"))
      printf("%s\n", wide.code);
    kr_contract_release(&wide);
    if (!strcmp(with, "run"))
      run_cpu(&c);
  }
  kr_bytes_release(&log);
  kr_contract_release(&c);
  free(json);
  return 0;
}

int main(int argc, char **argv)
{
  struct kr_bytes in;
  char part[4096];
  size_t n;
  int rc = 0;
  kr_bytes_init(&in, 64 << 20);
  while ((n = fread(part, 1, sizeof part, stdin)) > 0)
    kr_bytes_add(&in, part, n);
  cJSON *root = cJSON_Parse(in.data), *k;
  cJSON_ArrayForEach(k, cJSON_GetObjectItem(root, "kernels"))
    rc |= look(cJSON_GetObjectItem(k, "contract"), argc > 1 ? argv[1] : "");
  if (!root)
    fprintf(stderr, "oracle_one: the list is no JSON\n");
  rc |= !root;
  cJSON_Delete(root);
  kr_bytes_release(&in);
  return rc;
}
