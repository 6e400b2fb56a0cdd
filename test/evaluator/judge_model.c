// RUN: %unit/judge_model
#include "evaluator/evaluator.h"
#include "fake_backend.h"

// Modelled times over a back end that counts: what is counted when, what of it
// reaches reference and verdict, and what becomes of launches that end badly.

#define EACH(k) for (int i = 0; i < (k)->n && (unsigned long long)i < (k)->threads; i++)

enum { DECLARED = 4 << 20 }; // far above what a shrunk case runs at

static enum kr_run_status saxpy(const struct fake_args *k)
{
  EACH(k) k->y[i] = fmaf(k->a, k->x[i], k->y[i]);
  return KR_RUN_OK;
}

static enum kr_run_status when_declared(const struct fake_args *k, enum kr_run_status then)
{
  saxpy(k);
  return k->n == DECLARED ? then : KR_RUN_OK;
}

static enum kr_run_status faults_when_declared(const struct fake_args *k)
{
  return when_declared(k, KR_RUN_FAULT);
}

static enum kr_run_status too_slow_to_count(const struct fake_args *k)
{
  return when_declared(k, KR_RUN_TIMEOUT);
}

static enum kr_run_status zeros(const struct fake_args *k)
{
  EACH(k) k->y[i] = 0;
  return KR_RUN_OK;
}

const struct fake_entry fake_entries[] = {
    {"heavy", saxpy, 32, false}, {"light", saxpy, 16, false}, {"same", saxpy, 32, false},
    {"heavier", saxpy, 64, false}, {"faults", faults_when_declared, 4, false},
    {"racy", saxpy, 16, false}, {"racy_original", saxpy, 32, false},
    {"endless", saxpy, 32, false},
    {"uncounted", too_slow_to_count, 4, false}, {"zeros", zeros, 1, false},
    {NULL, NULL, 0, false}};

static struct kr_contract contract_now;
static struct kr_evaluator *now;
static struct kr_backend counter;

static int open_on(const char *kernel, const char *gpu, struct kr_err *err)
{
  char *code = kr_xasprintf("y) { kernel:%s }", kernel);
  const char *edits[] = {"y) {}",  code, "n = 1000", "n = 4194304", "\"1000\"", "\"4194304\"", NULL};
  counter = fake_counter();
  sample_make(&contract_now, edits);
  free(code);
  memset(err, 0, sizeof *err);
  struct kr_backend_options o = {.gpu = gpu};
  int rc = kr_evaluator_open(&now, &counter, &o, &contract_now, 5, err);
  if (rc)
    kr_contract_release(&contract_now);
  return rc;
}

