#include "refine.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/mem.h"
#include "feedback.h"

enum { REFINE_DEFAULT = 4, REFINE_MAX_TOLD = 64 << 10 };

// No variant can be much faster than one that reaches this share of the memory
// bandwidth, over buffers that no cache holds.
static const double refine_roofline = 0.95;

static unsigned refine_trajectories(const struct refine_options *o)
{
  return o->trajectories ? o->trajectories : REFINE_DEFAULT;
}

static unsigned refine_turns(const struct refine_options *o)
{
  return o->turns ? o->turns : REFINE_DEFAULT;
}

double refine_score(const struct kr_verdict *v)
{
  if (v->status != KR_STATUS_OK)
    return 0;
  return 0.3 + (v->speedup > 0 ? v->speedup : 0);
}

// --- verdicts that need no judge ---

static void verdict_of_parser(struct kr_verdict *v, const char *why)
{
  v->stage = KR_STAGE_PARSE;
  v->status = KR_STATUS_REFUSED;
  v->log = kr_xstrdup(why);
  v->told = kr_xstrdup(why);
}

// The figures of a verdict without what it owns.
static void verdict_of_twin(struct kr_verdict *v, const struct kr_verdict *from)
{
  *v = *from;
  v->log = v->told = v->where = v->note = NULL;
  v->times = NULL;
  v->n_times = 0;
  v->wall_ms = v->compile_ms = v->check_ms = v->time_ms = 0;
}

// The turn that judged the same code, or SIZE_MAX. A verdict that blames the
// machine says nothing about the code, which may be tried again.
static size_t refine_twin(const struct refine_result *result, const struct variant *variant)
{
  for (size_t i = 0; i < result->n; i++) {
    const struct refine_turn *t = &result->turns[i];
    if (t->variant.candidate.code && t->same_as == SIZE_MAX &&
        t->verdict.status != KR_STATUS_ENVIRONMENT &&
        kr_hash_equal(t->variant.tokens, variant->tokens))
      return i;
  }
  return SIZE_MAX;
}

// --- one turn ---

static void refine_say(const struct refine *r, struct refine_event *e, enum refine_event_kind kind)
{
  e->kind = kind;
  if (r->event)
    r->event(r->event_arg, e);
}

// The earlier turns of a trajectory, the best of them marked.
static size_t refine_history(const struct refine_result *result, unsigned trajectory,
                             struct prompt_turn *out)
{
  size_t n = 0, best = SIZE_MAX;
  double best_score = 0;
  for (size_t i = 0; i < result->n; i++) {
    const struct refine_turn *t = &result->turns[i];
    if (t->trajectory != trajectory)
      continue;
    if (t->score > best_score) {
      best_score = t->score;
      best = n;
    }
    out[n++] = (struct prompt_turn){t->turn, &t->variant, t->told, false};
  }
  if (best != SIZE_MAX)
    out[best].best = true;
  return n;
}

static int refine_ask(const struct refine *r, struct refine_result *result,
                      struct refine_event *event, struct model_reply *reply, struct kr_err *err)
{
  const struct kr_contract *c = r->task.contract;
  struct prompt_turn *history = kr_xcalloc(event->turn, sizeof *history);
  struct model_turn *turns = kr_xcalloc(result->n + 1, sizeof *turns);
  size_t n = refine_history(result, event->trajectory, history);
  struct kr_bytes prompt;
  kr_bytes_init(&prompt, KR_BYTES_DEFAULT_MAX);
  bool reads = model_reads_prompts(r->model);
  int rc = reads ? prompt_build(&r->task, history, n, event->turn, &prompt, err) : 0;
  if (rc) {
    result->end = REFINE_PROMPT;
    goto out;
  }
  for (size_t i = 0; i < result->n; i++) {
    const struct refine_turn *t = &result->turns[i];
    turns[i] = (struct model_turn){t->trajectory, t->turn, &t->variant, &t->verdict};
  }
  event->prompt = reads ? prompt.data : NULL;
  refine_say(r, event, REFINE_ASKING);
  event->prompt = NULL;
  struct model_request req = {
      .prompt = reads ? prompt.data : NULL,
      .file = c->file,
      .kernel = c->kernel,
      .contract = c,
      .trajectory = event->trajectory,
      .turn = event->turn,
      .history = turns,
      .n_history = result->n,
  };
  result->calls++;
  rc = model_complete(r->model, &req, reply, err);
  if (rc && reply->failure == MODEL_EXHAUSTED) {
    result->calls--; // it said nothing
    result->end = REFINE_EXHAUSTED;
    goto out;
  }
  if (rc) {
    result->end = reply->failure == MODEL_INTERRUPTED ? REFINE_INTERRUPTED : REFINE_MODEL;
    result->failure = reply->failure;
    goto out;
  }
  result->tokens_in += reply->tokens_in;
  result->tokens_out += reply->tokens_out;
  event->reply = reply;
  refine_say(r, event, REFINE_REPLIED);
  event->reply = NULL;
out:
  free(history);
  free(turns);
  kr_bytes_release(&prompt);
  return rc;
}

