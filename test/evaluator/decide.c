// RUN: %unit/decide
#include "evaluator/base/utf8.h"
#include "evaluator/evaluator.h"
#include "evaluator/fill.h"
#include "evaluator/stats.h"
#include "samples.h"

// Two-sided 95 %, 99 % and 98.33 % points as printed in tables of Student's t.
static void test_t_quantiles_are_those_of_the_tables(void)
{
  static const struct {
    double p, df, t;
  } table[] = {{0.975, 1, 12.7062}, {0.975, 2, 4.30265}, {0.975, 4, 2.77645}, {0.975, 9, 2.26216},
               {0.975, 29, 2.04523}, {0.995, 4, 4.60409}, {0.995, 9, 3.24984}, {0.95, 4, 2.13185},
               {0.9999, 4, 13.03367}, {0.975, 1e6, 1.95997}, {0.75, 1, 1.0}, {0.5, 7, 0}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    double t = stats_t_quantile(table[i].p, table[i].df);
    CHECK(fabs(t - table[i].t) <= 1e-5 * fabs(table[i].t) + 1e-9);
    CHECK(fabs(stats_t_cdf(t, table[i].df) - table[i].p) < 1e-9);
    CHECK(fabs(stats_t_quantile(1 - table[i].p, table[i].df) + t) <= 1e-9 * (1 + t));
  }
}

static void test_medians(void)
{
  double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, lo, hi;
  CHECK(stats_median(odd, 3) == 3 && stats_median(even, 4) == 2.5 && stats_median(NULL, 0) == 0);
  CHECK_NEAR(stats_sd(even, 4), 1.2909944487, 1e-9);
  double many[100];
  for (int i = 0; i < 100; i++)
    many[i] = i;
  stats_median_interval(many, 100, &lo, &hi);
  CHECK(lo == 40 && hi == 60);
  stats_median_interval(odd, 1, &lo, &hi);
  CHECK(lo == 5 && hi == 5);
}

enum { WORKERS = 5 };
static struct kr_confirm_share shares[WORKERS];
static double log_ratio[WORKERS][2], base_us[WORKERS][2], cand_us[WORKERS][2];

static void fill_shares(const double *first, const double *second, size_t n_cases)
{
  memset(shares, 0, sizeof shares);
  for (int i = 0; i < WORKERS; i++) {
    kr_verdict_init(&shares[i].verdict);
    shares[i].verdict.status = KR_STATUS_OK;
    shares[i].verdict.checks = 10;
    shares[i].verdict.max_rel_err = 1e-7 * i;
    shares[i].verdict.exact = true;
    log_ratio[i][0] = log(first[i]);
    log_ratio[i][1] = n_cases > 1 ? log(second[i]) : 0;
    for (int k = 0; k < 2; k++) {
      base_us[i][k] = 100;
      cand_us[i][k] = 100 / exp(log_ratio[i][k]);
    }
    shares[i].log_ratio = log_ratio[i];
    shares[i].base_us = base_us[i];
    shares[i].cand_us = cand_us[i];
    shares[i].n_cases = n_cases;
  }
}

static void test_the_interval_is_over_workers(void)
{
  static const double ratios[WORKERS] = {1.29, 1.31, 1.30, 1.28, 1.32};
  struct kr_contract c;
  struct kr_verdict v;
  sample_make(&c, NULL);
  kr_verdict_init(&v);
  fill_shares(ratios, NULL, 1);
  kr_confirm_decide(shares, WORKERS, 1, &c, &v);
  double logs[WORKERS];
  for (int i = 0; i < WORKERS; i++)
    logs[i] = log(ratios[i]);
  double half = 2.776445 * stats_sd(logs, WORKERS) / sqrt(WORKERS), mean = stats_mean(logs, WORKERS);
  CHECK_NEAR(v.speedup, exp(mean), 1e-12);
  CHECK_NEAR(v.lo, exp(mean - half), 1e-6);
  CHECK_NEAR(v.hi, exp(mean + half), 1e-6);
  CHECK_INT(v.confirmed, 1);
  CHECK_INT(v.checks, 50);
  CHECK_NEAR(v.max_rel_err, 4e-7, 1e-12);
  CHECK_INT(v.n_times, 1);
  CHECK_STR(v.times[0].label, "n = 1000");
  CHECK_INT(v.times[0].n, 5);
  CHECK_NEAR(v.times[0].base_us, 100, 1e-12);
  CHECK(kr_verdict_wins(&v, 1.02));
  CHECK(kr_verdict_wins(&v, 1.27));
  CHECK(!kr_verdict_wins(&v, v.lo));
  // Three finalists share the error level: 1 - 0.05 / 3, t(0.99167, 4) = 3.96.
  double lo = v.lo;
  kr_confirm_decide(shares, WORKERS, 3, &c, &v);
  CHECK(v.lo < lo);
  CHECK_NEAR(log(v.speedup / v.lo) / log(exp(mean) / lo), stats_t_quantile(1 - 0.05 / 6, 4) / 2.776445, 1e-5);
  kr_verdict_release(&v);
  kr_contract_release(&c);
}

