// RUN: rm -rf %t && mkdir %t && env OPENAI_API_KEY=sk-secret %unit/worker %tool/fake_worker %t
#include "evaluator/evaluator.h"
#include "evaluator/base/mem.h"
#include "samples.h"

#include <unistd.h>

static char *program; // the fake one under its own name
static const char *tool, *folder;
static struct kr_contract c;
static struct kr_worker *w;
static char *verdict_text;

static void write_file(const char *suffix, const char *text)
{
  char *path = kr_xasprintf("%s.%s", program, suffix);
  FILE *f = fopen(path, "w");
  CHECK(f != NULL);
  if (f) {
    fputs(text, f);
    fclose(f);
  }
  free(path);
}

static int starts(void)
{
  char *path = kr_xasprintf("%s.count", program);
  FILE *f = fopen(path, "r");
  int n = 0;
  if (f && fscanf(f, "%d", &n) != 1)
    n = -1;
  if (f)
    fclose(f);
  free(path);
  return n;
}

// What a well-behaved worker would answer.
static void write_answers(void)
{
  struct kr_reference ref = {.deterministic = true, .n_cases = 1};
  double bytes = 12000;
  ref.case_bytes = &bytes;
  struct kr_verdict v;
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 20);
  kr_bytes_adds(&out, "{\"ok\":true,\"lost\":false,\"reference\":");
  kr_reference_to_json(&ref, &out);
  kr_bytes_adds(&out, "}");
  write_file("open", out.data);
  kr_verdict_init(&v);
  v.stage = KR_STAGE_TIME;
  v.speedup = 1.5;
  kr_bytes_reset(&out);
  kr_bytes_adds(&out, "{\"ok\":true,\"lost\":false,\"verdict\":");
  kr_verdict_to_json(&v, &out);
  kr_bytes_adds(&out, "}");
  write_file("judge", out.data);
  verdict_text = kr_bytes_take(&out);
  kr_bytes_release(&out);
}

static void begin(const char *plan)
{
  static int n;
  program = kr_xasprintf("%s/fake%d", folder, n++);
  if (symlink(tool, program)) {
    perror(program);
    exit(2);
  }
  free(verdict_text);
  write_answers();
  write_file("plan", plan);
  struct kr_worker_options o = {.program = program, .backend = "cuda", .device = {.timeout_ms = 40}};
  w = kr_worker_new(&o, &c, 1);
}

static void end(void)
{
  kr_worker_free(w);
  free(program);
}

static void open_ok(void)
{
  struct kr_reference ref;
  struct kr_err err = {{0}};
  CHECK_INT(kr_worker_open(w, &ref, &err), 0);
  CHECK_STR(err.text, "");
  CHECK_INT(ref.deterministic, 1);
  kr_reference_release(&ref);
}

static void judge(struct kr_verdict *v)
{
  struct kr_candidate cand = {.code = (char *)"void saxpy();"};
  struct kr_judge_options o = {.until = KR_STAGE_TIME, .seed = 1};
  struct kr_err err = {{0}};
  CHECK_INT(kr_worker_judge(w, &cand, &o, v, &err), 0);
}

static void expect(enum kr_status status, enum kr_stage stage, const char *log)
{
  struct kr_verdict v;
  judge(&v);
  CHECK_INT(v.status, status);
  CHECK_INT(v.stage, stage);
  if (log && !(v.log && strstr(v.log, log)))
    CHECK_STR(v.log, log);
  kr_verdict_release(&v);
}

static void test_an_honest_worker_is_kept(void)
{
  begin("ok ok");
  open_ok();
  for (int i = 0; i < 3; i++)
    expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  CHECK_INT(starts(), 1);
  end();
}

