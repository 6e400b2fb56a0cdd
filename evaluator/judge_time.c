#include "judge_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stats.h"

// How fast is it? Whatever is timed is compared as well, and a time that the
// memory could not deliver is no time.

enum {
  TIME_BUDGET_MS = 400,
  SEARCH_PAIRS = 60
};

// What two of the timed launches left behind, the last and one in their midst, is
// compared too: a kernel may
// compute when it is checked and not when it is timed. Where the back end brings
// nothing back this says nothing.
static int check_timed(struct judgement *j, const struct kr_instance *in, struct kr_dataset *data,
                       const struct trial *expected, const struct kr_time_result *timed)
{
  struct kr_err err = {{0}};
  struct trial fresh = {0};
  if (!timed->b_after && !timed->b_during)
    return JUDGE_PASSED;
  int rc = JUDGE_BROKE;
  if (!expected && (evaluator_original(j->e, in, data, &fresh, &err) || fresh.device_lost ||
                    fresh.status != KR_STATUS_OK)) {
    j->device_lost |= fresh.device_lost;
    judge_broke(j, err.text[0] ? err.text : fresh.text);
    trial_release(&fresh);
    return JUDGE_BROKE;
  }
  const struct trial *ref = expected ? expected : &fresh;
  unsigned char *const *const both[] = {timed->b_during, timed->b_after};
  rc = JUDGE_PASSED;
  for (int i = 0; i < 2 && rc == JUDGE_PASSED; i++) {
    if (!both[i])
      continue;
    struct compare_input q = {.in = in,
                              .ref = {ref->run[0].after, ref->run[1].after},
                              .got = {both[i], both[i]},
                              .ref_poison = {ref->poison[0], ref->poison[1]},
                              .timed = true};
    struct compare_result r;
    struct kr_bytes words;
    kr_bytes_init(&words, 64 << 10);
    kr_bytes_adds(&words, "after a timed launch ");
    rc = judge_compare(j, ref, &q, &r, &words);
    if (rc == JUDGE_PASSED && r.kind != COMPARE_EQUAL) {
      judge_fail_compare(j, j->v->stage, in, &r, words.data);
      rc = JUDGE_FAILED;
    }
    judge_oracle_forget(j);
    kr_bytes_release(&words);
  }
  trial_release(&fresh);
  return rc;
}

// Times one case on `data`. JUDGE_PASSED with `out` filled (owned by the caller).
static int time_case(struct judgement *j, const struct kr_instance *in, struct kr_dataset *data,
                     const struct kr_time_options *how, struct kr_time_result *out)
{
  struct kr_evaluator *e = j->e;
  struct kr_err err = {{0}};
  struct kr_time_options o = *how;
  o.seed = judge_draw(j);
  memset(out, 0, sizeof *out);
  if (kr_instance_launch(in, &e->c->geometry, e->d.facts, &o.launch_a, &err) ||
      kr_instance_launch(in, j->geometry, e->d.facts, &o.launch_b, &err)) {
    judge_broke(j, err.text);
    return JUDGE_BROKE;
  }
  if (e->backend->time(e->dev, e->original, j->m, data, &o, out, &err)) {
    j->device_lost |= out->device_lost;
    if (!out->device_lost) {
      judge_broke(j, err.text);
      return JUDGE_BROKE;
    }
    // The original was run and timed before there was a candidate.
    judge_fail(j, j->v->stage, KR_STATUS_FAULT, false, err.text);
    return JUDGE_FAILED;
  }
  if (!out->n) {
    judge_broke(j, "no sample was taken");
    return JUDGE_BROKE;
  }
  return JUDGE_PASSED;
}

// Faster than what was surely written could move, where none of it stays in L2.
static bool impossible(const struct kr_evaluator *e, size_t index, double cand_us, char *text,
                       size_t size)
{
  const struct declared_case *k = &e->cases[index];
  double peak = e->ref.device.peak_bytes_per_s;
  if (!(peak > 0) || (double)k->bytes <= 2.0 * (double)e->ref.device.l2_bytes)
    return false;
  double floor_us = k->written_bytes / peak * 1e6;
  if (cand_us >= floor_us / 1.05)
    return false;
  snprintf(text, size, "%.3g us for %.3g bytes that must be written takes more than the %.4g GB/s "
           "that the memory has", cand_us, k->written_bytes, peak / 1e9);
  return true;
}

// Faster than all its buffers could move: honest when the kernel does not touch
// all of them, so it is only told.
static void note_fast(struct judgement *j, size_t index, double base_us, double cand_us)
{
  const struct kr_evaluator *e = j->e;
  double peak = e->ref.device.peak_bytes_per_s;
  if (!(peak > 0) || (double)e->cases[index].bytes <= 2.0 * (double)e->ref.device.l2_bytes)
    return;
  double all_us = e->ref.case_bytes[index] / peak * 1e6;
  if (cand_us < all_us / 1.05 && base_us >= all_us)
    judge_note(j->v, "faster than all its buffers could be moved");
}

static void put_times(struct judgement *j, size_t index, const struct kr_time_result *r)
{
  struct kr_case_time *t = &j->v->times[index];
  double *ratio = kr_xcalloc(r->n, sizeof *ratio);
  for (size_t i = 0; i < r->n; i++)
    ratio[i] = r->a_us[i] / r->b_us[i];
  t->label = kr_xstrdup(j->e->c->cases[index].label);
  t->base_us = stats_median(r->a_us, r->n);
  t->cand_us = stats_median(r->b_us, r->n);
  t->ratio = stats_median(ratio, r->n);
  stats_median_interval(ratio, r->n, &t->lo, &t->hi);
  t->n = r->n;
  free(ratio);
  judge_note(j->v, r->note);
  if (!r->cold)
    judge_note(j->v, "timed warm");
}

