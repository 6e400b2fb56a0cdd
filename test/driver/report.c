// RUN: %unit/report %t && python3 %S/Inputs/report_page.py %t > %t.page && FileCheck %s < %t.page
#include "unit.h"

#include "driver/report.h"
#include "driver/report_internal.h"
#include "evaluator/base/mem.h"

// Every text that is another's is hostile here: whatever the page's parser takes it for,
// it must not be an element or an attribute.
#define HOSTILE "<script>alert(1)</script>\"><img src=x onerror='alert(2)'>\xe2\x80\xae\x1b[2J&lt;"
// CHECK: | <script>alert(1)</script>"><img src=x onerror='alert(2)'>\xe2\x80\xae\x1b[2J&lt; / <script>

static const char *shown(const char *text, size_t len, bool lines)
{
  static char out[1000];
  struct kr_bytes b;
  kr_bytes_init(&b, sizeof out - 1);
  html_text(&b, text, len, lines);
  CHECK(!b.toobig);
  memcpy(out, b.data, b.len + 1);
  kr_bytes_release(&b);
  return out;
}

static void test_text(void)
{
  CHECK_STR(shown("a<b>&\"'", 7, false), "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK_STR(shown("\xe2\x80\xae\xc3\xa9\xff\t\n", 8, false), "\\xe2\\x80\\xae\xc3\xa9\\xff\\x09\\x0a");
  CHECK_STR(shown("a\r\nb\rc\n", 7, true), "a\nb\\x0dc\n");
  CHECK_STR(shown("\r\n\r", 3, true), "\n\\x0d");
  CHECK_STR(shown("a\0b", 3, false), "a\\x00b");
  CHECK_STR(shown("", 0, true), "");
}

static struct kr_case_model *model(double fp32, double dram, enum kr_term bound)
{
  struct kr_case_model *m = kr_xcalloc(1, sizeof *m);
  m->modelled = (struct kr_modelled){.us = fp32 + dram, .bound = bound, .occupancy = 0.5, .waves = 3, .dram_bytes = 5e6};
  m->modelled.term_us[KR_TERM_FP32] = fp32;
  m->modelled.term_us[KR_TERM_DRAM] = dram;
  m->counters.dynamic_shared_bytes = 2048;
  return m;
}

static void turn(struct refine_turn *t, unsigned trajectory, unsigned number, size_t parent, double speedup)
{
  *t = (struct refine_turn){.trajectory = trajectory, .turn = number, .parent = parent, .same_as = SIZE_MAX};
  kr_verdict_init(&t->verdict);
  t->variant.summary = (char *)HOSTILE;
  t->variant.candidate.code = (char *)HOSTILE "\n" HOSTILE;
  t->told = (char *)HOSTILE;
  t->verdict.log = (char *)HOSTILE "\n" HOSTILE;
  t->verdict.note = (char *)HOSTILE;
  t->verdict.stage = KR_STAGE_TIME;
  if (!(speedup > 0)) {
    t->verdict.status = KR_STATUS_WRONG;
    return;
  }
  t->verdict.speedup = speedup;
  t->verdict.lo = speedup * 0.9;
  t->verdict.hi = speedup * 1.1;
  t->verdict.modelled = true;
  strcpy(t->verdict.model_gpu, "<b>H200</b> sm_90");
  t->verdict.n_times = 2;
  t->verdict.times = kr_xcalloc(2, sizeof *t->verdict.times);
  for (int i = 0; i < 2; i++)
    t->verdict.times[i] = (struct kr_case_time){.label = (char *)HOSTILE, .base_us = 100, .cand_us = 100 / speedup,
                                                .base_bound = "fp32", .cand_bound = "DRAM",
                                                .base_model = model(80, 20, KR_TERM_FP32), .cand_model = model(5, 20, KR_TERM_DRAM)};
  t->verdict.base_resources = (struct kr_resources){40, 1024, 16, 0, 1024, 0.5};
  t->verdict.resources = (struct kr_resources){32, 4096, 0, -1, 1024, 0.75};
}
// A way from the root: the fourth turn goes on from another trajectory's.
// CHECK: | 2.2 / after 1.1 | time | wrong
// CHECK: Original and best variant
// CHECK-NEXT: Turn 2.1, which was not taken.
// CHECK: | Registers a thread | 40 | 32
// CHECK-NEXT: | Static shared memory a block, bytes | 1024 | 4096
// CHECK-NEXT: | Dynamic shared memory a block, bytes | 2048 | 2048
// CHECK-NEXT: | Local memory a thread (spills), bytes | 16 | 0
// CHECK-NEXT: | Constant memory, bytes | 0 | not known
// CHECK-NEXT: | Occupancy (modelled) | 50 % | 50 %
// CHECK: | Bound by (modelled), {{.*}} | fp32 | DRAM
// CHECK: What bounds it, <script>
// CHECK-NEXT: | | original | best variant
// CHECK-NEXT: | fp32 | 80.00 (bound) | 5.00
// CHECK-NEXT: | DRAM | 20.00 | 20.00 (bound)
// CHECK-NEXT: | DRAM bytes, millions | 5.0 | 5.0
// CHECK-NEXT: | Waves of blocks | 3.00 | 3.00
// CHECK-NEXT: the other cases
// CHECK: chart: Best modelled speed-up over 2 turns of 2 trajectories: 40.00x; dots 0.50 40.00 2.00

static void test_page(const char *path)
{
  struct input in = {.src = {.path = (char *)HOSTILE ".cu"}};
  struct kr_pkernel kernel = {.qualified = (char *)HOSTILE, .signature = (char *)HOSTILE, .line = 7};
  struct task task = {.in = &in, .kernel = &kernel, .ok = true}, none = {.in = &in};
  struct refine_turn turns[4];
  struct outcome outs[3];
  struct kr_err err = {""};
  turn(&turns[0], 1, 1, SIZE_MAX, 0.5);
  turn(&turns[1], 2, 1, SIZE_MAX, 40);
  turn(&turns[2], 1, 2, 0, 2);
  turn(&turns[3], 2, 2, 0, 0);
  outcome_init(&outs[0], &task);
  outs[0].state = OUTCOME_KEPT;
  outs[0].why = kr_xstrdup(HOSTILE);
  outs[0].have_refined = true;
  outs[0].refined.turns = turns;
  outs[0].refined.n = 4;
  outs[0].refined.end = REFINE_MODEL;
  outs[0].refined.why = (char *)HOSTILE;
  outs[0].backend = "cpu";
  outs[0].model = HOSTILE;
  strcpy(outs[0].device.name, "<i>cpu</i>");
  for (int i = 1; i < 3; i++) {
    outcome_init(&outs[i], i == 1 ? &task : &none);
    outcome_fail(&outs[i], i == 1 ? OUTCOME_FAILED : OUTCOME_REFUSED, HOSTILE);
  }
  struct report r = {.outcomes = outs, .n = 3, .interrupted = true, .n_unread = 2, .spent = "4 calls"};
  CHECK(!report_check(path, &err));
  CHECK(!report_write(&r, path, &err));
  CHECK_STR(err.text, "");
  // Equal results give equal bytes: no clock, no number of a process.
  struct kr_bytes a, b;
  kr_bytes_init(&a, 1 << 24);
  kr_bytes_init(&b, 1 << 24);
  report_html(&r, &a);
  report_html(&r, &b);
  CHECK(a.len && a.len == b.len && !memcmp(a.data, b.data, a.len));
  kr_bytes_release(&a);
  kr_bytes_release(&b);
  for (int i = 0; i < 3; i++)
    free(outs[i].why);
  for (int i = 0; i < 4; i++) {
    for (size_t k = 0; k < turns[i].verdict.n_times; k++) {
      free(turns[i].verdict.times[k].base_model);
      free(turns[i].verdict.times[k].cand_model);
    }
    free(turns[i].verdict.times);
  }
}

int main(int argc, char **argv)
{
  CHECK_INT(argc, 2);
  test_text();
  if (argc > 1)
    test_page(argv[1]);
  return unit_end();
}
