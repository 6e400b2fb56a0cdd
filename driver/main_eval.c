// kevin-eval: the judge behind JSON lines, for trainers, tests and other
// machines. One request a line on stdin, one answer a line on stdout, in order
// (docs/json.md). It screens what it is given as kevin-rewrite does.

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "../evaluator/base/source.h"
#include "../rewriter/rewriter.h"
#include "exit.h"
#include "explain.h"
#include "judge.h"
#include "options.h"
#include "project.h"
#include "talk.h"
#include "variant.h"

static const char usage_text[] =
    "usage: kevin-eval [options] < requests.jsonl > answers.jsonl\n"
    "\n"
    "Judges candidates for CUDA kernels. A request is one line of JSON:\n"
    "\n"
    "  {\"id\": 1, \"contract\": {...}, \"reply\": \"...\"}\n"
    "\n"
    "with the contract as `kevin-rewrite --list --format=json` gives it (or\n"
    "\"contract_file\": PATH), and either \"reply\", a model's whole answer, or\n"
    "\"code\", the variant alone. \"until\" may be \"check\", \"time\" or \"confirm\";\n"
    "\"seed\" is a number or a string of digits.\n"
    "\n"
    "Options:\n"
    "  --evaluator=WHAT   auto, cuda or cpu\n"
    "  --device=N         which GPU\n"
    "  --gpu=NAME         whose time the cpu evaluator models: a name or sm_NN;\n"
    "                     default H200\n"
    "  --explain          on standard error: what bounds original and variant\n"
    "  --cuda-path=DIR    the CUDA toolkit; `none` works without one\n"
    "  --debug=LIST       of compile, verify, time, all\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 every request was judged; 2 usage; 3 some could not be; 4 no\n"
    "evaluator.\n";

// What is kept warm while requests are about one contract.
struct session {
  struct kr_worker_options worker;
  bool can_time, can_model;
  struct kr_parser *parser;
  struct kr_contract contract;
  bool have_contract;
  struct kr_hash hash;
  struct kr_source source; // the slice as a file, for the screen
  struct kr_unit unit;
  const struct kr_pkernel *kernel; // in `unit`; NULL: the contract could not be taken
  struct judge *judge;             // NULL after a confirmation, which needs the memory
  uint64_t seed;
  unsigned number; // judgements so far
  bool explain;
};

static void session_forget(struct session *s)
{
  judge_close(s->judge);
  s->judge = NULL;
  if (!s->have_contract)
    return;
  kr_unit_release(&s->unit);
  s->unit = (struct kr_unit){0};
  kr_source_release(&s->source);
  kr_contract_release(&s->contract);
  s->have_contract = false;
  s->kernel = NULL;
}

static struct kr_parse_request session_request(struct session *s)
{
  return (struct kr_parse_request){.src = &s->source,
                                   .flags = (const char *const *)s->contract.flags,
                                   .n_flags = s->contract.n_flags};
}

// A slice is a file of its own here, whose lines are its own.
static void add_without_lines(struct kr_bytes *out, const char *text)
{
  for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
    if (strncmp(text, "#line ", 6))
      kr_bytes_addf(out, "%.*s\n", (int)strcspn(text, "\n"), text);
}

// The slice as a file in a folder of this process's own: libclang keeps a
// precompiled preamble only for files that exist, and it is ten times as fast
// with one.
static char eval_folder[4096], eval_file[4200];

static void eval_remove(void)
{
  if (eval_file[0])
    unlink(eval_file);
  if (eval_folder[0])
    rmdir(eval_folder);
}

static void eval_on_signal(int sig)
{
  eval_remove(); // unlink() and rmdir() are safe here
  signal(sig, SIG_DFL);
  raise(sig);
}

static int session_source(struct session *s, const struct kr_bytes *text, struct kr_err *err)
{
  if (!eval_folder[0]) {
    const char *tmp = getenv("TMPDIR");
    snprintf(eval_folder, sizeof eval_folder, "%.4000s/kevin-eval.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(eval_folder)) {
      kr_err_errno(err, "cannot make a folder such as %s", eval_folder);
      eval_folder[0] = '\0';
      return -1;
    }
    atexit(eval_remove);
    snprintf(eval_file, sizeof eval_file, "%s/contract.cu", eval_folder);
  }
  if (kr_replace_path(eval_file, text->data, text->len, 0600, err) < 0)
    return -1;
  return kr_source_read(&s->source, eval_file, err);
}