static int refine_turn_run(const struct refine *r, struct refine_result *result,
                           struct refine_event *event, unsigned *judged, struct kr_err *err)
{
  struct model_reply reply = {0};
  struct refine_turn t = {
      .trajectory = event->trajectory, .turn = event->turn, .same_as = SIZE_MAX};
  struct kr_bytes told;
  kr_bytes_init(&told, REFINE_MAX_TOLD);
  kr_verdict_init(&t.verdict);
  int rc = refine_ask(r, result, event, &reply, err);
  if (rc)
    goto out;
  t.tokens_in = reply.tokens_in;
  t.tokens_out = reply.tokens_out;
  t.model_ms = reply.wall_ms;
  double begin = kr_now_ms();
  if (variant_parse(reply.text, reply.len, reply.truncated, &r->task.contract->geometry,
                    &t.variant)) {
    verdict_of_parser(&t.verdict, t.variant.why);
  } else if ((t.same_as = refine_twin(result, &t.variant)) != SIZE_MAX) {
    const struct refine_turn *twin = &result->turns[t.same_as];
    verdict_of_twin(&t.verdict, &twin->verdict);
    if (twin->trajectory == t.trajectory)
      kr_bytes_addf(&told, "the same code as in turn %u: ", twin->turn);
    kr_bytes_adds(&told, twin->told);
  } else {
    rc = r->judge(r->judge_arg, &t.variant.candidate, ++*judged, &t.verdict, err);
    if (rc) {
      result->end = REFINE_JUDGE;
      goto out;
    }
  }
  if (!told.len)
    feedback_tell(&t.variant, &t.verdict, r->task.reference, r->task.facts, &told);
  t.judge_ms = kr_now_ms() - begin;
  t.score = refine_score(&t.verdict);
  t.told = kr_bytes_take(&told);
  KR_GROW(result->turns, result->n, result->cap);
  result->turns[result->n++] = t;
  event->done = &result->turns[result->n - 1];
  refine_say(r, event, REFINE_JUDGED);
  event->done = NULL;
  memset(&t, 0, sizeof t);
  kr_verdict_init(&t.verdict);
out:
  variant_release(&t.variant);
  kr_verdict_release(&t.verdict);
  model_reply_release(&reply);
  kr_bytes_release(&told);
  return rc;
}

// --- the end ---

static bool refine_is_finalist(const struct refine_result *result, size_t i)
{
  const struct kr_verdict *v = &result->turns[i].verdict;
  if (v->status != KR_STATUS_OK || result->turns[i].same_as != SIZE_MAX)
    return false;
  if (v->n_times && v->speedup <= 1)
    return false;
  static const struct kr_hash none;
  for (size_t k = 0; k < result->n_finalists; k++) {
    const struct kr_verdict *other = &result->turns[result->finalists[k]].verdict;
    // Spelt otherwise, but the same machine code under the same launch.
    if (result->finalists[k] == i ||
        (!kr_hash_equal(v->code_hash, none) && kr_hash_equal(v->code_hash, other->code_hash) &&
         !result->turns[i].variant.candidate.has_geometry &&
         !result->turns[result->finalists[k]].variant.candidate.has_geometry))
      return false;
  }
  return true;
}

static void refine_finalists(struct refine_result *result)
{
  while (result->n_finalists < REFINE_FINALISTS) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < result->n; i++) {
      if (refine_is_finalist(result, i) &&
          (best == SIZE_MAX || result->turns[i].score > result->turns[best].score))
        best = i;
    }
    if (best == SIZE_MAX)
      return;
    result->finalists[result->n_finalists++] = best;
  }
}

int refine_run(const struct refine *r, struct refine_result *result, struct kr_err *err)
{
  const struct refine_options *o = &r->options;
  struct refine_event event = {
      .kernel = r->task.contract->kernel,
      .trajectories = refine_trajectories(o),
      .turns = refine_turns(o),
  };
  struct kr_err why = {""};
  unsigned judged = 0;
  int rc = 0;
  memset(result, 0, sizeof *result);
  for (event.trajectory = 1; event.trajectory <= event.trajectories; event.trajectory++) {
    for (event.turn = 1; event.turn <= event.turns; event.turn++) {
      if (o->stop && *o->stop) {
        result->end = REFINE_INTERRUPTED;
        rc = kr_err_set(&why, "kernel `%s`: interrupted", event.kernel);
        goto out;
      }
      if (result->calls >= o->max_calls) {
        result->end = REFINE_MAX_CALLS;
        kr_err_set(&why, "kernel `%s`: --max-calls is used up after %u of %u turns", event.kernel,
                   (event.trajectory - 1) * event.turns + event.turn - 1,
                   event.trajectories * event.turns);
        goto out;
      }
      rc = refine_turn_run(r, result, &event, &judged, &why);
      if (rc && result->end == REFINE_EXHAUSTED) {
        rc = 0;
        kr_err_prefix(&why, "kernel `%s`", event.kernel);
        goto out;
      }
      if (rc) {
        if (result->end != REFINE_PROMPT)
          kr_err_prefix(&why, "kernel `%s`, turn %u", event.kernel, event.turn);
        goto out;
      }
      const struct kr_verdict *v = &result->turns[result->n - 1].verdict;
      double share = feedback_roofline(v, r->task.reference, r->task.facts);
      if (v->status == KR_STATUS_OK && share >= refine_roofline) {
        result->end = REFINE_ROOFLINE;
        kr_err_set(&why, "kernel `%s`: a variant reaches %.0f %% of the memory bandwidth",
                   event.kernel, 100 * share);
        goto out;
      }
    }
  }
out:
  refine_finalists(result);
  if (why.text[0])
    result->why = kr_xstrdup(why.text);
  if (rc)
    kr_err_set(err, "%s", why.text);
  return rc;
}

void refine_result_release(struct refine_result *result)
{
  for (size_t i = 0; i < result->n; i++) {
    variant_release(&result->turns[i].variant);
    kr_verdict_release(&result->turns[i].verdict);
    free(result->turns[i].told);
  }
  free(result->turns);
  free(result->why);
  memset(result, 0, sizeof *result);
}
