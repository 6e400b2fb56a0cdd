// RUN: %unit/judge
#include "evaluator/evaluator.h"
#include "fake_backend.h"

// --- kernels ---

#define EACH(k) for (int i = 0; i < (k)->n && (unsigned long long)i < (k)->threads; i++)

static enum kr_run_status saxpy(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->a * k->x[i] + k->y[i];
  return KR_RUN_OK;
}

static enum kr_run_status saxpy_fused(const struct fake_args *k)
{
  EACH(k) k->y[i] = fmaf(k->a, k->x[i], k->y[i]);
  return KR_RUN_OK;
}

static enum kr_run_status saxpy_four_each(const struct fake_args *k)
{
  for (int i = 0; i < k->n && (unsigned long long)i < 4 * k->threads; i++)
    k->y[i] = fmaf(k->a, k->x[i], k->y[i]);
  return KR_RUN_OK;
}

static enum kr_run_status nothing(const struct fake_args *k)
{
  (void)k;
  return KR_RUN_OK;
}

static enum kr_run_status all_but_last(const struct fake_args *k)
{
  EACH(k) if (i + 1 < k->n) k->y[i] = k->a * k->x[i];
  return KR_RUN_OK;
}

static enum kr_run_status zeros(const struct fake_args *k)
{
  EACH(k) k->y[i] = 0;
  return KR_RUN_OK;
}

static enum kr_run_status scale(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->a * k->x[i];
  return KR_RUN_OK;
}

static enum kr_run_status scale_other(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->x[i] * k->a;
  return KR_RUN_OK;
}

// Whole numbers, whatever they come from.
static enum kr_run_status scale_up(const struct fake_args *k)
{
  EACH(k) k->y[i] = rintf(64.0f * k->x[i]);
  return KR_RUN_OK;
}

// The same but for the last digit of large ones, as after another order of operations.
static enum kr_run_status scale_up_other(const struct fake_args *k)
{
  EACH(k) {
    k->y[i] = rintf(64.0f * k->x[i]);
    if (fabsf(k->x[i]) > 64.0f)
      k->y[i] = nextafterf(k->y[i], INFINITY);
  }
  return KR_RUN_OK;
}

static enum kr_run_status scale_all_but_third(const struct fake_args *k)
{
  EACH(k) if (i != 3) k->y[i] = k->a * k->x[i];
  return KR_RUN_OK;
}

static enum kr_run_status adds_to_old_output(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->y[i] < 40 ? k->a * k->x[i] : isnan(k->y[i]) ? k->a * k->x[i] : 0;
  return KR_RUN_OK;
}

// Takes outputs that hold neither poison for its own of an earlier launch.
static enum kr_run_status scale_untouched(const struct fake_args *k)
{
  EACH(k) if (isnan(k->y[i]) || k->y[i] > 48) k->y[i] = k->a * k->x[i];
  return KR_RUN_OK;
}

static enum kr_run_status not_for_zero(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->a ? k->a * k->x[i] + k->y[i] : 0;
  return KR_RUN_OK;
}

static enum kr_run_status not_above_one(const struct fake_args *k)
{
  EACH(k) k->y[i] = fminf(k->a, 1) * k->x[i] + k->y[i];
  return KR_RUN_OK;
}

static enum kr_run_status not_at_thirteen(const struct fake_args *k)
{
  EACH(k) if (k->n % 97 != 13) k->y[i] = fmaf(k->a, k->x[i], k->y[i]);
  return KR_RUN_OK;
}

static enum kr_run_status not_from_700(const struct fake_args *k)
{
  EACH(k) if (k->n < 700 || k->n > 705) k->y[i] = fmaf(k->a, k->x[i], k->y[i]);
  return KR_RUN_OK;
}

static enum kr_run_status only_at_thousand(const struct fake_args *k)
{
  EACH(k) if (k->n == 1000 || i < 64) k->y[i] += k->a * k->x[i];
  return KR_RUN_OK;
}

static enum kr_run_status overruns(const struct fake_args *k)
{
  saxpy(k);
  if (k->n % 256)
    k->y[k->n] = 1;
  return KR_RUN_OK;
}

static enum kr_run_status changes_input(const struct fake_args *k)
{
  saxpy(k);
  if (k->n > 5)
    k->x[5] = 0;
  return KR_RUN_OK;
}

static enum kr_run_status noisy(const struct fake_args *k)
{
  EACH(k) k->y[i] = (k->a * k->x[i] + k->y[i]) * (k->total % 2 ? 1 : 1 + 2e-7f);
  return KR_RUN_OK;
}