static void sum_up_times(struct kr_verdict *v)
{
  double ratio = 0, lo = 0, hi = 0;
  for (size_t i = 0; i < v->n_times; i++) {
    ratio += log(v->times[i].ratio);
    lo += log(v->times[i].lo);
    hi += log(v->times[i].hi);
  }
  double n = (double)v->n_times;
  v->speedup = exp(ratio / n);
  v->lo = exp(lo / n);
  v->hi = exp(hi / n);
}

int judge_after_timing(struct judgement *j)
{
  size_t smallest = 0;
  for (size_t k = 1; k < j->e->c->n_cases; k++) {
    if (j->e->cases[k].bytes < j->e->cases[smallest].bytes)
      smallest = k;
  }
  size_t before = j->v->checks;
  int rc = judge_fresh(j, KR_STAGE_TIME, smallest, judge_draw(j), KR_DIST_NORMAL, NULL, 0, false);
  if (rc == JUDGE_FAILED) {
    char *text = kr_xasprintf("after timed launches: %s", j->v->log);
    judge_fail(j, KR_STAGE_TIME, j->v->status, j->v->held_out, text);
    free(text);
  } else if (rc == JUDGE_PASSED && j->v->checks == before) {
    judge_broke(j, "nothing could be checked after timing");
    rc = JUDGE_BROKE;
  }
  return rc;
}

int judge_time(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  size_t n = e->c->n_cases;
  unsigned budget = j->o->time_budget_ms ? j->o->time_budget_ms : TIME_BUDGET_MS;
  int rc = JUDGE_PASSED;
  judge_begin_stage(j, KR_STAGE_TIME);
  j->v->n_times = n;
  j->v->times = kr_xcalloc(n, sizeof *j->v->times);
  for (size_t k = 0; k < n && rc == JUDGE_PASSED; k++) {
    struct declared_case *c = &e->cases[k];
    struct kr_instance in;
    struct kr_dataset *data = NULL;
    struct kr_err err = {{0}};
    struct kr_time_result r = {0};
    char text[200];
    if (!c->kept && evaluator_instance(e, k, judge_draw(j), KR_DIST_NORMAL, NULL, 0, &in, &err)) {
      judge_broke(j, err.text);
      rc = JUDGE_BROKE;
      break;
    }
    if (!c->kept && e->backend->load(e->dev, &in, &data, &err)) {
      judge_broke(j, err.text);
      rc = JUDGE_BROKE;
    } else {
      struct kr_time_options how = {.pairs = SEARCH_PAIRS,
                                    .budget_ms = budget / (unsigned)n ? budget / (unsigned)n : 1};
      rc = time_case(j, c->kept ? &c->in : &in, c->kept ? c->data : data, &how, &r);
    }
    if (rc == JUDGE_PASSED)
      rc = check_timed(j, c->kept ? &c->in : &in, c->kept ? c->data : data,
                       c->kept ? &c->expected : NULL, &r);
    if (rc == JUDGE_PASSED) {
      put_times(j, k, &r);
      note_fast(j, k, j->v->times[k].base_us, j->v->times[k].cand_us);
      if (impossible(e, k, j->v->times[k].cand_us, text, sizeof text)) {
        judge_fail(j, KR_STAGE_TIME, KR_STATUS_IMPOSSIBLE, false, text);
        rc = JUDGE_FAILED;
      }
    }
    kr_time_result_release(&r);
    if (data)
      e->backend->dataset_free(e->dev, data);
    if (!c->kept)
      kr_instance_release(&in);
  }
  if (rc == JUDGE_PASSED)
    rc = judge_after_timing(j);
  if (rc == JUDGE_PASSED) {
    sum_up_times(j->v);
    return rc;
  }
  // Times of what is turned away are worth nothing.
  for (size_t k = 0; k < n; k++)
    kr_case_time_release(&j->v->times[k]);
  free(j->v->times);
  j->v->times = NULL;
  j->v->n_times = 0;
  return rc;
}

int judge_confirm_case(struct judgement *j, size_t index, unsigned pairs,
                       struct kr_confirm_share *out)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct kr_time_result r = {0};
  struct kr_err err = {{0}};
  if (evaluator_instance(e, index, judge_draw(j), KR_DIST_NORMAL, NULL, 0, &in, &err)) {
    judge_broke(j, err.text);
    return JUDGE_BROKE;
  }
  int rc = JUDGE_BROKE;
  if (e->backend->load(e->dev, &in, &data, &err)) {
    judge_broke(j, err.text);
    goto out;
  }
  // A number of samples fixed beforehand: stopping when it looks good is how
  // noise wins. Large results are looked at by one of those that share the work.
  struct kr_time_options how = {.pairs = pairs, .random_offsets = true,
                                .keep_after = judge_is_dealt(j, index)};
  rc = time_case(j, &in, data, &how, &r);
  if (rc == JUDGE_PASSED)
    rc = check_timed(j, &in, data, NULL, &r);
  if (rc != JUDGE_PASSED)
    goto out;
  double sum = 0;
  for (size_t i = 0; i < r.n; i++)
    sum += log(r.a_us[i] / r.b_us[i]);
  out->log_ratio[index] = sum / (double)r.n;
  out->base_us[index] = stats_median(r.a_us, r.n);
  out->cand_us[index] = stats_median(r.b_us, r.n);
  judge_note(j->v, r.note);
  note_fast(j, index, out->base_us[index], out->cand_us[index]);
  char text[200];
  if (impossible(e, index, out->cand_us[index], text, sizeof text)) {
    judge_fail(j, KR_STAGE_CONFIRM, KR_STATUS_IMPOSSIBLE, false, text);
    rc = JUDGE_FAILED;
  }
out:
  kr_time_result_release(&r);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return rc;
}
