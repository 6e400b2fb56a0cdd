// Runs the refinement loop on a contract with any model and a judge that reads
// its verdicts from a file, so that prompts, replies and the network can be
// tested without an evaluator.
//
//   refine_tool --contract=FILE --verdicts=FILE --model=SPEC [options]
//
// The verdicts are a JSON list, one a judgement: {"stage", "status", "log",
// "told", "held_out", "where", "expected", "got", "speedup", "lo", "hi",
// "times": [{"label", "base_us", "cand_us", "ratio"}], "registers",
// "base_registers", "hash", "match"}; one with "match" is of code that holds it. Status 0 when the loop ended by itself, 3 when it
// did not, 2 for wrong usage.
#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/refine.h"
#include "driver/reward.h"
#include "evaluator/base/log.h"
#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
  (void)sig;
  stop = 1;
}

static void sink(enum kr_log_level level, const char *stage, const char *text, void *arg)
{
  static const char *const names[] = {"error", "warning", "note", "debug"};
  (void)stage;
  (void)arg;
  fprintf(stderr, "%s: %s\n", names[level], text);
}

static const cJSON *get(const cJSON *json, const char *name)
{
  return cJSON_GetObjectItemCaseSensitive(json, name);
}

static char *get_text(const cJSON *json, const char *name)
{
  return cJSON_IsString(get(json, name)) ? kr_xstrdup(get(json, name)->valuestring) : NULL;
}

static double get_number(const cJSON *json, const char *name, double otherwise)
{
  return cJSON_IsNumber(get(json, name)) ? get(json, name)->valuedouble : otherwise;
}

// The verdict of the list's entry, or -1 when it names no stage or status.
static int read_verdict(const cJSON *json, struct kr_verdict *v)
{
  const cJSON *stage = get(json, "stage"), *status = get(json, "status");
  if (!cJSON_IsString(stage) || !cJSON_IsString(status))
    return -1;
  int s = 0, t = 0;
  while (s <= KR_STAGE_CONFIRM && strcmp(kr_stage_name((enum kr_stage)s), stage->valuestring))
    s++;
  while (t <= KR_STATUS_ENVIRONMENT &&
         strcmp(kr_status_name((enum kr_status)t), status->valuestring))
    t++;
  if (s > KR_STAGE_CONFIRM || t > KR_STATUS_ENVIRONMENT)
    return -1;
  v->stage = (enum kr_stage)s;
  v->status = (enum kr_status)t;
  v->log = get_text(json, "log");
  v->told = get_text(json, "told");
  v->held_out = cJSON_IsTrue(get(json, "held_out"));
  v->where = get_text(json, "where");
  v->expected = get_number(json, "expected", 0);
  v->got = get_number(json, "got", 0);
  v->speedup = get_number(json, "speedup", 0);
  v->lo = get_number(json, "lo", 0);
  v->hi = get_number(json, "hi", 0);
  v->resources.registers = (int)get_number(json, "registers", -1);
  v->base_resources.registers = (int)get_number(json, "base_registers", -1);
  char *hash = get_text(json, "hash");
  if (hash)
    v->code_hash = kr_hash_of(hash, strlen(hash));
  free(hash);
  const cJSON *times = get(json, "times");
  v->n_times = (size_t)cJSON_GetArraySize(times);
  v->times = v->n_times ? kr_xcalloc(v->n_times, sizeof *v->times) : NULL;
  for (size_t i = 0; i < v->n_times; i++) {
    const cJSON *item = cJSON_GetArrayItem(times, (int)i);
    v->times[i].label = get_text(item, "label");
    v->times[i].base_us = get_number(item, "base_us", 0);
    v->times[i].cand_us = get_number(item, "cand_us", 0);
    v->times[i].ratio = get_number(item, "ratio", 0);
  }
  return 0;
}

static int judge(void *arg, const struct kr_candidate *cand, unsigned number,
                 struct kr_verdict *v, struct kr_err *err)
{
  const cJSON *item = cJSON_GetArrayItem(arg, (int)number - 1);
  // Those that say which code they are of are found by that.
  for (const cJSON *by = ((const cJSON *)arg)->child; by; by = by->next)
    if (cJSON_IsString(get(by, "match")) && strstr(cand->code, get(by, "match")->valuestring))
      item = by;
  printf("judge %u:\n%s\n", number, cand->code);
  if (!item)
    return kr_err_set(err, "the list of verdicts has no entry %u", number);
  if (read_verdict(item, v))
    return kr_err_set(err, "entry %u of the verdicts has no stage or status that is known", number);
  return 0;
}

