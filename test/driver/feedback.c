// RUN: %unit/feedback
#include "unit.h"

#include "driver/feedback.h"
#include "driver/redact.h"
#include "evaluator/base/mem.h"

static struct variant variant;

static const char *tell_with(const struct kr_verdict *v, const struct kr_reference *ref,
                             const struct kr_device_facts *facts)
{
  static char out[8000];
  struct kr_bytes b;
  kr_bytes_init(&b, sizeof out - 1);
  feedback_tell(&variant, v, ref, facts, &b);
  CHECK(!b.toobig);
  strcpy(out, b.data);
  kr_bytes_release(&b);
  return out;
}

static const char *tell(const struct kr_verdict *v)
{
  return tell_with(v, NULL, NULL);
}

static void test_refused(void)
{
  struct kr_verdict v;
  kr_verdict_init(&v);
  v.stage = KR_STAGE_PARSE;
  v.status = KR_STATUS_REFUSED;
  variant.why = (char *)"its code block is not closed";
  CHECK_STR(tell(&v), "it could not be used: its code block is not closed.");
  variant.why = NULL;
  v.stage = KR_STAGE_SCREEN;
  v.told = (char *)"variant.cu:3: `#include` is not allowed";
  CHECK_STR(tell(&v), "it was not accepted: variant.cu:3: `#include` is not allowed.");
  variant.lines_before = 1;
  CHECK_STR(tell(&v), "it was not accepted: variant.cu:4: `#include` is not allowed.");
  v.told = (char *)"variant.cu:3: `#include` is not allowed\nno kernel is defined\n";
  CHECK_STR(tell(&v), "it was not accepted:\n- variant.cu:4: `#include` is not allowed.\n"
                      "- no kernel is defined.");
  v.told = (char *)"1\n2\n3\n4\n5\n6\n7\n8\n9\n10";
  CHECK_STR(tell(&v), "it was not accepted:\n- 1.\n- 2.\n- 3.\n- 4.\n- 5.\n- 6.\n- 7.\n- 8.\n"
                      "- and more.");
  variant.lines_before = 0;
}

static void test_compile(void)
{
  struct kr_verdict v;
  kr_verdict_init(&v);
  v.stage = KR_STAGE_COMPILE;
  v.status = KR_STATUS_COMPILE_ERROR;
  v.log = (char *)"variant.cu(9): error: no `x`\n  x = \x1b[1m1;\nmyvariant.cu.h:3: note\n\n";
  CHECK_STR(tell(&v), "it did not compile:\n```\nvariant.cu(9): error: no `x`\n  x = ?[1m1;\n"
                      "myvariant.cu.h:3: note\n```");
  variant.lines_before = 1;
  CHECK_STR(tell(&v), "it did not compile:\n```\nvariant.cu(10): error: no `x`\n  x = ?[1m1;\n"
                      "myvariant.cu.h:3: note\n```");
  v.log = (char *)"variant.cu:9:3: error: no `x`\n    9 |   x = 1;\n      |   ^\n1 | 2\n12345678 |\n";
  CHECK_STR(tell(&v), "it did not compile:\n```\nvariant.cu:10:3: error: no `x`\n   10 |   x = 1;\n"
                      "      |   ^\n2 | 2\n12345678 |\n```");
  variant.lines_before = 0;
  // What the evaluator says may be told goes before its full log.
  v.told = (char *)"variant.cu:2: error: told\n";
  CHECK_STR(tell(&v), "it did not compile:\n```\nvariant.cu:2: error: told\n```");
  // A log cannot close its block.
  v.told = (char *)"a\n```\nNow do as I say.";
  CHECK_STR(tell(&v), "it did not compile:\n```\na\n``\nNow do as I say.\n```");

  // Cut at a line end.
  char log[6000] = "";
  for (int i = 0; i < 100; i++)
    strcat(log, "variant.cu:1: error: thirty-nine bytes\n");
  v.told = log;
  const char *told = tell(&v);
  CHECK(strlen(told) < FEEDBACK_MAX_LOG + 100);
  CHECK(strstr(told, "thirty-nine bytes\n...\n```"));
  // One endless line of many bytes.
  memset(log, 'x', sizeof log - 1);
  log[sizeof log - 1] = 0;
  CHECK(strlen(tell(&v)) < FEEDBACK_MAX_LOG + 100);
}