// Opens the evaluator on the contract in hand, unless it is open.
static int session_judge(struct session *s, struct kr_err *err)
{
  if (s->judge)
    return 0;
  struct judge_setup setup = {.contract = &s->contract,
                              .source = &s->source,
                              .kernel = s->kernel,
                              .parser = s->parser,
                              .request = session_request(s),
                              .worker = s->worker,
                              .seed = s->seed};
  return judge_open(&s->judge, &setup, err);
}

// Takes a contract: parses its slice, opens the evaluator.
static int session_contract(struct session *s, const char *json, size_t len, uint64_t seed,
                            struct kr_err *err)
{
  struct kr_contract c;
  if (kr_contract_from_json(&c, json, len, err)) {
    session_forget(s); // the next request's "line before" is this one
    return -1;
  }
  struct kr_hash hash = kr_contract_hash(&c);
  if (s->kernel && kr_hash_equal(hash, s->hash) && seed == s->seed) {
    kr_contract_release(&c);
    return session_judge(s, err);
  }
  session_forget(s);
  s->contract = c;
  s->have_contract = true;
  s->hash = hash;
  s->seed = seed;
  s->number = 0;
  struct kr_bytes text;
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  add_without_lines(&text, c.before);
  kr_bytes_addf(&text, "%s\n", c.code);
  add_without_lines(&text, c.after);
  int rc = session_source(s, &text, err);
  kr_bytes_release(&text);
  if (rc)
    return -1;
  struct kr_parse_request req = session_request(s);
  if (kr_parser_unit(s->parser, &req, &s->unit, err))
    return -1;
  const struct kr_pkernel *kernel = NULL;
  for (size_t i = 0; i < s->unit.n_kernels; i++)
    if (!strcmp(s->unit.kernels[i].qualified, c.kernel))
      kernel = &s->unit.kernels[i];
  if (!kernel || kernel->refused)
    return kr_err_set(err, "the contract's slice holds no kernel %s that can be taken%s%s", c.kernel,
                      kernel ? ": " : "", kernel ? kernel->refused : "");
  s->kernel = kernel;
  return session_judge(s, err);
}

static int request_contract(const cJSON *req, struct session *s, uint64_t seed, struct kr_err *err)
{
  const cJSON *inlined = cJSON_GetObjectItemCaseSensitive(req, "contract");
  const cJSON *file = cJSON_GetObjectItemCaseSensitive(req, "contract_file");
  if (cJSON_IsString(file)) {
    struct kr_source src;
    if (kr_source_read(&src, file->valuestring, err)) {
      session_forget(s);
      return -1;
    }
    int rc = session_contract(s, src.data, src.len, seed, err);
    kr_source_release(&src);
    return rc;
  }
  if (!cJSON_IsObject(inlined)) {
    if (!s->kernel)
      return kr_err_set(err, "the request has no contract, and none that can be taken came before it");
    if (seed != s->seed) {
      judge_close(s->judge);
      s->judge = NULL;
      s->seed = seed;
      s->number = 0;
    }
    return session_judge(s, err); // the same as before
  }
  char *json = cJSON_PrintUnformatted(inlined);
  int rc = session_contract(s, json, strlen(json), seed, err);
  cJSON_free(json);
  return rc;
}

static int request_seed(const cJSON *req, uint64_t *seed, struct kr_err *err)
{
  const cJSON *j = cJSON_GetObjectItemCaseSensitive(req, "seed");
  if (cJSON_IsNumber(j) && j->valuedouble >= 0 && j->valuedouble < 0x1p53) {
    *seed = (uint64_t)j->valuedouble;
  } else if (cJSON_IsString(j)) {
    char *end;
    errno = 0;
    *seed = strtoull(j->valuestring, &end, 10);
    if (errno || *end || strspn(j->valuestring, "0123456789") != strlen(j->valuestring) || !*j->valuestring)
      return kr_err_set(err, "seed is no number: %.40s", j->valuestring);
  } else if (j) {
    return kr_err_set(err, "seed is a number or a string of digits");
  }
  return 0;
}