static void open_well(const char *kernel, const char *gpu)
{
  struct kr_err err;
  if (open_on(kernel, gpu, &err)) {
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

static bool thorough;

static void judge(const char *kernel, enum kr_stage until, const char *grid, struct kr_verdict *v)
{
  char *code = kr_xasprintf("kernel:%s ;", kernel);
  struct kr_candidate cand = {.code = code};
  if (grid) {
    cand.has_geometry = true;
    cand.geometry.grid[0] = (char *)grid;
    cand.geometry.block[0] = (char *)"256";
  }
  struct kr_judge_options o = {.until = until, .seed = 9, .thorough = thorough};
  CHECK_INT(kr_evaluator_judge(now, &cand, &o, v), 0);
  free(code);
}

static void test_the_original_is_counted_once_at_its_declared_size(void)
{
  struct kr_verdict v;
  fake_counts = 0;
  open_well("heavy", NULL);
  const struct kr_reference *ref = kr_evaluator_reference(now);
  CHECK_INT(fake_counts, 1);
  CHECK(ref->modelled && ref->model_validated);
  CHECK_STR(ref->model_gpu, "NVIDIA H200 sm_90");
  CHECK(ref->model_why == NULL);
  CHECK_INT(ref->case_model[0].counters.blocks, DECLARED / 256);
  CHECK(ref->case_us[0] > 0 && ref->case_us[0] == ref->case_model[0].modelled.us);
  judge("light", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(fake_counts, 2);
  kr_verdict_release(&v);
  judge("heavier", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(fake_counts, 3);
  kr_verdict_release(&v);
  close_now();
}

// On a GPU warps do not wait for each other as they do here.
static void test_a_finalist_that_races_is_turned_away(void)
{
  struct kr_verdict v;
  open_well("heavy", NULL);
  judge("racy", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK); // the search does not pay for it
  kr_verdict_release(&v);
  thorough = true;
  judge("racy", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_UNSTABLE);
  CHECK_INT(v.stage, KR_STAGE_TIME);
  CHECK(v.log && strstr(v.log, "a race at byte 0 of `y`, in the case n = 4194304"));
  CHECK_INT(v.n_times, 0);
  kr_verdict_release(&v);
  judge("light", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_INT(v.n_times, 1);
  kr_verdict_release(&v);
  close_now();
  open_well("racy_original", NULL);
  judge("racy", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK(v.note && strstr(v.note, "the original races as well"));
  kr_verdict_release(&v);
  close_now();
  open_well("endless", NULL); // could not be looked through, which is no excuse
  judge("racy", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_UNSTABLE);
  kr_verdict_release(&v);
  thorough = false;
  close_now();
}

static void test_a_verdict_says_that_it_is_modelled_and_why(void)
{
  struct kr_verdict v;
  open_well("heavy", NULL);
  judge("light", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_INT(v.stage, KR_STAGE_TIME);
  CHECK(v.modelled && v.model_validated && !v.confirmed);
  CHECK_STR(v.model_gpu, "NVIDIA H200 sm_90");
  CHECK_INT(v.n_times, 1);
  CHECK_INT(v.times[0].n, 0);
  CHECK_NEAR(v.times[0].ratio, v.times[0].base_us / v.times[0].cand_us, 1e-12);
  CHECK(v.speedup > 1.5 && v.speedup < 2.1); // half the traffic
  CHECK_NEAR(v.lo, v.speedup / kr_gpu_model_error(), 1e-12);
  CHECK_NEAR(v.hi, v.speedup * kr_gpu_model_error(), 1e-12);
  CHECK_STR(v.times[0].cand_bound, "DRAM");
  CHECK(v.times[0].base_model->counters.loads.sectors ==
        2 * v.times[0].cand_model->counters.loads.sectors);
  CHECK(kr_verdict_wins(&v, 1.02));
  CHECK(!kr_verdict_wins(&v, v.speedup)); // within what the model may be off
  kr_verdict_release(&v);
  judge("same", KR_STAGE_TIME, NULL, &v);
  CHECK_NEAR(v.speedup, 1, 1e-12);
  CHECK(!kr_verdict_wins(&v, 1.0));
  kr_verdict_release(&v);
  judge("heavier", KR_STAGE_TIME, NULL, &v);
  CHECK(v.speedup < 0.7 && v.modelled);
  CHECK(!kr_verdict_wins(&v, 1.02));
  kr_verdict_release(&v);
  // Another launch is counted as what it is.
  judge("light", KR_STAGE_TIME, "ceil_div(n, 512)", &v);
  CHECK_INT(v.status, KR_STATUS_WRONG); // half of the elements: checks come first
  CHECK(!v.modelled && v.n_times == 0);
  kr_verdict_release(&v);
  close_now();
}

static void test_until_check_counts_nothing(void)
{
  struct kr_verdict v;
  open_well("heavy", NULL);
  fake_counts = 0;
  judge("light", KR_STAGE_CHECK, NULL, &v);
  CHECK_INT(v.stage, KR_STAGE_CHECK);
  CHECK_INT(fake_counts, 0);
  CHECK(!v.modelled && v.speedup == 0);
  kr_verdict_release(&v);
  judge("zeros", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_WRONG);
  CHECK_INT(fake_counts, 0);
  kr_verdict_release(&v);
  close_now();
}

static void test_launches_that_end_badly_at_the_declared_size(void)
{
  struct kr_verdict v;
  open_well("heavy", NULL);
  judge("faults", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_FAULT);
  CHECK_INT(v.stage, KR_STAGE_TIME);
  CHECK(v.n_times == 0 && v.speedup == 0 && !v.modelled);
  CHECK(v.told && strstr(v.told, "invalid access"));
  kr_verdict_release(&v);
  // What takes too long to count is right all the same, and has no time.
  judge("uncounted", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK(v.n_times == 0 && v.speedup == 0 && !v.modelled);
  CHECK(v.note && strstr(v.note, "no modelled time"));
  CHECK(!kr_verdict_wins(&v, 1.0));
  kr_verdict_release(&v);
  close_now();
  // The same of the original: its candidates are checked, and told why they have none.
  open_well("uncounted", NULL);
  const struct kr_reference *ref = kr_evaluator_reference(now);
  CHECK(ref->modelled && ref->case_us[0] == 0);
  CHECK(ref->model_why && strstr(ref->model_why, "case n = 4194304 has no modelled time"));
  judge("light", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK(v.n_times == 0 && !v.modelled && v.note != NULL);
  kr_verdict_release(&v);
  close_now();
}

static void test_the_gpu_can_be_named(void)
{
  struct kr_verdict v;
  struct kr_err err;
  open_well("heavy", "RTX 4090");
  double us = kr_evaluator_reference(now)->case_us[0];
  CHECK(!kr_evaluator_reference(now)->model_validated);
  judge("light", KR_STAGE_TIME, NULL, &v);
  CHECK_STR(v.model_gpu, "NVIDIA GeForce RTX 4090 sm_89");
  CHECK(v.modelled && !v.model_validated);
  kr_verdict_release(&v);
  close_now();
  open_well("heavy", "sm_90");
  CHECK(us > 2 * kr_evaluator_reference(now)->case_us[0]);
  close_now();
  CHECK_INT(open_on("heavy", "Voodoo 2", &err), -1);
  CHECK(strstr(err.text, "no GPU `Voodoo 2`") && strstr(err.text, "NVIDIA H200"));
  CHECK_INT(fake_live, 0);
}

static void test_a_case_too_large_for_memory_is_told(void)
{
  struct kr_verdict v;
  fake_memory = 32 << 20; // the case has 2 x 16 MiB, and half may be used
  open_well("heavy", NULL);
  const struct kr_reference *ref = kr_evaluator_reference(now);
  CHECK(ref->modelled && ref->case_us[0] == 0);
  CHECK(ref->model_why && strstr(ref->model_why, "its buffers take 32 MiB, more than this machine"));
  judge("light", KR_STAGE_TIME, NULL, &v);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK_INT(v.stage, KR_STAGE_CHECK);
  CHECK(!v.modelled && v.n_times == 0 && v.note && strstr(v.note, "32 MiB"));
  kr_verdict_release(&v);
  close_now();
  fake_memory = 0;
}

static void test_json_carries_it_all(void)
{
  struct kr_verdict v, w;
  struct kr_bytes a, b;
  struct kr_err err = {{0}};
  kr_bytes_init(&a, 1 << 20);
  kr_bytes_init(&b, 1 << 20);
  open_well("heavy", NULL);
  judge("light", KR_STAGE_TIME, NULL, &v);
  kr_verdict_to_json(&v, &a);
  CHECK_INT(kr_verdict_from_json(&w, a.data, a.len, &err), 0);
  kr_verdict_to_json(&w, &b);
  CHECK_STR(b.data, a.data);
  CHECK(w.modelled && w.model_validated && !strcmp(w.model_gpu, v.model_gpu));
  CHECK_STR(w.times[0].base_bound, v.times[0].base_bound);
  CHECK(!memcmp(w.times[0].cand_model, v.times[0].cand_model, sizeof *v.times[0].cand_model));
  kr_verdict_release(&v);
  kr_verdict_release(&w);
  struct kr_reference r;
  kr_bytes_reset(&a);
  kr_bytes_reset(&b);
  kr_reference_to_json(kr_evaluator_reference(now), &a);
  CHECK_INT(kr_reference_from_json(&r, a.data, a.len, &err), 0);
  kr_reference_to_json(&r, &b);
  CHECK_STR(b.data, a.data);
  CHECK(r.case_model[0].counters.loads.sectors > 0);
  kr_reference_release(&r);
  close_now();
  kr_bytes_release(&a);
  kr_bytes_release(&b);
}

int main(void)
{
  test_the_original_is_counted_once_at_its_declared_size();
  test_a_verdict_says_that_it_is_modelled_and_why();
  test_a_finalist_that_races_is_turned_away();
  test_until_check_counts_nothing();
  test_launches_that_end_badly_at_the_declared_size();
  test_the_gpu_can_be_named();
  test_a_case_too_large_for_memory_is_told();
  test_json_carries_it_all();
  return unit_end();
}