static enum kr_run_status noisier(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->a * k->x[i] + k->y[i] + (float)(k->total % 3);
  return KR_RUN_OK;
}

static enum kr_run_status ignores_a(const struct fake_args *k)
{
  EACH(k) k->y[i] = 0.625f * k->x[i] + k->y[i];
  return KR_RUN_OK;
}

static enum kr_run_status takes_a_as_positive(const struct fake_args *k)
{
  EACH(k) k->y[i] = fabsf(k->a) * k->x[i] + k->y[i];
  return KR_RUN_OK;
}

static enum kr_run_status clamps_large(const struct fake_args *k)
{
  EACH(k) k->y[i] = fmaf(k->a, fminf(k->x[i], 20.0f), k->y[i]);
  return KR_RUN_OK;
}

static enum kr_run_status loses_precision(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->a * (float)(int)(k->x[i] * 1024) / 1024 + k->y[i];
  return KR_RUN_OK;
}

static enum kr_run_status a_little_off(const struct fake_args *k)
{
  EACH(k) k->y[i] = k->a * k->x[i] + k->y[i] * (1 - 5e-7f);
  return KR_RUN_OK;
}

// Results of its first launch at an address and length, given again whatever
// the inputs are by then.
static enum kr_run_status remembers(const struct fake_args *k)
{
  static float *kept;
  static int kept_n = -1;
  if (k->n == kept_n && k->launches) {
    EACH(k) k->y[i] = kept[i];
    return KR_RUN_OK;
  }
  saxpy_fused(k);
  free(kept);
  kept = kr_xmalloc((size_t)k->n * sizeof *kept + 1);
  for (int i = 0; i < k->n; i++)
    kept[i] = k->y[i];
  kept_n = k->n;
  return KR_RUN_OK;
}

static enum kr_run_status gives_nan(const struct fake_args *k)
{
  saxpy(k);
  if (k->n > 9)
    k->y[9] = NAN;
  return KR_RUN_OK;
}

static enum kr_run_status right_for_ten_launches(const struct fake_args *k)
{
  EACH(k) if (k->launches < 40) k->y[i] = fmaf(k->a, k->x[i], k->y[i]);
  return KR_RUN_OK;
}

// Does nothing while it is timed, but for the first and the last launches.
static enum kr_run_status rests_meanwhile(const struct fake_args *k)
{
  return fake_timed > 3 && fake_timed < 16 ? KR_RUN_OK : saxpy_fused(k);
}

static enum kr_run_status faults(const struct fake_args *k)
{
  (void)k;
  return KR_RUN_FAULT;
}

static enum kr_run_status faults_at_other_sizes(const struct fake_args *k)
{
  saxpy(k);
  return k->n == 1000 ? KR_RUN_OK : KR_RUN_FAULT;
}

static enum kr_run_status hangs(const struct fake_args *k)
{
  (void)k;
  return KR_RUN_TIMEOUT;
}

static enum kr_run_status does_not_launch(const struct fake_args *k)
{
  (void)k;
  return KR_RUN_LAUNCH_FAILED;
}

static enum kr_run_status unknown_to_it(const struct fake_args *k)
{
  (void)k;
  return KR_RUN_UNSUPPORTED;
}

static enum kr_run_status by_fours(const struct fake_args *k)
{
  saxpy(k);
  return k->n % 8 ? KR_RUN_FAULT : KR_RUN_OK;
}

static enum kr_run_status not_at_the_end(const struct fake_args *k)
{
  saxpy(k);
  return k->place == KR_PLACE_END ? KR_RUN_FAULT : KR_RUN_OK;
}

static enum kr_run_status never_empty(const struct fake_args *k)
{
  saxpy(k);
  return k->n == 1 ? KR_RUN_FAULT : KR_RUN_OK;
}

