#include "judge_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lex.h"
#include "base/mem.h"
#include "fill.h"
#include "scope.h"

// A judgement: compile, smoke, check, time; the first that fails is the verdict.
//
// The candidate runs before the original wherever contents are fresh, on clones
// of its own, twice, with outputs poisoned differently, at placements that the
// original survives; what the original makes of them stays on the host. At
// sizes drawn for this judgement the original is run first with *other*
// contents, only to see that it is clean there.

enum {
  CHECK_BUDGET_MS = 2000,
  CONFIRM_PAIRS = 60,
  STREAM_JUDGE = 3 << 20,
  MAX_TOLD = 8 << 10
};

uint64_t judge_draw(struct judgement *j)
{
  return fill_bits(j->o->seed, STREAM_JUDGE, j->draws++);
}

void judge_begin_stage(struct judgement *j, enum kr_stage stage)
{
  j->v->stage = stage;
  if (j->e->on_stage)
    j->e->on_stage(j->e->watcher, stage);
}

static char *cut(const char *text)
{
  size_t n = strlen(text);
  return n <= MAX_TOLD ? kr_xstrdup(text)
                       : kr_xasprintf("%.*s\n... (%zu more bytes)", MAX_TOLD, text, n - MAX_TOLD);
}

void judge_note(struct kr_verdict *v, const char *text)
{
  if (!text[0] || (v->note && strstr(v->note, text)))
    return;
  char *joined = v->note ? kr_xasprintf("%s; %s", v->note, text) : kr_xstrdup(text);
  free(v->note);
  v->note = joined;
}

static const char *const held_out_words[] = {
    [KR_STATUS_OK] = "",
    [KR_STATUS_LAUNCH_FAILED] = "the launch fails",
    [KR_STATUS_FAULT] = "it faults",
    [KR_STATUS_TIMEOUT] = "it does not end in time",
    [KR_STATUS_WRONG] = "the result is wrong",
    [KR_STATUS_UNSTABLE] = "two launches on equal inputs differ",
    [KR_STATUS_UNSUPPORTED] = "the back end cannot run it",
};

void judge_fail(struct judgement *j, enum kr_stage stage, enum kr_status status, bool held_out,
                const char *text)
{
  struct kr_verdict *v = j->v;
  v->stage = stage;
  v->status = status;
  v->held_out = held_out;
  free(v->log);
  free(v->told);
  v->log = kr_xstrdup(text);
  v->told = held_out ? kr_xasprintf("%s, at a size that is not told", held_out_words[status])
                     : cut(text);
}

int judge_broke(struct judgement *j, const char *text)
{
  struct kr_verdict *v = j->v;
  v->status = KR_STATUS_ENVIRONMENT;
  free(v->log);
  v->log = kr_xstrdup(text[0] ? text : "the back end failed without a word");
  return -1;
}

static enum kr_status status_of_kind(enum compare_kind kind)
{
  return kind == COMPARE_UNSTABLE ? KR_STATUS_UNSTABLE : KR_STATUS_WRONG;
}

void judge_fail_trial(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                      const struct trial *t)
{
  char *text = kr_xasprintf("%s, in the case %s", t->text, in->label);
  judge_fail(j, stage, t->status, in->held_out, text);
  free(text);
}

void judge_fail_compare(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                        const struct compare_result *r, const char *words)
{
  judge_fail(j, stage, status_of_kind(r->kind), in->held_out, words);
  struct kr_bytes where;
  kr_bytes_init(&where, 8192);
  compare_where(in, r, &where);
  kr_bytes_addf(&where, " in case %s", in->label);
  j->v->where = kr_bytes_take(&where);
  kr_bytes_release(&where);
  j->v->expected = r->expected;
  j->v->got = r->got;
}

// --- compile ---

bool judge_same_launches(const struct judgement *j)
{
  const struct kr_evaluator *e = j->e;
  if (j->geometry == &e->c->geometry)
    return true;
  for (size_t k = 0; k < e->c->n_cases; k++) {
    struct kr_instance in;
    struct kr_launch a, b;
    const struct declared_case *c = &e->cases[k];
    if (instance_plan(&in, e->c, k, c->overrides, c->n_overrides, NULL))
      return false;
    bool same = !kr_instance_launch(&in, &e->c->geometry, e->d.facts, &a, NULL) &&
                !kr_instance_launch(&in, j->geometry, e->d.facts, &b, NULL) &&
                !memcmp(a.grid, b.grid, sizeof a.grid) &&
                !memcmp(a.block, b.block, sizeof a.block) && a.shared_bytes == b.shared_bytes &&
                a.cooperative == b.cooperative;
    kr_instance_release(&in);
    if (!same)
      return false;
  }
  return true;
}