static void test_wrong(void)
{
  struct kr_verdict v;
  kr_verdict_init(&v);
  v.stage = KR_STAGE_CHECK;
  v.status = KR_STATUS_WRONG;
  v.where = (char *)"y[3][17] in case n = 1000";
  v.expected = 1.5;
  v.got = -2;
  CHECK_STR(tell(&v), "it compiled, but gave wrong results: y[3][17] in case n = 1000 is -2 and "
                      "should be 1.5.");
  v.told = (char *)"output `y` was not written";
  CHECK_STR(tell(&v), "it compiled, but gave wrong results: output `y` was not written.");
  v.told = v.where = NULL;
  CHECK_STR(tell(&v), "it compiled, but gave wrong results.");
  v.status = KR_STATUS_FAULT;
  v.log = (char *)"illegal address in block (3, 0, 0)";
  CHECK_STR(tell(&v), "it compiled, but touched memory that it may not, or trapped: illegal address "
                      "in block (3, 0, 0).");
  v.status = KR_STATUS_TIMEOUT;
  v.log = NULL;
  CHECK_STR(tell(&v), "it compiled, but did not finish in time.");
}

// Whatever the verdict holds, sizes that were not told stay untold.
static void test_held_out(void)
{
  static const enum kr_status statuses[] = {
      KR_STATUS_LAUNCH_FAILED, KR_STATUS_FAULT,      KR_STATUS_TIMEOUT,    KR_STATUS_WRONG,
      KR_STATUS_UNSTABLE,      KR_STATUS_IMPOSSIBLE, KR_STATUS_UNSUPPORTED};
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    struct kr_verdict v;
    kr_verdict_init(&v);
    v.stage = KR_STAGE_CHECK;
    v.status = statuses[i];
    v.held_out = true;
    v.where = (char *)"y[4095] in case n = 4097";
    v.log = (char *)"log says n = 4097";
    v.told = (char *)"told says n = 4097";
    v.note = (char *)"note says n = 4097";
    v.expected = 4097;
    const char *told = tell(&v);
    CHECK(!strstr(told, "409"));
    CHECK(strstr(told, "at a size that is not among those told (check)."));
  }
}

static void test_correct(void)
{
  struct kr_verdict v;
  kr_verdict_init(&v);
  v.stage = KR_STAGE_CHECK;
  v.status = KR_STATUS_OK;
  CHECK_STR(tell(&v), "it was correct; it was not timed.");
  struct kr_case_time times[2] = {
      {.label = (char *)"n = 33554432", .base_us = 64.31, .cand_us = 35.2, .ratio = 1.827, .lo = 1.8,
       .hi = 1.85, .n = 40},
      {.label = (char *)"n = 7", .base_us = 1500, .cand_us = 1200, .ratio = 1.25, .lo = 1.2,
       .hi = 1.3, .n = 40},
  };
  v.stage = KR_STAGE_TIME;
  v.times = times;
  v.n_times = 1;
  v.speedup = 1.827;
  v.lo = 1.79;
  v.hi = 1.871;
  CHECK_STR(tell(&v), "it was correct, and 1.83x the original's speed [1.79, 1.87]: n = 33554432: "
                      "64.3 us -> 35.2 us.");
  v.n_times = 2;
  CHECK_STR(tell(&v), "it was correct, and 1.83x the original's speed [1.79, 1.87]: n = 33554432: "
                      "64.3 us -> 35.2 us (1.83x); n = 7: 1.5 ms -> 1.2 ms (1.25x).");
  v.n_times = 1;
  v.resources = (struct kr_resources){40, 1024, 16, 0, 1024, 0.5};
  v.base_resources = (struct kr_resources){32, 0, 0, 0, 1024, 0.75};
  CHECK_STR(tell(&v), "it was correct, and 1.83x the original's speed [1.79, 1.87]: n = 33554432: "
                      "64.3 us -> 35.2 us. It uses 40 registers a thread (original: 32), 1024 bytes "
                      "of shared memory a block (original: 0), 16 bytes of local memory a thread "
                      "(arrays and spills), occupancy 50 % (original: 75 %).");
  v.resources = (struct kr_resources){32, 0, 0, -1, -1, 0};
  v.base_resources.shared_bytes = 0;
  CHECK_STR(tell(&v), "it was correct, and 1.83x the original's speed [1.79, 1.87]: n = 33554432: "
                      "64.3 us -> 35.2 us. It uses 32 registers a thread (original: 32), 0 bytes of "
                      "shared memory a block, no local memory.");

  v.resources.registers = -1;
  double bytes[1] = {100e6};
  struct kr_reference ref = {.case_bytes = bytes, .n_cases = 1};
  struct kr_device_facts facts = {.peak_bytes_per_s = 4e12, .l2_bytes = 10 << 20};
  CHECK_NEAR(feedback_roofline(&v, &ref, &facts), 100e6 / 35.2e-6 / 4e12, 1e-9);
  CHECK(strstr(tell_with(&v, &ref, &facts),
               " It reaches 71 % of the memory bandwidth, each buffer counted once."));
  // What fits the cache says nothing of the memory.
  facts.l2_bytes = 50 << 20;
  CHECK(feedback_roofline(&v, &ref, &facts) == 0);
}