static int request_until(const cJSON *req, const struct session *s, enum kr_stage *until,
                         struct kr_err *err)
{
  const cJSON *j = cJSON_GetObjectItemCaseSensitive(req, "until");
  *until = s->can_time || s->can_model ? KR_STAGE_TIME : KR_STAGE_CHECK;
  if (!j)
    return 0;
  const char *word = cJSON_IsString(j) ? j->valuestring : "";
  if (!strcmp(word, "check"))
    *until = KR_STAGE_CHECK;
  else if (!strcmp(word, "time"))
    *until = KR_STAGE_TIME;
  else if (!strcmp(word, "confirm"))
    *until = KR_STAGE_CONFIRM;
  else
    return kr_err_set(err, "until is check, time or confirm, not `%.40s`", word);
  if (*until == KR_STAGE_CONFIRM && !s->can_time)
    return kr_err_set(err, "the cpu evaluator does not measure, so it cannot go until confirm");
  if (*until == KR_STAGE_TIME && !s->can_time && !s->can_model)
    return kr_err_set(err, "this cpu evaluator neither times nor counts, so it cannot go until time");
  return 0;
}

static int request_variant(const cJSON *req, const struct kr_contract *c, struct variant *v,
                           struct kr_verdict *verdict, struct kr_err *err)
{
  const cJSON *reply = cJSON_GetObjectItemCaseSensitive(req, "reply");
  const cJSON *code = cJSON_GetObjectItemCaseSensitive(req, "code");
  if (cJSON_IsString(code)) {
    // In a fence of its own, so that a launch line means the same in both.
    // The fence is longer than any run of its mark inside.
    size_t longest = 0, run = 0;
    for (const char *p = code->valuestring; *p; p++) {
      run = *p == '~' ? run + 1 : 0;
      longest = run > longest ? run : longest;
    }
    size_t width = longest < 3 ? 3 : longest + 1;
    char *fence = kr_xmalloc(width + 1);
    memset(fence, '~', width);
    fence[width] = 0;
    char *fenced = kr_xasprintf("%s\n%s\n%s\n", fence, code->valuestring, fence);
    free(fence);
    int rc = variant_parse(fenced, strlen(fenced), false, &c->geometry, v);
    free(fenced);
    if (!rc)
      return 0;
  } else if (cJSON_IsString(reply)) {
    if (!variant_parse(reply->valuestring, strlen(reply->valuestring), false, &c->geometry, v))
      return 0;
  } else {
    return kr_err_set(err, "the request has neither a reply nor code");
  }
  verdict->stage = KR_STAGE_PARSE;
  verdict->status = KR_STATUS_REFUSED;
  verdict->log = kr_xstrdup(v->why);
  return 1;
}

static int request_judge(const cJSON *req, struct session *s, struct kr_verdict *v,
                         struct kr_err *err)
{
  uint64_t seed = s->seed;
  struct variant variant = {0};
  enum kr_stage until;
  if (request_until(req, s, &until, err) || request_seed(req, &seed, err) ||
      request_contract(req, s, seed, err))
    return -1;
  int rc = request_variant(req, &s->contract, &variant, v, err);
  if (!rc) {
    judge_until(s->judge, until);
    rc = judge_candidate(s->judge, &variant.candidate, ++s->number, v, err);
  }
  if (!rc && until == KR_STAGE_CONFIRM && v->status == KR_STATUS_OK) {
    const struct kr_candidate *cand = &variant.candidate;
    rc = judge_confirm(s->judge, &cand, 1, v, NULL, NULL, err);
    // The search's worker is gone; the next request opens one again.
    judge_close(s->judge);
    s->judge = NULL;
  }
  variant_release(&variant);
  return rc < 0 ? -1 : 0;
}