static void on_event(void *arg, const struct refine_event *e)
{
  (void)arg;
  if (e->kind == REFINE_BEAM) {
    printf("beam before turn %u:", e->turn);
    for (unsigned i = 0; i < e->trajectories; i++)
      printf(" %zu", e->heads[i]);
    printf("\n");
  } else if (e->kind == REFINE_ASKING)
    printf("asking: trajectory %u/%u, turn %u/%u\n", e->trajectory, e->trajectories, e->turn,
           e->turns);
  else if (e->kind == REFINE_AWAITING)
    printf("awaiting: %u\n", e->awaited);
  else if (e->kind == REFINE_REPLIED)
    printf("replied: %zu bytes%s, %llu + %llu tokens, tries %u\n", e->reply->len,
           e->reply->truncated ? ", truncated" : "", (unsigned long long)e->reply->tokens_in,
           (unsigned long long)e->reply->tokens_out, e->reply->tries);
  else
    printf("%sturn %u.%u: %s %s, score %.3g, told: %s\n",
           e->done->from_store ? "kept " : "", e->trajectory, e->turn,
           kr_stage_name(e->done->verdict.stage), kr_status_name(e->done->verdict.status),
           e->done->score, e->done->told);
  fflush(stdout);
}

// "--name=VALUE", or NULL.
static const char *option(int argc, char **argv, const char *name)
{
  size_t n = strlen(name);
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "--", 2) && !strncmp(argv[i] + 2, name, n) && argv[i][2 + n] == '=')
      return argv[i] + n + 3;
  }
  return NULL;
}

static unsigned number(int argc, char **argv, const char *name, unsigned otherwise)
{
  const char *s = option(argc, argv, name);
  return s ? (unsigned)strtoul(s, NULL, 10) : otherwise;
}

static void report(const struct refine_result *result)
{
  static const char *const failures[] = {"fine", "config", "refused", "budget", "unreachable",
                                         "nonsense", "interrupted", "waiting", "exhausted"};
  printf("end: %s", refine_end_name(result->end));
  if (result->end == REFINE_MODEL)
    printf(" (%s)", failures[result->failure]);
  printf(", %u calls, %zu turns", result->calls, result->n);
  if (result->waiting)
    printf(", %u waiting", result->waiting);
  for (size_t i = 0; i < result->n_finalists; i++) {
    const struct refine_turn *t = &result->turns[result->finalists[i]];
    printf("%s %u.%u", i ? "," : ", finalists", t->trajectory, t->turn);
  }
  printf("\n");
  if (result->why)
    printf("why: %s\n", result->why);
}