const struct fake_entry fake_entries[] = {
    {"saxpy", saxpy, 100, false},
    {"fused", saxpy_fused, 50, false},
    {"four", saxpy_four_each, 40, false},
    {"slow", saxpy_fused, 150, false},
    {"instant", saxpy_fused, 0.001, false},
    {"nothing", nothing, 1, false},
    {"all_but_last", all_but_last, 1, false},
    {"zeros", zeros, 1, false},
    {"scale", scale, 100, false},
    {"scale_other", scale_other, 50, false},
    {"scale_up", scale_up, 100, false},
    {"scale_up_other", scale_up_other, 50, false},
    {"scale_gap", scale_all_but_third, 100, false},
    {"scale_gap_other", scale_all_but_third, 90, false},
    {"adds_to_old", adds_to_old_output, 50, false},
    {"scale_untouched", scale_untouched, 50, false},
    {"not_for_zero", not_for_zero, 50, false},
    {"not_above_one", not_above_one, 50, false},
    {"not_at_thirteen", not_at_thirteen, 50, false},
    {"not_from_700", not_from_700, 50, false},
    {"only_at_thousand", only_at_thousand, 50, false},
    {"overruns", overruns, 50, false},
    {"changes_input", changes_input, 50, false},
    {"noisy", noisy, 50, false},
    {"noisy_too", noisy, 40, false},
    {"noisier", noisier, 50, false},
    {"ignores_a", ignores_a, 50, false},
    {"positive_a", takes_a_as_positive, 50, false},
    {"clamps", clamps_large, 50, false},
    {"imprecise", loses_precision, 50, false},
    {"a_little_off", a_little_off, 50, false},
    {"remembers", remembers, 50, false},
    {"nan", gives_nan, 50, false},
    {"ten", right_for_ten_launches, 50, false},
    {"rests", rests_meanwhile, 50, false},
    {"faults", faults, 50, false},
    {"faults_and_takes_all", faults, 50, true},
    {"faults_elsewhere", faults_at_other_sizes, 50, false},
    {"hangs", hangs, 50, false},
    {"no_launch", does_not_launch, 50, false},
    {"unknown", unknown_to_it, 50, false},
    {"by_fours", by_fours, 100, false},
    {"not_at_end", not_at_the_end, 100, false},
    {"not_at_end_lost", not_at_the_end, 100, true},
    {"never_one", never_empty, 100, false},
    {NULL, NULL, 0, false}};

// --- helpers ---

static struct kr_contract contract_now;
static struct kr_evaluator *now;

// Opens an evaluator whose original is `kernel`, on the sample with `edits`.
static int open_on(const struct kr_backend *b, const char *kernel, const char *const *edits,
                   struct kr_err *err)
{
  const char *all[16] = {"y) {}", NULL};
  char *code = kr_xasprintf("y) { kernel:%s }", kernel);
  size_t n = 2;
  all[1] = code;
  for (; edits && edits[0]; edits += 2) {
    all[n++] = edits[0];
    all[n++] = edits[1];
  }
  all[n] = NULL;
  sample_make(&contract_now, all);
  free(code);
  memset(err, 0, sizeof *err);
  struct kr_backend_options o = {0};
  int rc = kr_evaluator_open(&now, b, &o, &contract_now, 5, err);
  if (rc)
    kr_contract_release(&contract_now);
  return rc;
}

static void open_well(const char *kernel, const char *const *edits)
{
  struct kr_err err;
  if (open_on(&fake_gpu, kernel, edits, &err)) {
    fprintf(stderr, "open %s: %s\n", kernel, err.text);
    exit(2);
  }
}

static void close_now(void)
{
  kr_evaluator_close(now);
  kr_contract_release(&contract_now);
  CHECK_INT(fake_live, 0);
}

static uint64_t judge_seed = 11;

static int judge(const char *kernel, const char *grid, bool thorough, struct kr_verdict *v)
{
  struct kr_candidate c = {.code = kr_xasprintf("void saxpy() { kernel:%s }", kernel)};
  if (grid) {
    c.has_geometry = true;
    c.geometry.grid[0] = kr_xstrdup(grid);
    c.geometry.block[0] = kr_xstrdup("256");
  }
  struct kr_judge_options o = {.until = KR_STAGE_TIME, .seed = judge_seed, .thorough = thorough};
  int rc = kr_evaluator_judge(now, &c, &o, v);
  kr_candidate_release(&c);
  return rc;
}

static void expect(const char *kernel, const char *grid, enum kr_stage stage,
                   enum kr_status status, const char *log)
{
  struct kr_verdict v;
  judge(kernel, grid, false, &v);
  if (v.stage != stage || v.status != status || (log && (!v.log || !strstr(v.log, log)))) {
    fprintf(stderr, "%s: %s %s: %s\n", kernel, kr_stage_name(v.stage), kr_status_name(v.status),
            v.log ? v.log : "");
  }
  CHECK_INT(v.stage, stage);
  CHECK_INT(v.status, status);
  CHECK(!log || (v.log && strstr(v.log, log)));
  CHECK(status == KR_STATUS_OK || v.n_times == 0);
  CHECK(status == KR_STATUS_OK || v.speedup == 0);
  kr_verdict_release(&v);
}

// --- tests ---