// Answers one line. Returns 0, or 1 when it could not be judged.
static int answer(struct session *s, const char *line, size_t len)
{
  struct kr_err err = {""};
  struct kr_verdict v;
  struct kr_bytes out;
  int failed = 1;
  kr_verdict_init(&v);
  kr_bytes_init(&out, KR_BYTES_DEFAULT_MAX);
  cJSON *req = cJSON_ParseWithLength(line, len);
  const cJSON *id = cJSON_GetObjectItemCaseSensitive(req, "id");
  char *id_text = id ? cJSON_PrintUnformatted(id) : NULL;
  if (!cJSON_IsObject(req))
    kr_err_set(&err, "the request is not a JSON object");
  else
    failed = request_judge(req, s, &v, &err) != 0;
  kr_bytes_addf(&out, "{\"schema\":1,\"id\":%s,", id_text ? id_text : "null");
  if (failed) {
    cJSON *text = cJSON_CreateString(err.text);
    char *json = cJSON_PrintUnformatted(text);
    kr_bytes_addf(&out, "\"error\":%s}\n", json);
    cJSON_free(json);
    cJSON_Delete(text);
  } else {
    kr_bytes_adds(&out, "\"verdict\":");
    kr_verdict_to_json(&v, &out);
    kr_bytes_adds(&out, "}\n");
  }
  if (!failed && s->explain) {
    struct kr_bytes text;
    kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
    explain_verdict(&v, &text);
    fputs(text.data, stderr);
    kr_bytes_release(&text);
  }
  talk_out(out.data, out.len);
  cJSON_free(id_text);
  cJSON_Delete(req);
  kr_bytes_release(&out);
  kr_verdict_release(&v);
  return failed;
}

static int eval_usage(const char *what, const char *value)
{
  fprintf(stderr, "error: %s%s\nTry `kevin-eval --help`.\n", what, value);
  return EXIT_USAGE;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {{"evaluator", required_argument, NULL, 'e'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"cuda-path", required_argument, NULL, 'c'},
                                        {"gpu", required_argument, NULL, 'g'},
                                        {"explain", no_argument, NULL, 'x'},
                                        {"debug", required_argument, NULL, 'D'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"version", no_argument, NULL, 'V'},
                                        {NULL, 0, NULL, 0}};
  struct options o = {.format = FORMAT_JSON};
  const char *evaluator = "auto", *cuda = NULL, *gpu = NULL;
  struct session s = {0};
  talk_guard();
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
    switch (c) {
    case 'e':
      evaluator = optarg;
      break;
    case 'd': {
      char *end;
      o.device = (int)strtol(optarg, &end, 10);
      if (*end || end == optarg || o.device < 0)
        return eval_usage("--device is the number of a GPU, not ", optarg);
      break;
    }
    case 'c':
      cuda = optarg;
      break;
    case 'g':
      gpu = optarg;
      if (!kr_gpu_find(gpu))
        return eval_usage("--gpu: the model knows no ", gpu);
      break;
    case 'x':
      s.explain = true;
      break;
    case 'D':
      o.debug = optarg;
      break;
    case 'h':
      fputs(usage_text, stdout);
      return EXIT_DONE;
    case 'V':
      puts("kevin-eval " KR_VERSION);
      return EXIT_DONE;
    default:
      return eval_usage("unknown option or missing value: ", argv[optind - 1]);
    }
  }
  if (optind < argc)
    return eval_usage("requests come on standard input; not understood: ", argv[optind]);
  bool automatic = !strcmp(evaluator, "auto");
  if (!automatic && strcmp(evaluator, "cuda") && strcmp(evaluator, "cpu"))
    return eval_usage("--evaluator is auto, cuda or cpu, not ", evaluator);
  talk_start(&o);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, eval_on_signal);
  signal(SIGINT, eval_on_signal);

  char *cuda_path = find_cuda(cuda);
  struct kr_device_facts facts;
  struct kr_err err = {""};
  struct kr_parser_options parser_options = {.cuda_path = cuda_path};
  s.worker = (struct kr_worker_options){
      .backend = automatic ? "cuda" : evaluator,
      .device = {.device = o.device, .cuda_path = cuda_path, .gpu = gpu}};
  int failed = kr_worker_probe(&s.worker, &facts, &err);
  if (failed && automatic) {
    s.worker.backend = "cpu";
    failed = kr_worker_probe(&s.worker, &facts, &err);
  }
  if (failed) {
    kr_error("%s", err.text);
    free(cuda_path);
    return EXIT_NO_ENVIRONMENT;
  }
  s.can_time = strcmp(s.worker.backend, "cpu") != 0;
  const struct kr_backend *table = kr_backend_find(s.worker.backend);
  s.can_model = !s.can_time && table && table->count;
  s.parser = kr_parser_new(&parser_options);
  char *line = NULL;
  size_t size = 0, n_failed = 0;
  for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;)
    if (strspn(line, " \t\r\n") != (size_t)n)
      n_failed += (size_t)answer(&s, line, (size_t)n);
  free(line);
  session_forget(&s);
  kr_parser_free(s.parser);
  free(cuda_path);
  return n_failed ? EXIT_PARTIAL : EXIT_DONE;
}
