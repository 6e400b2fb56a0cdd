#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "evaluator.h"
#include "stats.h"

// The decision. Samples within one process share its memory layout and clocks,
// so that an interval over them claims far too much; workers are the sample
// here, each with fresh seeds and placement, their number fixed beforehand. The
// error level is split over the finalists (Bonferroni), because the best of
// several is looked for.

#define ERROR_LEVEL 0.05
#define NO_CASE_BELOW 0.98

static void interval(const double *log_ratio, size_t n, size_t n_finalists, double *mid,
                     double *lo, double *hi)
{
  double mean = stats_mean(log_ratio, n);
  double level = ERROR_LEVEL / (double)(n_finalists ? n_finalists : 1);
  *mid = exp(mean);
  if (n < 2) {
    *lo = 0; // one worker proves nothing
    *hi = INFINITY;
    return;
  }
  double half = stats_t_quantile(1 - level / 2, (double)(n - 1)) * stats_sd(log_ratio, n) /
                sqrt((double)n);
  *lo = exp(mean - half);
  *hi = exp(mean + half);
}

// The worst of the shares' verdicts: one that failed its check decides alone.
static const struct kr_verdict *failed_share(const struct kr_confirm_share *shares, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    if (shares[i].verdict.status != KR_STATUS_OK)
      return &shares[i].verdict;
  }
  return NULL;
}

static char *copy(const char *s)
{
  return s ? kr_xstrdup(s) : NULL;
}

void kr_confirm_decide(const struct kr_confirm_share *shares, size_t n_workers,
                       size_t n_finalists, const struct kr_contract *c, struct kr_verdict *v)
{
  kr_verdict_release(v);
  v->stage = KR_STAGE_CONFIRM;
  const struct kr_verdict *bad = failed_share(shares, n_workers);
  if (bad) {
    v->status = bad->status;
    v->log = copy(bad->log);
    v->told = copy(bad->told);
    v->held_out = bad->held_out;
    v->where = copy(bad->where);
    v->expected = bad->expected;
    v->got = bad->got;
    v->max_rel_err = bad->max_rel_err;
    v->checks = bad->checks;
    return;
  }
  size_t n_cases = n_workers ? shares[0].n_cases : 0;
  for (size_t i = 0; i < n_workers; i++) {
    if (shares[i].n_cases != n_cases || n_cases > c->n_cases || !n_cases) {
      v->status = KR_STATUS_ENVIRONMENT;
      v->log = kr_xasprintf("worker %zu timed %zu cases of %zu", i + 1, shares[i].n_cases,
                            c->n_cases);
      return;
    }
  }
  if (!n_cases) {
    v->status = KR_STATUS_ENVIRONMENT;
    v->log = kr_xstrdup("no worker confirmed anything");
    return;
  }
  double *x = kr_xcalloc(n_workers, sizeof *x), *us = kr_xcalloc(n_workers, sizeof *us);
  v->n_times = n_cases;
  v->times = kr_xcalloc(n_cases, sizeof *v->times);
  v->exact = true;
  for (size_t k = 0; k < n_cases; k++) {
    struct kr_case_time *t = &v->times[k];
    t->label = copy(c->cases[k].label);
    t->n = n_workers;
    for (size_t i = 0; i < n_workers; i++)
      x[i] = shares[i].log_ratio[k];
    interval(x, n_workers, n_finalists, &t->ratio, &t->lo, &t->hi);
    for (size_t i = 0; i < n_workers; i++)
      us[i] = shares[i].base_us[k];
    t->base_us = stats_median(us, n_workers);
    for (size_t i = 0; i < n_workers; i++)
      us[i] = shares[i].cand_us[k];
    t->cand_us = stats_median(us, n_workers);
  }
  // The geometric mean over cases is taken in each worker, the interval over workers.
  for (size_t i = 0; i < n_workers; i++) {
    const struct kr_verdict *s = &shares[i].verdict;
    x[i] = stats_mean(shares[i].log_ratio, n_cases);
    v->max_rel_err = fmax(v->max_rel_err, s->max_rel_err);
    v->checks += s->checks;
    v->exact &= s->exact;
    v->wall_ms += s->wall_ms;
    v->compile_ms += s->compile_ms;
    v->check_ms += s->check_ms;
    v->time_ms += s->time_ms;
    if (s->note && !v->note)
      v->note = copy(s->note);
  }
  interval(x, n_workers, n_finalists, &v->speedup, &v->lo, &v->hi);
  v->base_resources = shares[0].verdict.base_resources;
  v->resources = shares[0].verdict.resources;
  v->code_hash = shares[0].verdict.code_hash;
  v->confirmed = n_workers >= 2;
  free(x);
  free(us);
}

bool kr_verdict_wins(const struct kr_verdict *v, double min_speedup)
{
  // A modelled interval says how far the model was seen to be off.
  if (v->status != KR_STATUS_OK || !(v->confirmed || v->modelled) || !(v->lo > min_speedup))
    return false;
  for (size_t i = 0; i < v->n_times; i++) {
    if (!(v->times[i].hi >= NO_CASE_BELOW))
      return false;
  }
  return true;
}

void kr_confirm_share_release(struct kr_confirm_share *s)
{
  kr_verdict_release(&s->verdict);
  free(s->log_ratio);
  free(s->base_us);
  free(s->cand_us);
  memset(s, 0, sizeof *s);
}