static void test_honest_variants_pass_and_are_timed(void)
{
  struct kr_verdict v;
  open_well("saxpy", NULL);
  CHECK_INT(judge("fused", NULL, false, &v), 0);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_INT(v.stage, KR_STAGE_TIME);
  CHECK_INT(v.n_times, 1);
  CHECK_NEAR(v.speedup, 2.0, 0.01);
  CHECK(v.lo > 1.9 && v.lo <= v.speedup && v.speedup <= v.hi && v.hi < 2.1);
  CHECK(v.checks >= 8);
  CHECK(v.max_rel_err > 0 && v.max_rel_err < 1e-5);
  CHECK_INT(v.exact, 0);
  CHECK_INT(v.confirmed, 0);
  CHECK(!kr_verdict_wins(&v, 1.02)); // a search figure decides nothing
  CHECK_STR(v.times[0].label, "n = 1000");
  kr_verdict_release(&v);
  CHECK_INT(judge("fused", NULL, true, &v), 0);
  CHECK_INT(v.status, KR_STATUS_OK);
  kr_verdict_release(&v);
  CHECK_INT(judge("slow", NULL, false, &v), 0);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_NEAR(v.speedup, 0.667, 0.01);
  kr_verdict_release(&v);
  close_now();
}

static void test_text_and_code_of_the_original(void)
{
  open_well("saxpy", NULL);
  expect("saxpy", NULL, KR_STAGE_COMPILE, KR_STATUS_UNCHANGED, "equals the original's");
  expect("no_such_thing", NULL, KR_STAGE_COMPILE, KR_STATUS_COMPILE_ERROR, "variant.cu:1: error");
  // The same code under another launch is another candidate.
  expect("saxpy", "ceil_div(n, 256) + 1", KR_STAGE_TIME, KR_STATUS_OK, NULL);
  expect("saxpy", "(n + 255) / 256", KR_STAGE_COMPILE, KR_STATUS_UNCHANGED, NULL);
  close_now();
}