// The candidate stands where the original stood; its lines count in its own code.
static int compile(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  const struct kr_contract *c = e->c;
  struct kr_bytes *text = &j->text, log;
  struct kr_err err = {{0}};
  int rc = JUDGE_BROKE;
  judge_begin_stage(j, KR_STAGE_COMPILE);
  kr_bytes_init(&log, 1 << 20);
  kr_bytes_init(text, KR_BYTES_DEFAULT_MAX);
  kr_bytes_adds(text, c->before);
  if (text->len && text->data[text->len - 1] != '\n')
    kr_bytes_addc(text, '\n');
  kr_bytes_adds(text, "#line 1 \"variant.cu\"\n");
  kr_bytes_adds(text, j->cand->code);
  kr_bytes_addc(text, '\n');
  if (kr_bytes_adds(text, c->after)) {
    judge_fail(j, KR_STAGE_COMPILE, KR_STATUS_COMPILE_ERROR, false, "the code is too large");
    rc = JUDGE_FAILED;
    goto out;
  }
  int compiled = e->backend->compile(e->dev, c, text->data, text->len, &j->m, &log, &err);
  if (compiled < 0) {
    judge_broke(j, err.text);
  } else if (compiled > 0) {
    judge_fail(j, KR_STAGE_COMPILE, KR_STATUS_COMPILE_ERROR, false,
               log.len ? log.data : "it does not compile");
    rc = JUDGE_FAILED;
  } else {
    j->v->code_hash = e->backend->module_hash(e->dev, j->m);
    rc = JUDGE_PASSED;
    if (kr_hash_equal(j->v->code_hash, e->ref.code_hash) && judge_same_launches(j)) {
      judge_fail(j, KR_STAGE_COMPILE, KR_STATUS_UNCHANGED, false,
                 "its machine code equals the original's");
      rc = JUDGE_FAILED;
    }
  }
out:
  kr_bytes_release(&log);
  return rc;
}

static void put_resources(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_launch launch;
  const struct declared_case *c = &e->cases[0];
  j->v->base_resources = e->ref.resources;
  if (instance_plan(&in, e->c, 0, c->overrides, c->n_overrides, NULL))
    return;
  if (kr_instance_launch(&in, j->geometry, e->d.facts, &launch, NULL) ||
      e->backend->module_resources(e->dev, j->m, &launch, &j->v->resources))
    j->v->resources = (struct kr_resources){-1, -1, -1, -1, 0, 0};
  kr_instance_release(&in);
}

// The threads that __launch_bounds__ allows, 0 when none is there or it is
// written in names of the candidate's own.
static int64_t bounds_of(const struct judgement *j)
{
  const char *code = j->cand->code;
  const struct kr_contract *c = j->e->c;
  size_t n;
  int64_t threads = 0;
  struct kr_token *toks = kr_lex_all(code, strlen(code), false, &n);
  for (size_t i = 0; i + 2 < n; i++) {
    if (!kr_token_is(code, toks[i], "__launch_bounds__") || !kr_token_is(code, toks[i + 1], "("))
      continue;
    size_t end = i + 2, depth = 0;
    for (; end < n && (depth || (!kr_token_is(code, toks[end], ",") && !kr_token_is(code, toks[end], ")")));
         end++) {
      depth += kr_token_is(code, toks[end], "(");
      depth -= kr_token_is(code, toks[end], ")");
    }
    if (end >= n)
      break;
    struct scope s = {.contract = c};
    char *text = kr_xstrndup(code + toks[i + 2].offset, toks[end].offset - toks[i + 2].offset);
    if (scope_eval_int(&s, text, "__launch_bounds__", &threads, NULL))
      threads = 0;
    free(text);
  }
  free(toks);
  return threads;
}

// A launch above the candidate's own bounds fails on every GPU; a back end that
// runs it all the same would prove what cannot be launched.
static bool bounds_exceeded(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  int64_t most = bounds_of(j);
  bool exceeded = false;
  for (size_t k = 0; most > 0 && k < e->c->n_cases && !exceeded; k++) {
    struct kr_instance in;
    struct kr_launch l;
    const struct declared_case *d = &e->cases[k];
    if (instance_plan(&in, e->c, k, d->overrides, d->n_overrides, NULL))
      continue;
    int64_t threads = 0;
    if (!kr_instance_launch(&in, j->geometry, e->d.facts, &l, NULL))
      threads = (int64_t)l.block[0] * l.block[1] * l.block[2];
    kr_instance_release(&in);
    if (threads <= most)
      continue;
    char *text = kr_xasprintf("%lld threads a block exceed __launch_bounds__(%lld)",
                              (long long)threads, (long long)most);
    judge_fail(j, KR_STAGE_SMOKE, KR_STATUS_LAUNCH_FAILED, false, text);
    free(text);
    exceeded = true;
  }
  return exceeded;
}