static void test_a_candidate_that_kills_costs_that_worker(void)
{
  begin("ok check!kill\nok compile!exit\nok smoke!stop\nok time!kill\nok ok");
  open_ok();
  expect(KR_STATUS_FAULT, KR_STAGE_CHECK, "was killed by signal 9 (Killed) in the stage check");
  expect(KR_STATUS_FAULT, KR_STAGE_COMPILE, "ended with status 7 in the stage compile");
  expect(KR_STATUS_TIMEOUT, KR_STAGE_SMOKE, "did not answer in time in the stage smoke");
  expect(KR_STATUS_FAULT, KR_STAGE_TIME, "in the stage time");
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  CHECK_INT(starts(), 5);
  end();
}

static void test_a_worker_gone_before_the_candidate_is_tried_again(void)
{
  begin("ok kill\nok ok");
  open_ok();
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  CHECK_INT(starts(), 2);
  end();
  begin("ok kill\nok exit\nok ok");
  open_ok();
  expect(KR_STATUS_ENVIRONMENT, KR_STAGE_COMPILE, "before it touched the candidate");
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  end();
  begin("ok stop\nok stop\nok ok");
  open_ok();
  expect(KR_STATUS_ENVIRONMENT, KR_STAGE_COMPILE, "did not answer in time before");
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  end();
}

static void test_nonsense_at_any_byte(void)
{
  size_t len = strlen(verdict_text) + 4;
  for (size_t at = 0; at < len; at++) {
    char plan[200];
    struct kr_verdict v;
    snprintf(plan, sizeof plan, "ok check!flip:%zu,ok\nok ok", at);
    begin(plan);
    open_ok();
    judge(&v); // a byte inside a string may leave a verdict as it is
    kr_verdict_release(&v);
    expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
    end();
    snprintf(plan, sizeof plan, "ok check!cut:%zu\nok ok", at);
    begin(plan);
    open_ok();
    expect(KR_STATUS_FAULT, KR_STAGE_CHECK, "in the stage check");
    expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
    end();
    // One that stops there costs a limit of time each.
    if (at > 8 && at % 7 && at + 1 < len)
      continue;
    snprintf(plan, sizeof plan, "ok check!hold:%zu\nok ok", at);
    begin(plan);
    open_ok();
    expect(KR_STATUS_TIMEOUT, KR_STAGE_CHECK, "in the stage check");
    expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
    end();
  }
  begin("ok check!long\nok ok");
  open_ok();
  expect(KR_STATUS_FAULT, KR_STAGE_CHECK, "answered nonsense");
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  end();
}

static void test_a_lost_device_is_replaced(void)
{
  begin("ok ok\nok ok");
  char *lost = sample_edit(verdict_text, "\"lost\":false", "\"lost\":true");
  write_file("judge", lost);
  free(lost);
  open_ok();
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  CHECK_INT(starts(), 2);
  end();
}

// The original is run while a candidate is judged too, and in double as well. What
// that takes along is not the candidate's fault.
static void test_what_the_original_loses_is_avoided_and_asked_again(void)
{
  begin("ok lost:the_original\nok ok");
  open_ok();
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  CHECK_INT(starts(), 2);
  end();
  begin("ok @the_original!kill\nok ok");
  open_ok();
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  CHECK_INT(starts(), 2);
  end();
  // Not for ever.
  begin("ok lost:the_original\nok lost:the_original\nok lost:the_original\nok ok");
  open_ok();
  expect(KR_STATUS_ENVIRONMENT, KR_STAGE_COMPILE, "it faults");
  CHECK_INT(starts(), 3);
  end();
}

static void expect_open_fails(const char *plan, const char *text, int n_starts)
{
  struct kr_reference ref;
  struct kr_err err = {{0}};
  begin(plan);
  CHECK_INT(kr_worker_open(w, &ref, &err), -1);
  if (!strstr(err.text, text))
    CHECK_STR(err.text, text);
  CHECK_INT(starts(), n_starts);
  end();
}