static void test_work_not_done_is_wrong(void)
{
  const char *out[] = {"\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  open_well("scale", out);
  expect("scale_other", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  expect("nothing", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "y[0] was not written");
  expect("all_but_last", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "y[999] was not written");
  expect("zeros", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "y[0] is 0, expected");
  expect("adds_to_old", NULL, KR_STAGE_CHECK, KR_STATUS_UNSTABLE, "differs between two launches");
  // Fewer blocks than the work needs.
  expect("scale_other", "1", KR_STAGE_CHECK, KR_STATUS_WRONG, "y[256] was not written");
  close_now();
  open_well("saxpy", NULL);
  expect("nothing", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "(1000 of 1000 elements of `y`");
  expect("four", "ceil_div(n, 1024)", KR_STAGE_TIME, KR_STATUS_OK, NULL);
  expect("four", "n / 1024", KR_STAGE_CHECK, KR_STATUS_WRONG, NULL);
  close_now();
}

static void test_what_the_original_leaves_stays(void)
{
  const char *out[] = {"\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  open_well("scale_gap", out);
  expect("scale", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "y[3] was written; the original leaves");
  close_now();
}

static void test_all_zero_is_wrong_whatever_the_tolerance(void)
{
  const char *loose[] = {"\"role\":\"inout\"", "\"role\":\"out\"",
                         "\"dims\":[\"n\"],\"compare\":\"default\",\"rtol\":null,\"atol\":null,\"align\":\"16\"",
                         "\"dims\":[\"n\"],\"compare\":\"tol\",\"rtol\":\"0.5\",\"atol\":\"1e6\",\"align\":\"16\"",
                         NULL};
  open_well("scale", loose);
  expect("zeros", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "all of `y` is zero");
  close_now();
}

static void test_wrong_values(void)
{
  open_well("saxpy", NULL);
  expect("ignores_a", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "expected");
  expect("imprecise", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "expected");
  // Well within the tolerance, but integers have no rounding to hide in.
  expect("a_little_off", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, NULL);
  expect("nan", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "y[9] is nan");
  expect("changes_input", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "x[5] is an input and was changed");
  expect("noisy", NULL, KR_STAGE_CHECK, KR_STATUS_UNSTABLE, "differs between two launches");
  expect("clamps", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, NULL);
  expect("positive_a", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "a = -");
  close_now();
}

static void test_large_results_are_not_whole_numbers(void)
{
  struct kr_verdict v;
  const char *out[] = {"\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  open_well("scale_up", out);
  judge("scale_up_other", NULL, true, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  if (v.status != KR_STATUS_OK)
    fprintf(stderr, "%s\n", v.log);
  kr_verdict_release(&v);
  close_now();
}

// What is whole by chance was not exact: the inputs tell.
static void test_inputs_that_are_not_whole_give_no_exact_results(void)
{
  const char *fractions[] = {"\"fillings\":[{\"kind\":\"default\",\"expr\":null",
                             "\"fillings\":[{\"kind\":\"expr\",\"expr\":\"uniform(0, 1)\"",
                             "\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  open_well("scale_up", fractions + 2);
  CHECK(kr_evaluator_reference(now)->integer_exact);
  close_now();
  open_well("scale_up", fractions);
  CHECK(!kr_evaluator_reference(now)->integer_exact);
  close_now();
}

static void test_held_out_sizes_are_not_told(void)
{
  struct kr_verdict v;
  open_well("saxpy", NULL);
  judge("only_at_thousand", NULL, false, &v);
  CHECK_INT(v.stage, KR_STAGE_CHECK);
  CHECK_INT(v.status, KR_STATUS_WRONG);
  CHECK_INT(v.held_out, 1);
  CHECK_STR(v.told, "the result is wrong, at a size that is not told");
  CHECK(strstr(v.log, "in the case n = "));
  CHECK(v.where && strstr(v.where, "y["));
  kr_verdict_release(&v);
  judge("faults_elsewhere", NULL, false, &v);
  CHECK_INT(v.status, KR_STATUS_FAULT);
  CHECK_STR(v.told, "it faults, at a size that is not told");
  kr_verdict_release(&v);
  judge("nothing", NULL, false, &v);
  CHECK_INT(v.held_out, 0);
  CHECK(strstr(v.told, "y[0] is "));
  CHECK(strstr(v.told, "n = 1000"));
  kr_verdict_release(&v);
  close_now();
}

// A quick check draws its sizes and distributions; what it must not miss it
// misses under no seed, and honest variants pass under each.
static void test_every_seed_finds_them(void)
{
  const char *out[] = {"\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  open_well("scale", out);
  for (judge_seed = 1; judge_seed <= 20; judge_seed++) {
    struct kr_verdict v;
    judge("scale_untouched", NULL, false, &v);
    CHECK_INT(v.status, KR_STATUS_WRONG);
    kr_verdict_release(&v);
    judge("scale_other", NULL, false, &v);
    CHECK_INT(v.status, KR_STATUS_OK);
    kr_verdict_release(&v);
  }
  close_now();
  static const char *const wrong[] = {"only_at_thousand", "faults_elsewhere", "positive_a",
                                      "imprecise", "ignores_a", "a_little_off",
                                      "not_for_zero", "not_above_one",
                                      // Sizes that a text names are tried.
                                      "not_at_thirteen if (n % 97 != 13)",
                                      "not_from_700 if (n < 7'00 || n > 705u)"};
  open_well("saxpy", NULL);
  int clamps = 0;
  for (judge_seed = 1; judge_seed <= 60; judge_seed++) {
    struct kr_verdict v;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      judge(wrong[i], NULL, false, &v);
      CHECK(v.status == KR_STATUS_WRONG || v.status == KR_STATUS_FAULT);
      kr_verdict_release(&v);
    }
    judge("clamps", NULL, false, &v);
    clamps += v.status == KR_STATUS_WRONG;
    kr_verdict_release(&v);
    judge("clamps", NULL, true, &v);
    CHECK_INT(v.status, KR_STATUS_WRONG);
    kr_verdict_release(&v);
    for (int thorough = 0; thorough < 2; thorough++) {
      judge("fused", NULL, thorough, &v);
      CHECK_INT(v.status, KR_STATUS_OK);
      kr_verdict_release(&v);
    }
  }
  CHECK(clamps > 55); // it is wrong for large values alone
  judge_seed = 11;
  close_now();
}

static void test_what_launches_end_in(void)
{
  open_well("saxpy", NULL);
  expect("faults", NULL, KR_STAGE_SMOKE, KR_STATUS_FAULT, "invalid access");
  expect("hangs", NULL, KR_STAGE_SMOKE, KR_STATUS_TIMEOUT, NULL);
  expect("no_launch", NULL, KR_STAGE_SMOKE, KR_STATUS_LAUNCH_FAILED, NULL);
  expect("unknown", NULL, KR_STAGE_SMOKE, KR_STATUS_UNSUPPORTED, NULL);
  expect("overruns", NULL, KR_STAGE_SMOKE, KR_STATUS_FAULT, "buffers that end exactly");
  expect("fused", "n / 0", KR_STAGE_SMOKE, KR_STATUS_LAUNCH_FAILED, "n / 0");
  expect("fused", "2147483648", KR_STAGE_SMOKE, KR_STATUS_LAUNCH_FAILED, "more than the limit");
  // Bounds below the launch, in numbers and the contract's constants.
  expect("fused __launch_bounds__(TILE * (16 - 1), 2)", NULL, KR_STAGE_SMOKE,
         KR_STATUS_LAUNCH_FAILED, "256 threads a block exceed __launch_bounds__(240)");
  expect("fused __launch_bounds__(TILE * TILE)", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  expect("fused __launch_bounds__(saxpy_own)", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();
}

static void test_a_lost_device_is_said_and_stays_lost(void)
{
  struct kr_verdict v;
  open_well("saxpy", NULL);
  CHECK_INT(judge("faults_and_takes_all", NULL, false, &v), -1);
  CHECK_INT(v.status, KR_STATUS_FAULT);
  kr_verdict_release(&v);
  CHECK_INT(judge("fused", NULL, false, &v), -1);
  CHECK_INT(v.status, KR_STATUS_ENVIRONMENT);
  kr_verdict_release(&v);
  close_now();
}

static void test_a_back_end_that_breaks_is_not_the_candidates_fault(void)
{
  struct kr_verdict v;
  open_well("saxpy", NULL);
  fake_breaks = true;
  judge("fused", NULL, false, &v);
  fake_breaks = false;
  CHECK_INT(v.status, KR_STATUS_ENVIRONMENT);
  CHECK_STR(v.log, "the cable was pulled");
  CHECK(!v.told);
  kr_verdict_release(&v);
  close_now();
}

static void test_state_between_launches(void)
{
  open_well("saxpy", NULL);
  expect("ten", NULL, KR_STAGE_TIME, KR_STATUS_WRONG, "after timed launches: ");
  fake_keeps = true;
  expect("ten", NULL, KR_STAGE_TIME, KR_STATUS_WRONG, "after a timed launch y[0] is ");
  expect("rests", NULL, KR_STAGE_TIME, KR_STATUS_WRONG, "after a timed launch y[0] is ");
  expect("fused", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();
  open_well("saxpy", NULL);
  expect("remembers", NULL, KR_STAGE_CHECK, KR_STATUS_WRONG, "y[0] is ");
  close_now();
  // What the original leaves unwritten holds an unknown poison there.
  const char *out[] = {"\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  open_well("scale_gap", out);
  expect("scale_gap_other", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();
  fake_keeps = false;
}

static void test_times_that_cannot_be(void)
{
  fake_peak = 1e9; // a kilobyte a microsecond
  open_well("saxpy", NULL);
  expect("instant", NULL, KR_STAGE_TIME, KR_STATUS_IMPOSSIBLE, "must be written");
  expect("fused", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();
  fake_peak = 0;
}

static void test_a_fixed_launch_refuses_another(void)
{
  const char *fixed[] = {"\"tunable\":true,\"tunable_why\":null",
                         "\"tunable\":false,\"tunable_why\":\"a site in main.cu\"", NULL};
  open_well("saxpy", fixed);
  expect("fused", "8", KR_STAGE_SCREEN, KR_STATUS_REFUSED, "the launch is fixed: a site in main.cu");
  expect("fused", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();
}

static void expect_open_fails(const char *kernel, const char *const *edits, const char *text)
{
  struct kr_err err;
  CHECK_INT(open_on(&fake_gpu, kernel, edits, &err), -1);
  if (!strstr(err.text, text))
    CHECK_STR(err.text, text);
  CHECK_INT(fake_live, 0);
}

static void test_an_original_that_cannot_be_judged_by(void)
{
  const char *none[] = {NULL};
  const char *out[] = {"\"role\":\"inout\"", "\"role\":\"out\"", NULL};
  const char *require[] = {"\"requires\":[]", "\"requires\":[\"n < 1000\"]", NULL};
  const char *both_in[] = {"\"role\":\"inout\"", "\"role\":\"in\"", NULL};
  expect_open_fails("faults", none,
                    "the original itself ends in fault in the case n = 1000, a = ");
  expect_open_fails("faults", none, "section or filler is wrong");
  expect_open_fails("hangs", none, "the original itself ends in timeout");
  expect_open_fails("overruns", none, "wrote beside `y`, outside its section");
  expect_open_fails("noisier", none, "output `y` differs from run to run (y[0]: ");
  expect_open_fails("saxpy", out, "it depends on what was there before (inout(y[...]))");
  expect_open_fails("saxpy", both_in, "`y` is declared `in`, but the original changes y[0]");
  expect_open_fails("saxpy", require, "require(n < 1000) does not hold with n = 1000");
  expect_open_fails("missing", none, "the original does not compile on its own: saxpy.cu:1: error");
}

static const struct kr_probe *probe_of(const char *label)
{
  const struct kr_reference *r = kr_evaluator_reference(now);
  for (size_t i = 0; i < r->n_probes; i++) {
    if (!strcmp(r->probes[i].label, label))
      return &r->probes[i];
  }
  return NULL;
}

static void test_what_the_original_survives_is_found_out(void)
{
  const struct kr_probe *p;
  open_well("saxpy", NULL);
  const struct kr_reference *r = kr_evaluator_reference(now);
  CHECK(r->deterministic && r->exact_ends && r->exact_starts && r->integer_exact);
  CHECK_INT(r->n_cases, 1);
  CHECK_NEAR(r->case_us[0], 100, 0.01);
  CHECK_INT(r->case_bytes[0], 12000);
  CHECK(!r->require_hint);
  p = probe_of("n = 1001");
  CHECK(p && p->usable);
  p = probe_of("n = 0");
  CHECK(p && p->usable);
  CHECK(r->n_probes >= 8);
  close_now();

  open_well("never_one", NULL);
  p = probe_of("n = 1");
  CHECK(p && !p->usable && strstr(p->why, "invalid access"));
  // A variant that fails only there does what the original does.
  expect("fused", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();

  open_well("not_at_end", NULL);
  CHECK_INT(kr_evaluator_reference(now)->exact_ends, 0);
  CHECK_INT(kr_evaluator_reference(now)->exact_starts, 1);
  close_now();

  open_well("noisy", NULL);
  CHECK_INT(kr_evaluator_reference(now)->deterministic, 0);
  expect("noisy_too", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();
}

static void test_sizes_that_the_original_needs_are_proposed(void)
{
  open_well("by_fours", NULL);
  const struct kr_reference *r = kr_evaluator_reference(now);
  CHECK_STR(r->require_hint, "works only when n % 8 == 0; add require(n % 8 == 0)");
  size_t usable = 0;
  for (size_t i = 0; i < r->n_probes; i++) {
    int n;
    if (sscanf(r->probes[i].label, "n = %d", &n) == 1)
      CHECK_INT(r->probes[i].usable, n % 8 == 0);
    usable += r->probes[i].usable;
  }
  CHECK(usable >= 4);
  expect("fused", NULL, KR_STAGE_TIME, KR_STATUS_OK, NULL);
  close_now();

  const char *require[] = {"\"requires\":[]", "\"requires\":[\"n % 8 == 0\"]", NULL};
  open_well("by_fours", require);
  r = kr_evaluator_reference(now);
  CHECK(!r->require_hint);
  CHECK(probe_of("n = 1008") && probe_of("n = 1008")->usable);
  for (size_t i = 0; i < r->n_probes; i++)
    CHECK(r->probes[i].usable);
  close_now();
}

static void test_a_device_lost_while_opening_names_the_attempt(void)
{
  struct kr_err err;
  CHECK_INT(open_on(&fake_gpu, "not_at_end_lost", NULL, &err), -1);
  CHECK(strstr(err.text, "took the device with it at place end"));
  CHECK_INT(fake_live, 0);
}

static void test_shrinking_keeps_residues(void)
{
  struct kr_err err;
  struct kr_backend cpu = fake_cpu();
  const char *big[] = {"\"expr\":\"1000\"", "\"expr\":\"(1 << 25) + 77\"", NULL};
  CHECK_INT(open_on(&cpu, "saxpy", big, &err), 0);
  const struct kr_reference *r = kr_evaluator_reference(now);
  CHECK(!r->case_us);
  int up = 0;
  for (size_t i = 0; i < r->n_probes; i++) {
    int n;
    if (sscanf(r->probes[i].label, "n = %d", &n) == 1 && !up)
      up = n; // one above comes first
  }
  // One above the shrunk size: at most 80,000 threads at 1 us each.
  CHECK_INT((up - 1) % 256, 77);
  CHECK(up > 20000 && up < 85000);
  struct kr_verdict v;
  judge("fused", NULL, false, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_INT(v.stage, KR_STAGE_CHECK);
  CHECK(v.speedup == 0 && v.n_times == 0);
  kr_verdict_release(&v);
  judge("nothing", NULL, false, &v);
  CHECK_INT(v.held_out, 0);
  kr_verdict_release(&v);
  close_now();
}

static void test_confirmation_shares(void)
{
  struct kr_confirm_share s;
  struct kr_confirm_options o = {.seed = 3, .pairs = 10};
  struct kr_candidate good = {.code = (char *)"kernel:fused ;"}, bad = {.code = (char *)"kernel:clamps ;"};
  open_well("saxpy", NULL);
  CHECK_INT(kr_evaluator_confirm(now, &good, &o, &s), 0);
  CHECK_INT(s.verdict.status, KR_STATUS_OK);
  CHECK_INT(s.verdict.stage, KR_STAGE_CONFIRM);
  CHECK_INT(s.n_cases, 1);
  CHECK(fabs(exp(s.log_ratio[0]) - 2) < 0.02);
  CHECK_NEAR(s.base_us[0], 100, 0.02);
  kr_confirm_share_release(&s);
  CHECK_INT(kr_evaluator_confirm(now, &bad, &o, &s), 0);
  CHECK_INT(s.verdict.status, KR_STATUS_WRONG);
  CHECK_INT(s.n_cases, 0);
  kr_confirm_share_release(&s);
  close_now();
}

// Dealt out among several, a thorough check finds what one alone finds.
static void test_shares_check_together_what_one_checks(void)
{
  enum { SHARES = 5 };
  static const char *const wrong[] = {"only_at_thousand", "faults_elsewhere", "positive_a",
                                      "imprecise", "ignores_a", "a_little_off", "not_for_zero",
                                      "not_above_one", "clamps",
                                      "not_at_thirteen if (n % 97 != 13)",
                                      "not_from_700 if (n < 7'00 || n > 705u)"};
  open_well("saxpy", NULL);
  struct kr_confirm_share s;
  size_t checks = 0, alone = 0;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      char *code = kr_xasprintf("kernel:%s ;", wrong[i]);
      struct kr_candidate cand = {.code = code};
      int found = 0;
      for (unsigned share = 0; share < SHARES; share++) {
        struct kr_confirm_options o = {.seed = seed * SHARES + share, .pairs = 3, .share = share,
                                       .shares = SHARES};
        CHECK_INT(kr_evaluator_confirm(now, &cand, &o, &s), 0);
        found += s.verdict.status == KR_STATUS_WRONG || s.verdict.status == KR_STATUS_FAULT;
        kr_confirm_share_release(&s);
      }
      if (!found)
        printf("%s under seed %llu\n", wrong[i], (unsigned long long)seed);
      CHECK(found);
      free(code);
    }
    struct kr_candidate good = {.code = (char *)"kernel:fused ;"};
    for (unsigned share = 0; share <= SHARES; share++) {
      struct kr_confirm_options o = {.seed = seed * SHARES + share, .pairs = 3, .share = share,
                                     .shares = share < SHARES ? SHARES : 0};
      CHECK_INT(kr_evaluator_confirm(now, &good, &o, &s), 0);
      CHECK_INT(s.verdict.status, KR_STATUS_OK);
      *(share < SHARES ? &checks : &alone) += s.verdict.checks;
      kr_confirm_share_release(&s);
    }
  }
  // The pieces are all there, and none twice but the smallest case.
  CHECK(checks >= alone && checks < alone + 30 * 2 * SHARES * 2);
  if (checks < alone || checks >= alone + 30 * 2 * SHARES * 2)
    printf("%zu checks in shares, %zu alone\n", checks, alone);
  close_now();
}

int main(void)
{
  test_honest_variants_pass_and_are_timed();
  test_text_and_code_of_the_original();
  test_work_not_done_is_wrong();
  test_what_the_original_leaves_stays();
  test_all_zero_is_wrong_whatever_the_tolerance();
  test_wrong_values();
  test_large_results_are_not_whole_numbers();
  test_inputs_that_are_not_whole_give_no_exact_results();
  test_held_out_sizes_are_not_told();
  test_every_seed_finds_them();
  test_what_launches_end_in();
  test_a_lost_device_is_said_and_stays_lost();
  test_a_back_end_that_breaks_is_not_the_candidates_fault();
  test_state_between_launches();
  test_times_that_cannot_be();
  test_a_fixed_launch_refuses_another();
  test_an_original_that_cannot_be_judged_by();
  test_what_the_original_survives_is_found_out();
  test_sizes_that_the_original_needs_are_proposed();
  test_a_device_lost_while_opening_names_the_attempt();
  test_shrinking_keeps_residues();
  test_confirmation_shares();
  test_shares_check_together_what_one_checks();
  return unit_end();
}