// --- the whole ---

static int compile_and_check(struct judgement *j)
{
  double start = kr_now_ms();
  int rc = compile(j);
  double compiled = kr_now_ms();
  j->v->compile_ms = compiled - start;
  if (rc != JUDGE_PASSED)
    return rc;
  unsigned budget = j->o->check_budget_ms ? j->o->check_budget_ms : CHECK_BUDGET_MS;
  j->check_end_ms = compiled + budget;
  put_resources(j);
  rc = bounds_exceeded(j) ? JUDGE_FAILED : judge_check(j);
  j->v->check_ms = kr_now_ms() - compiled;
  return rc;
}

static void judgement_begin(struct judgement *j, struct kr_evaluator *e,
                            const struct kr_candidate *cand, const struct kr_judge_options *o,
                            struct kr_verdict *v)
{
  kr_verdict_init(v);
  *j = (struct judgement){.e = e, .cand = cand, .o = o, .v = v};
  j->geometry = cand->has_geometry ? &cand->geometry : &e->c->geometry;
}

static bool geometry_refused(struct judgement *j)
{
  const struct kr_contract *c = j->e->c;
  if (!j->cand->has_geometry || c->tunable)
    return false;
  char *text = kr_xasprintf("the launch is fixed%s%s", c->tunable_why ? ": " : "",
                            c->tunable_why ? c->tunable_why : "");
  judge_fail(j, KR_STAGE_SCREEN, KR_STATUS_REFUSED, false, text);
  free(text);
  return true;
}

static int judgement_end(struct judgement *j, int rc, double start)
{
  struct kr_evaluator *e = j->e;
  if (rc == JUDGE_PASSED)
    j->v->status = KR_STATUS_OK;
  if (j->m)
    e->backend->module_free(e->dev, j->m);
  kr_bytes_release(&j->text);
  judge_oracle_forget(j);
  judge_oracle_note(j);
  e->lost |= j->device_lost;
  j->v->wall_ms = kr_now_ms() - start;
  return e->lost ? -1 : 0;
}

int kr_evaluator_judge(struct kr_evaluator *e, const struct kr_candidate *cand,
                       const struct kr_judge_options *options, struct kr_verdict *v)
{
  struct judgement j;
  double start = kr_now_ms();
  judgement_begin(&j, e, cand, options, v);
  if (e->lost)
    return judge_broke(&j, "the device was lost before");
  if (geometry_refused(&j))
    return 0;
  int rc = compile_and_check(&j);
  if (rc == JUDGE_PASSED && options->until >= KR_STAGE_TIME && (e->backend->can_time || e->model)) {
    double checked = kr_now_ms();
    rc = e->model ? judge_model(&j) : judge_time(&j);
    v->time_ms = kr_now_ms() - checked;
  }
  return judgement_end(&j, rc, start);
}

int kr_evaluator_confirm(struct kr_evaluator *e, const struct kr_candidate *cand,
                         const struct kr_confirm_options *options, struct kr_confirm_share *out)
{
  struct judgement j;
  double start = kr_now_ms();
  struct kr_judge_options o = {.until = KR_STAGE_CONFIRM, .seed = options->seed, .thorough = true,
                               .share = options->share, .shares = options->shares};
  memset(out, 0, sizeof *out);
  judgement_begin(&j, e, cand, &o, &out->verdict);
  if (e->lost)
    return judge_broke(&j, "the device was lost before");
  if (geometry_refused(&j))
    return 0;
  int rc = compile_and_check(&j);
  if (rc == JUDGE_PASSED && e->backend->can_time) {
    double checked = kr_now_ms();
    size_t n = e->c->n_cases;
    judge_begin_stage(&j, KR_STAGE_CONFIRM);
    out->log_ratio = kr_xcalloc(n, sizeof *out->log_ratio);
    out->base_us = kr_xcalloc(n, sizeof *out->base_us);
    out->cand_us = kr_xcalloc(n, sizeof *out->cand_us);
    for (size_t k = 0; k < n && rc == JUDGE_PASSED; k++)
      rc = judge_confirm_case(&j, k, options->pairs ? options->pairs : CONFIRM_PAIRS, out);
    if (rc == JUDGE_PASSED)
      rc = judge_after_timing(&j);
    if (rc == JUDGE_PASSED)
      out->n_cases = n;
    out->verdict.time_ms = kr_now_ms() - checked;
  }
  return judgement_end(&j, rc, start);
}