int main(int argc, char **argv)
{
  const char *spec = option(argc, argv, "model"), *contract_path = option(argc, argv, "contract"),
             *verdicts_path = option(argc, argv, "verdicts");
  if (!spec || !contract_path || !verdicts_path) {
    fprintf(stderr, "usage: refine_tool --contract=F --verdicts=F --model=SPEC [options]\n");
    return 2;
  }
  signal(SIGINT, on_signal);
  setvbuf(stdout, NULL, _IOLBF, 0);
  kr_log_install(sink, NULL, option(argc, argv, "debug"));
  struct kr_err err = {""};
  struct kr_source contract_src = {0}, verdicts_src = {0};
  struct kr_contract contract = {0};
  struct model *model = NULL;
  struct store *store = NULL;
  struct prompt_set *templates = NULL;
  struct refine_result result = {0};
  cJSON *verdicts = NULL;
  int rc = 3;
  if (kr_source_read(&contract_src, contract_path, &err) ||
      kr_contract_from_json(&contract, contract_src.data, contract_src.len, &err) ||
      kr_source_read(&verdicts_src, verdicts_path, &err))
    goto out;
  verdicts = cJSON_ParseWithLength(verdicts_src.data, verdicts_src.len);
  if (!cJSON_IsArray(verdicts)) {
    kr_err_set(&err, "%s is not a JSON list", verdicts_path);
    goto out;
  }
  const char *retries = option(argc, argv, "retries");
  struct model_options options = {
      .base_url = option(argc, argv, "base-url"),
      .api_key_file = option(argc, argv, "api-key-file"),
      .max_tokens = number(argc, argv, "max-tokens", 0),
      .temperature = -1,
      .has_seed = option(argc, argv, "seed") != NULL,
      .seed = number(argc, argv, "seed", 0),
      .retries = retries ? atoi(retries) : -1,
      .retry_ms = number(argc, argv, "retry-ms", 10),
      .retry_after_max_ms = number(argc, argv, "retry-after-max-ms", 0),
      .idle_ms = number(argc, argv, "idle-ms", 0),
      .total_ms = number(argc, argv, "total-ms", 0),
      .keepalive_ms = number(argc, argv, "keepalive-ms", 0),
      .stop = &stop,
  };
  if (model_open(spec, &options, &model, &err))
    goto out;
  printf("model: %s\n", model_where(model));
  if (option(argc, argv, "profile") &&
      prompt_set_open(option(argc, argv, "profile"), option(argc, argv, "prompts"), &templates, &err))
    goto out;
  // --gbytes-per-s=N: a device with that memory and a case of 1 MB.
  double bytes[1] = {1e6};
  struct kr_reference ref = {.case_bytes = bytes, .n_cases = 1};
  struct kr_device_facts facts = {.arch = "cpu", .warp = 32};
  // --case-us=N: how long the original takes, which prompts tell.
  double case_us[1] = {number(argc, argv, "case-us", 0)};
  ref.case_us = case_us[0] > 0 ? case_us : NULL;
  facts.peak_bytes_per_s = 1e9 * number(argc, argv, "gbytes-per-s", 0);
  // --max-run-tokens, since --max-tokens is of one reply.
  struct budget budget;
  budget_begin(&budget);
  budget.max_calls = number(argc, argv, "max-calls", BUDGET_NO_CALLS);
  if (option(argc, argv, "max-run-tokens"))
    budget.max_tokens = number(argc, argv, "max-run-tokens", 0);
  if (option(argc, argv, "time-budget-ms"))
    budget.max_ms = number(argc, argv, "time-budget-ms", 0);
  struct refine r = {
      .task = {.contract = &contract,
               .facts = &facts,
               .reference = &ref,
               .templates = templates,
               .token_budget = number(argc, argv, "budget", 0)},
      .model = model,
      .judge = judge,
      .judge_arg = verdicts,
      .event = on_event,
      .options = {.trajectories = number(argc, argv, "trajectories", 1),
                  .turns = number(argc, argv, "turns", 4),
                  .budget = &budget,
                  .beam_every = number(argc, argv, "beam-every", 0),
                  .beam_keep = number(argc, argv, "beam-keep", 0),
                  .jobs = number(argc, argv, "jobs", 0),
                  .stop = &stop},
  };
  const char *store_path = option(argc, argv, "store");
  if (store_path) {
    struct store_key key = {.contract = kr_contract_hash(&contract),
                            .kernel = contract.kernel,
                            .file = contract.file,
                            .model = spec,
                            .options = option(argc, argv, "search") ? option(argc, argv, "search") : "",
                            .backend = "cpu",
                            .device = ""};
    if (store_open(store_path, false, &store, &err) ||
        store_search_open(store, &key, (enum store_begin)number(argc, argv, "begin", STORE_CONTINUE),
                          &stop, &r.search, &err))
      goto out;
  }
  rc = refine_run(&r, &result, &err) ? 3 : 0;
  report(&result);
  if (option(argc, argv, "max-run-tokens"))
    printf("spent: %u calls, %llu + %llu tokens%s\n", budget.calls,
           (unsigned long long)budget.tokens_in, (unsigned long long)budget.tokens_out,
           budget.estimated ? ", estimated" : "");
  store_search_close(r.search);
  if (option(argc, argv, "export")) {
    struct kr_bytes lines;
    kr_bytes_init(&lines, KR_BYTES_DEFAULT_MAX);
    reward_export(&result, &contract, &lines);
    FILE *f = fopen(option(argc, argv, "export"), "w");
    if (f) {
      fwrite(lines.data, 1, lines.len, f);
      fclose(f);
    }
    kr_bytes_release(&lines);
  }
out:
  if (rc)
    fprintf(stderr, "error: %s\n", err.text);
  refine_result_release(&result);
  model_close(model);
  prompt_set_free(templates);
  store_close(store);
  cJSON_Delete(verdicts);
  kr_contract_release(&contract);
  kr_source_release(&contract_src);
  kr_source_release(&verdicts_src);
  return rc;
}
