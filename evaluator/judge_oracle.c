#include "judge_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

// Where the tolerance of the type decides, the original in double has a say: how
// much more an output may be off, and whether the candidate is less precise than
// the original. It is asked late, because it costs a compilation and a run.

// A declared case above this costs seconds in double; it is compared all the same.
enum { GUARD_BYTES = 256 << 20 };

void judge_oracle_forget(struct judgement *j)
{
  oracle_run_release(&j->wide);
  free(j->wide_why);
  j->wide_why = NULL;
  j->wide_of = NULL;
}

// The oracle on the instance in hand, run once for all that ask; NULL where there
// is none, or where the device went with it.
static const struct oracle_run *ask(struct judgement *j, const struct kr_instance *in,
                                    const struct trial *ref)
{
  if (j->wide_of != in) {
    struct kr_err why = {{0}};
    judge_oracle_forget(j);
    j->wide_of = in;
    j->wide_known = oracle_run(j->e, in, ref, &j->wide, &why) == 1;
    if (!j->wide_known)
      j->wide_why = kr_xstrdup(why.text);
  }
  return j->wide_known ? &j->wide : NULL;
}

static bool lost(struct judgement *j)
{
  if (!j->e->lost)
    return false;
  j->device_lost = true;
  judge_broke(j, j->wide_why ? j->wide_why : "the device was lost");
  return true;
}

static int compare(struct judgement *j, const struct compare_input *q, struct compare_result *r)
{
  struct kr_err err = {{0}};
  if (!compare_runs(q, r, &err))
    return JUDGE_PASSED;
  judge_broke(j, err.text);
  return JUDGE_BROKE;
}

static void remember(struct judgement *j, const struct kr_instance *in,
                     const struct compare_result *at_base, double rtol)
{
  if (rtol <= j->raised_rtol)
    return;
  j->raised_rtol = rtol;
  j->raised_path = in->contract->sections[in->buffers[at_base->buffer].section].path;
}

int judge_compare(struct judgement *j, const struct trial *ref, struct compare_input *q,
                  struct compare_result *r, struct kr_bytes *words)
{
  const struct kr_instance *in = q->in;
  struct compare_result at_base, at_most;
  const char *why = NULL;
  int rc = compare(j, q, r);
  if (rc == JUDGE_PASSED && r->kind == COMPARE_VALUE && !q->exact_values) {
    at_base = *r;
    double **raised = oracle_tolerances(in, ref, NULL);
    q->raised = raised;
    rc = compare(j, q, &at_most);
    oracle_tolerances_free(in, raised);
    q->raised = NULL;
    if (rc == JUDGE_PASSED && at_most.kind == COMPARE_EQUAL) {
      const struct oracle_run *run = ask(j, in, ref);
      if (lost(j))
        return JUDGE_BROKE;
      if (run) {
        raised = oracle_tolerances(in, ref, run);
        q->raised = raised;
        rc = compare(j, q, r);
        q->raised = NULL;
        if (rc == JUDGE_PASSED && r->kind == COMPARE_EQUAL)
          remember(j, in, &at_base, raised[at_base.buffer][at_base.leaf]);
        oracle_tolerances_free(in, raised);
      }
      why = run ? "more than twice the original's own error" : j->wide_why;
    }
  }
  if (rc != JUDGE_PASSED || r->kind == COMPARE_EQUAL)
    return rc;
  compare_describe(q, r, words);
  if (why && why == j->wide_why)
    kr_bytes_addf(words, "; how precise the original is cannot be told: %s", why);
  else if (why)
    kr_bytes_addf(words, "; it is %s", why);
  return rc;
}

int judge_precision(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                    const struct trial *ref, const struct trial *got)
{
  struct oracle_worse worse;
  if (kr_instance_bytes(in) > GUARD_BYTES)
    return JUDGE_PASSED;
  const struct oracle_run *run = ask(j, in, ref);
  if (lost(j))
    return JUDGE_BROKE;
  if (!run || !oracle_finds_worse(in, ref, got->run[0].after, run, &worse))
    return JUDGE_PASSED;
  char *text = kr_xasprintf(
      "less precise than the original: against double the rms error of `%s` is %.1e, the "
      "original's %.1e, of which twice is allowed, in the case %s",
      in->contract->sections[in->buffers[worse.buffer].section].path, worse.got, worse.original,
      in->label);
  judge_fail(j, stage, KR_STATUS_WRONG, in->held_out, text);
  free(text);
  return JUDGE_FAILED;
}

void judge_oracle_note(struct judgement *j)
{
  if (!j->raised_path)
    return;
  char *text = kr_xasprintf("rtol raised to %.1e on `%s`, twice the original's own error",
                            j->raised_rtol, j->raised_path);
  judge_note(j->v, text);
  free(text);
}
