// judge_one BACKEND CONTRACT.json CANDIDATE.cu [GRID BLOCK]: opens a worker, judges one
// candidate and prints the reference and the verdict as JSON lines. Exit status
// 0 whatever the verdict says, 1 when the worker cannot be opened.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"
#include "evaluator/evaluator.h"

static char *slurp(const char *path, size_t *len)
{
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    exit(2);
  }
  struct kr_bytes b;
  kr_bytes_init(&b, 64 << 20);
  char part[4096];
  size_t n;
  do {
    n = fread(part, 1, sizeof part, f);
    kr_bytes_add(&b, part, n);
  } while (n == sizeof part);
  fclose(f);
  *len = b.len;
  return b.data;
}

int main(int argc, char **argv)
{
  if (argc != 4 && argc != 6) {
    fprintf(stderr, "judge_one BACKEND CONTRACT CANDIDATE [GRID BLOCK]\n");
    return 2;
  }
  struct kr_err err = {{0}};
  struct kr_contract c;
  size_t len;
  char *json = slurp(argv[2], &len);
  if (kr_contract_from_json(&c, json, len, &err)) {
    printf("error: %s\n", err.text);
    return 2;
  }
  free(json);
  struct kr_worker_options o = {.backend = argv[1]};
  const char *seed = getenv("JUDGE_SEED"), *thorough = getenv("JUDGE_THOROUGH");
  o.program = getenv("JUDGE_WORKER");
  struct kr_worker *w = kr_worker_new(&o, &c, seed ? strtoull(seed, NULL, 10) : 1);
  struct kr_reference ref;
  struct kr_bytes out;
  kr_bytes_init(&out, 64 << 20);
  int rc = 1;
  if (kr_worker_open(w, &ref, &err)) {
    printf("error: %s\n", err.text);
  } else {
    kr_reference_to_json(&ref, &out);
    printf("reference: %s\n", out.data);
    kr_reference_release(&ref);
    struct kr_candidate cand = {.code = slurp(argv[3], &len)};
    if (argc == 6) {
      cand.has_geometry = true;
      cand.geometry.grid[0] = kr_xstrdup(argv[4]);
      cand.geometry.block[0] = kr_xstrdup(argv[5]);
    }
    struct kr_judge_options jo = {.until = KR_STAGE_TIME, .seed = 7, .thorough = thorough != NULL};
    struct kr_verdict v;
    rc = kr_worker_judge(w, &cand, &jo, &v, &err);
    kr_bytes_reset(&out);
    kr_verdict_to_json(&v, &out);
    printf("verdict: %s\n", out.data);
    kr_verdict_release(&v);
    kr_candidate_release(&cand);
  }
  kr_bytes_release(&out);
  kr_worker_free(w);
  kr_contract_release(&c);
  return rc;
}
