// judge_lines BACKEND CONTRACT.json [TIMEOUT_MS]: one candidate after another, each a
// line of standard input: the JSON that a worker gets, {"code":...,"geometry":...},
// with "thorough":true before it for a finalist's check and "confirm":true for a share
// of a confirmation. Answers each with its verdict as a line of JSON; no screen stands
// before it. Exit status 1 when the original cannot be opened.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/mem.h"
#include "evaluator/wire.h"

static char *slurp(const char *path, size_t *len)
{
  FILE *f = fopen(path, "rb");
  struct kr_bytes b;
  char part[4096];
  size_t n;
  kr_bytes_init(&b, 64 << 20);
  while (f && (n = fread(part, 1, sizeof part, f)) > 0)
    kr_bytes_add(&b, part, n);
  if (!f) {
    perror(path);
    exit(2);
  }
  fclose(f);
  *len = b.len;
  return b.data;
}

static int one(struct kr_worker *w, const char *line)
{
  struct kr_err err = {{0}};
  struct json_reader r = {&err, false};
  struct kr_candidate cand = {0};
  struct kr_bytes out;
  cJSON *root = json_parse(line, strlen(line), &err);
  if (!root) {
    fprintf(stderr, "judge_lines: %s\n", err.text);
    return 2;
  }
  bool thorough = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "thorough"));
  bool confirm = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "confirm"));
  cJSON_DeleteItemFromObjectCaseSensitive(root, "thorough");
  cJSON_DeleteItemFromObjectCaseSensitive(root, "confirm");
  candidate_read(&r, root, &cand);
  cJSON_Delete(root);
  if (r.failed) {
    fprintf(stderr, "judge_lines: %s\n", err.text);
    return 2;
  }
  kr_bytes_init(&out, 64 << 20);
  int rc;
  if (confirm) {
    struct kr_confirm_options o = {.seed = 11, .pairs = 12};
    struct kr_confirm_share share;
    rc = kr_worker_confirm(w, &cand, &o, &share, &err);
    if (!rc)
      kr_verdict_to_json(&share.verdict, &out);
    kr_confirm_share_release(&share);
  } else {
    // The CPU models times; this is about right and wrong.
    struct kr_judge_options o = {.until = KR_STAGE_TIME, .seed = 7, .thorough = thorough};
    if (getenv("JUDGE_UNTIL_CHECK"))
      o.until = KR_STAGE_CHECK;
    struct kr_verdict v;
    rc = kr_worker_judge(w, &cand, &o, &v, &err);
    if (!rc)
      kr_verdict_to_json(&v, &out);
    kr_verdict_release(&v);
  }
  if (rc)
    printf("{\"error\":\"no worker\"}\n");
  else
    printf("%s\n", out.data);
  fflush(stdout);
  if (rc)
    fprintf(stderr, "judge_lines: %s\n", err.text);
  kr_bytes_release(&out);
  kr_candidate_release(&cand);
  return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
  struct kr_err err = {{0}};
  struct kr_contract c;
  struct kr_reference ref;
  size_t len, cap = 0;
  int rc = 0;
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "judge_lines BACKEND CONTRACT.json [TIMEOUT_MS]\n");
    return 2;
  }
  char *json = slurp(argv[2], &len), *line = NULL;
  if (kr_contract_from_json(&c, json, len, &err)) {
    fprintf(stderr, "judge_lines: %s\n", err.text);
    return 2;
  }
  free(json);
  struct kr_worker_options o = {.backend = argv[1], .program = getenv("JUDGE_WORKER")};
  o.device.timeout_ms = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
  struct kr_worker *w = kr_worker_new(&o, &c, 1);
  if (kr_worker_open(w, &ref, &err)) {
    fprintf(stderr, "judge_lines: %s\n", err.text);
    rc = 1;
  } else {
    kr_reference_release(&ref);
    while (!rc && getline(&line, &cap, stdin) > 0)
      rc = one(w, line);
  }
  free(line);
  kr_worker_free(w);
  kr_contract_release(&c);
  return rc;
}