static void test_what_is_no_win(void)
{
  static const double noisy[WORKERS] = {1.5, 0.7, 1.6, 0.9, 1.4};
  static const double better[WORKERS] = {1.40, 1.41, 1.39, 1.40, 1.42};
  static const double worse[WORKERS] = {0.96, 0.965, 0.955, 0.96, 0.962};
  static const double level[WORKERS] = {0.97, 0.99, 0.98, 0.985, 0.975};
  struct kr_contract c;
  struct kr_verdict v;
  sample_make(&c, NULL);
  kr_verdict_init(&v);
  fill_shares(noisy, NULL, 1);
  kr_confirm_decide(shares, WORKERS, 1, &c, &v);
  CHECK(v.speedup > 1.02);
  CHECK(!kr_verdict_wins(&v, 1.02));
  // One worker proves nothing.
  fill_shares(better, NULL, 1);
  kr_confirm_decide(shares, 1, 1, &c, &v);
  CHECK_INT(v.confirmed, 0);
  CHECK(!kr_verdict_wins(&v, 1.02));
  // No worker at all, or another number of cases.
  kr_confirm_decide(shares, 0, 1, &c, &v);
  CHECK_INT(v.status, KR_STATUS_ENVIRONMENT);
  shares[2].n_cases = 0;
  kr_confirm_decide(shares, WORKERS, 1, &c, &v);
  CHECK_INT(v.status, KR_STATUS_ENVIRONMENT);
  // A candidate that failed a worker's check is no win, however fast.
  fill_shares(better, NULL, 1);
  shares[3].verdict.status = KR_STATUS_WRONG;
  shares[3].verdict.log = (char *)"y[3] is 1, expected 2";
  kr_confirm_decide(shares, WORKERS, 1, &c, &v);
  CHECK_INT(v.status, KR_STATUS_WRONG);
  CHECK_STR(v.log, "y[3] is 1, expected 2");
  CHECK(!kr_verdict_wins(&v, 1.02));
  // Two cases: faster on the whole, but one of them surely slower.
  struct kr_case two[2] = {c.cases[0], c.cases[0]};
  struct kr_contract both = c;
  both.cases = two;
  both.n_cases = 2;
  fill_shares(better, worse, 2);
  kr_confirm_decide(shares, WORKERS, 1, &both, &v);
  CHECK(v.lo > 1.1);
  CHECK(!kr_verdict_wins(&v, 1.02));
  fill_shares(better, level, 2);
  kr_confirm_decide(shares, WORKERS, 1, &both, &v);
  CHECK(kr_verdict_wins(&v, 1.02));
  kr_verdict_release(&v);
  kr_contract_release(&c);
}

// A true ratio of exactly the limit is called a win in about 2.5 % of trials.
static void test_error_level_by_simulation(void)
{
  enum { TRIALS = 4000 };
  struct kr_contract c;
  struct kr_verdict v;
  sample_make(&c, NULL);
  kr_verdict_init(&v);
  int wins = 0;
  for (int t = 0; t < TRIALS; t++) {
    double ratios[WORKERS];
    for (int i = 0; i < WORKERS; i++)
      ratios[i] = 1.02 * exp(0.003 * fill_normal(fill_bits(9, 9, (uint64_t)t * WORKERS + (uint64_t)i)));
    fill_shares(ratios, NULL, 1);
    kr_confirm_decide(shares, WORKERS, 1, &c, &v);
    wins += kr_verdict_wins(&v, 1.02);
  }
  CHECK(wins > TRIALS * 15 / 1000 && wins < TRIALS * 35 / 1000);
  kr_verdict_release(&v);
  kr_contract_release(&c);
}

static void test_verdicts_travel(void)
{
  struct kr_contract c;
  struct kr_verdict v, again;
  struct kr_err err = {{0}};
  struct kr_bytes a, b;
  static const double ratios[WORKERS] = {1.29, 1.31, 1.30, 1.28, 1.32};
  kr_bytes_init(&a, 1 << 20);
  kr_bytes_init(&b, 1 << 20);
  sample_make(&c, NULL);
  kr_verdict_init(&v);
  fill_shares(ratios, NULL, 1);
  kr_confirm_decide(shares, WORKERS, 1, &c, &v);
  v.log = strdup("line one\nline \"two\"\t\\");
  v.expected = NAN;
  v.got = -INFINITY;
  kr_verdict_to_json(&v, &a);
  CHECK_INT(kr_verdict_from_json(&again, a.data, a.len, &err), 0);
  kr_verdict_to_json(&again, &b);
  CHECK_STR(b.data, a.data);
  CHECK(isnan(again.expected) && again.got == -INFINITY);
  CHECK_STR(again.log, v.log);
  kr_verdict_release(&again);
  // Cut anywhere it is refused, and nothing leaks.
  for (size_t n = 0; n < a.len; n++) {
    struct kr_err ignored;
    CHECK_INT(kr_verdict_from_json(&again, a.data, n, &ignored), -1);
  }
  // A compiler's words may end in half a character, or quote what is none.
  free(v.log);
  v.log = strdup("\xff is no caf\xc3\xa9; caf\xc3");
  kr_bytes_reset(&a);
  kr_verdict_to_json(&v, &a);
  CHECK_INT(kr_utf8_check(a.data, a.len), a.len);
  CHECK_INT(kr_verdict_from_json(&again, a.data, a.len, &err), 0);
  CHECK_STR(again.log, "\xef\xbf\xbd is no caf\xc3\xa9; caf\xef\xbf\xbd");
  kr_verdict_release(&again);
  kr_verdict_release(&v);
  kr_contract_release(&c);
  kr_bytes_release(&a);
  kr_bytes_release(&b);
}

int main(void)
{
  test_t_quantiles_are_those_of_the_tables();
  test_medians();
  test_the_interval_is_over_workers();
  test_what_is_no_win();
  test_error_level_by_simulation();
  test_verdicts_travel();
  return unit_end();
}