static void test_opening(void)
{
  expect_open_fails("error", "no GPU today", 1);
  expect_open_fails("exit", "kevin-worker ended with status 7 while it ran the original", 1);
  expect_open_fails("kill", "was killed by signal 9", 1);
  expect_open_fails("stop", "did not answer in time while it ran the original", 1);
  expect_open_fails("cut:40", "ended with status 0 while it ran the original", 1);
  expect_open_fails("flip:40", "kevin-worker answered nonsense", 1);
  expect_open_fails("long", "answered nonsense", 1);
  // Attempts that took a worker along are avoided by the next; the same one twice
  // is an end.
  begin("lost:place_end\n@case_0!kill\nok ok");
  open_ok();
  CHECK_INT(starts(), 3);
  expect(KR_STATUS_OK, KR_STAGE_TIME, NULL);
  end();
  expect_open_fails("lost:place_end", "it faults", 2);
  expect_open_fails("@place!kill", "was killed by signal 9", 2);
  // No worker to be had at all.
  struct kr_reference ref;
  struct kr_err err = {{0}};
  struct kr_worker_options o = {.program = "/nowhere/kevin-worker", .backend = "cuda"};
  struct kr_worker *none = kr_worker_new(&o, &c, 1);
  CHECK_INT(kr_worker_open(none, &ref, &err), -1);
  CHECK(strstr(err.text, "cannot start /nowhere/kevin-worker"));
  kr_worker_free(none);
  struct kr_device_facts facts;
  CHECK_INT(kr_worker_probe(&o, &facts, &err), -1);
}

static void test_probing(void)
{
  struct kr_device_facts facts;
  struct kr_err err = {{0}};
  begin("ok ok");
  write_file("open", "{\"ok\":true,\"lost\":false,\"facts\":{\"name\":\"NVIDIA H200\",\"arch\":\"sm_90\","
                     "\"sms\":132,\"peak_bytes_per_s\":4.8e12}}");
  struct kr_worker_options o = {.program = program, .backend = "cuda", .device = {.timeout_ms = 40}};
  CHECK_INT(kr_worker_probe(&o, &facts, &err), 0);
  CHECK_STR(facts.name, "NVIDIA H200");
  CHECK_INT(facts.sms, 132);
  CHECK_NEAR(facts.peak_bytes_per_s, 4.8e12, 1e-15);
  CHECK_STR(facts.uuid, "");
  end();
  begin("error ok");
  o.program = program;
  CHECK_INT(kr_worker_probe(&o, &facts, &err), -1);
  CHECK_STR(err.text, "no GPU today");
  end();
  begin("kill ok");
  o.program = program;
  CHECK_INT(kr_worker_probe(&o, &facts, &err), -1);
  CHECK(strstr(err.text, "was killed by signal 9 (Killed) when asked for the back end `cuda`"));
  end();
}

static void test_the_two_halves(void)
{
  struct kr_candidate cand = {.code = (char *)"void saxpy();"};
  struct kr_judge_options o = {.until = KR_STAGE_TIME, .seed = 1};
  struct kr_verdict v;
  struct kr_err err = {{0}};
  begin("ok ok");
  CHECK_INT(kr_worker_judge_end(w, &v, &err), -1);
  // Begun without an open: it is opened.
  CHECK_INT(kr_worker_judge_begin(w, &cand, &o, &err), 0);
  CHECK_INT(kr_worker_judge_end(w, &v, &err), 0);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_NEAR(v.speedup, 1.5, 1e-12);
  kr_verdict_release(&v);
  end();
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  tool = argv[1];
  folder = argv[2];
  sample_make(&c, NULL);
  test_an_honest_worker_is_kept();
  test_a_candidate_that_kills_costs_that_worker();
  test_a_worker_gone_before_the_candidate_is_tried_again();
  test_nonsense_at_any_byte();
  test_a_lost_device_is_replaced();
  test_what_the_original_loses_is_avoided_and_asked_again();
  test_opening();
  test_probing();
  test_the_two_halves();
  kr_contract_release(&c);
  free(verdict_text);
  return unit_end();
}
