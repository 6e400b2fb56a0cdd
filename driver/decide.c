#include "decide.h"

#include "../evaluator/base/mem.h"

// Why nothing is there to time or to show.
static char *why_nothing(const struct refine_result *res)
{
  size_t same = 0;
  for (size_t i = 0; i < res->n; i++)
    same += res->turns[i].verdict.status == KR_STATUS_UNCHANGED;
  if (!res->n && res->end == REFINE_EXHAUSTED)
    return kr_xstrdup("no rule of the built-in model applies");
  if (!res->n)
    return kr_xstrdup("no variant was judged");
  if (same == res->n)
    return kr_xasprintf("%s to the original's machine code",
                        same == 1 ? "the one variant compiled" : "all variants compiled");
  if (res->n == 1)
    return kr_xstrdup("the one variant was not right; -v says why");
  if (same)
    return kr_xasprintf("of %zu variants %zu compiled to the original's machine code and %zu %s not "
                        "right; -v tells each",
                        res->n, same, res->n - same, res->n - same == 1 ? "was" : "were");
  return kr_xasprintf("none of %zu variants was right; -v tells each", res->n);
}

// The first that was judged by a broken machine: nothing was found out then, and no
// later run may take the kernel for tried.
static int blame_machine(const struct refine_result *res, const struct kr_verdict *confirmed,
                         size_t n, struct kr_err *err)
{
  const struct kr_verdict *broken = NULL;
  for (size_t i = 0; i < n; i++)
    if (confirmed[i].status == KR_STATUS_ENVIRONMENT)
      broken = &confirmed[i];
  for (size_t i = 0; i < res->n && !n; i++)
    if (res->turns[i].verdict.status == KR_STATUS_ENVIRONMENT)
      broken = &res->turns[i].verdict;
  return broken ? kr_err_set(err, "a variant could not be judged: %s", broken->log ? broken->log : "")
                : 0;
}

static char *why_kept(const struct refine_result *res, const struct kr_verdict *confirmed, size_t n,
                      double min_speedup)
{
  const struct kr_verdict *best = NULL;
  for (size_t i = 0; i < n; i++)
    if (confirmed[i].status == KR_STATUS_OK && confirmed[i].confirmed &&
        (!best || confirmed[i].speedup > best->speedup))
      best = &confirmed[i];
  if (best)
    return kr_xasprintf("the best variant %s %.3fx [%.3f, %.3f], and %.2fx is wanted",
                        best->modelled ? "is modelled at" : "reached", best->speedup, best->lo,
                        best->hi, min_speedup);
  for (size_t i = 0; i < n; i++)
    return kr_xasprintf("the best variant failed its confirmation: %.200s",
                        confirmed[i].log ? confirmed[i].log : kr_status_name(confirmed[i].status));
  size_t right = 0, modelled = 0;
  for (size_t i = 0; i < res->n; i++) {
    right += res->turns[i].verdict.status == KR_STATUS_OK;
    modelled += res->turns[i].verdict.modelled;
  }
  if (!right)
    return why_nothing(res);
  return kr_xasprintf("%zu of %zu variants %s right, none %sfaster", right, res->n,
                      right == 1 ? "was" : "were", modelled ? "modelled " : "");
}

// Decides among the finalists.
static int decide_measured(const struct decide *d, struct outcome *out, struct kr_err *err)
{
  const struct refine_result *res = &out->refined;
  const struct kr_candidate *cands[REFINE_FINALISTS];
  struct kr_verdict verdicts[REFINE_FINALISTS];
  size_t n = res->n_finalists, best = SIZE_MAX;
  double wanted = out->task->contract.min_speedup;
  for (size_t i = 0; i < n; i++) {
    cands[i] = &res->turns[res->finalists[i]].variant.candidate;
    kr_verdict_init(&verdicts[i]);
  }
  int rc = n ? judge_confirm(d->judge, cands, n, verdicts, d->tell, d->arg, err) : 0;
  for (size_t i = 0; !rc && i < n; i++)
    if (kr_verdict_wins(&verdicts[i], wanted) &&
        (best == SIZE_MAX || verdicts[i].speedup > verdicts[best].speedup))
      best = i;
  if (!rc && best != SIZE_MAX) {
    out->state = OUTCOME_REWRITTEN;
    out->winner = res->finalists[best];
    kr_verdict_release(&out->decided);
    out->decided = verdicts[best];
    kr_verdict_init(&verdicts[best]);
  } else if (!rc) {
    rc = blame_machine(res, verdicts, n, err);
    if (!rc)
      out->why = why_kept(res, verdicts, n, wanted);
    out->state = OUTCOME_KEPT;
  }
  for (size_t i = 0; i < n; i++)
    kr_verdict_release(&verdicts[i]);
  return rc;
}

// Decides where times are modelled: the finalists in turn, until one that is judged
// thoroughly wins again.
static int decide_modelled(const struct decide *d, struct outcome *out, struct kr_err *err)
{
  const struct refine_result *res = &out->refined;
  struct kr_verdict verdicts[REFINE_FINALISTS];
  size_t n = 0;
  double wanted = out->task->contract.min_speedup;
  int rc = 0;
  for (size_t i = 0; !rc && i < res->n_finalists && out->winner == SIZE_MAX; i++) {
    const struct refine_turn *t = &res->turns[res->finalists[i]];
    if (!t->verdict.modelled)
      continue;
    kr_verdict_init(&verdicts[n]);
    if (d->tell)
      d->tell(d->arg, i, 1);
    rc = judge_confirm_modelled(d->judge, &t->variant.candidate, i, &verdicts[n], err);
    if (!rc && kr_verdict_wins(&verdicts[n], wanted)) {
      out->winner = res->finalists[i];
      kr_verdict_release(&out->decided);
      out->decided = verdicts[n];
      kr_verdict_init(&verdicts[n]);
    }
    n++;
  }
  if (!rc && out->winner != SIZE_MAX) {
    // What is not known to be no slower in every case is not written.
    bool all = out->decided.n_times == out->task->contract.n_cases;
    out->state = d->writes && all ? OUTCOME_REWRITTEN : OUTCOME_CHECKED;
    if (!all)
      outcome_fail(out, OUTCOME_CHECKED, judge_reference(d->judge)->model_why);
  } else if (!rc) {
    rc = blame_machine(res, verdicts, n, err);
    if (!rc)
      out->why = why_kept(res, verdicts, n, wanted);
    out->state = OUTCOME_KEPT;
  }
  for (size_t i = 0; i < n; i++)
    kr_verdict_release(&verdicts[i]);
  return rc;
}

// On the CPU. Where a right variant has no modelled time (not all that runs can be
// counted) nothing is known of its speed, and the last of those is shown.
static int decide_unmeasured(const struct decide *d, struct outcome *out, struct kr_err *err)
{
  const struct refine_result *res = &out->refined;
  if (decide_modelled(d, out, err))
    return -1;
  for (size_t i = 0; out->state == OUTCOME_KEPT && i < res->n; i++)
    if (res->turns[i].verdict.status == KR_STATUS_OK && !res->turns[i].verdict.modelled)
      out->winner = i;
  if (out->state == OUTCOME_KEPT && out->winner != SIZE_MAX)
    outcome_fail(out, OUTCOME_CHECKED, judge_reference(d->judge)->model_why);
  return 0;
}

int decide(const struct decide *d, struct outcome *out, struct kr_err *err)
{
  return d->measures ? decide_measured(d, out, err) : decide_unmeasured(d, out, err);
}