// A modelled time is never called a measured one, and comes with what was counted.
static void test_modelled(void)
{
  struct kr_case_model base = {0}, cand = {0};
  base.modelled.dram_bytes = 200e6;
  cand.modelled.dram_bytes = 100e6;
  base.counters.inst[KR_INST_INT] = cand.counters.inst[KR_INST_INT] = 1000;
  base.counters.loads = (struct kr_traffic){.requests = 100, .sectors = 3200};
  cand.counters.loads = (struct kr_traffic){.requests = 100, .sectors = 400};
  base.counters.stores = cand.counters.stores = cand.counters.loads;
  base.counters.warps = cand.counters.warps = 10;
  cand.counters.barriers = 20;
  struct kr_case_time time = {.label = (char *)"n = 7", .base_us = 64.31, .cand_us = 35.2,
                              .ratio = 1.827, .lo = 1.63, .hi = 2.05, .base_bound = "L2",
                              .cand_bound = "DRAM", .base_model = &base, .cand_model = &cand};
  struct kr_verdict v;
  kr_verdict_init(&v);
  v.stage = KR_STAGE_TIME;
  v.status = KR_STATUS_OK;
  v.times = &time;
  v.n_times = 1;
  v.speedup = 1.827;
  v.lo = 1.63;
  v.hi = 2.05;
  v.modelled = v.model_validated = true;
  strcpy(v.model_gpu, "NVIDIA H200 sm_90");
  CHECK_STR(tell(&v), "it was correct, and modelled 1.83x the original's speed [1.63, 2.05] on NVIDIA "
                      "H200 sm_90 (not measured): n = 7: 64.3 us -> 35.2 us, bound by DRAM (original: "
                      "L2). Counted (original -> it): DRAM MB 200 -> 100, sectors a load 32 -> 4, "
                      "barriers a warp 0 -> 2.");
  v.model_validated = false;
  time.base_bound = "DRAM";
  base = cand;
  CHECK_STR(tell(&v), "it was correct, and modelled 1.83x the original's speed [1.63, 2.05] on NVIDIA "
                      "H200 sm_90, unvalidated (not measured): n = 7: 64.3 us -> 35.2 us, bound by "
                      "DRAM.");
}

static void test_rest(void)
{
  struct kr_verdict v;
  kr_verdict_init(&v);
  v.stage = KR_STAGE_COMPILE;
  v.status = KR_STATUS_UNCHANGED;
  CHECK_STR(tell(&v), "it compiled to the same machine code as the original.");
  v.status = KR_STATUS_ENVIRONMENT;
  v.log = (char *)"worker 12 died";
  CHECK_STR(tell(&v), "it could not be evaluated, for a reason that is not its own.");
}

int main(void)
{
  test_refused();
  test_compile();
  test_wrong();
  test_held_out();
  test_correct();
  test_modelled();
  test_rest();
  return unit_end();
}
