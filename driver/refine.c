#include "refine.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/mem.h"
#include "feedback.h"
#include "refine_internal.h"

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

void refine_say(const struct refine *r, struct refine_event *e, enum refine_event_kind kind)
{
  e->kind = kind;
  if (r->event)
    r->event(r->event_arg, e);
}

struct refine_turn *refine_find(const struct refine_result *result, unsigned trajectory,
                                unsigned turn)
{
  for (size_t i = 0; i < result->n; i++)
    if (result->turns[i].trajectory == trajectory && result->turns[i].turn == turn)
      return &result->turns[i];
  return NULL;
}

// The turns on the way to `head`, oldest first, the best of them marked.
static size_t refine_history(const struct refine_result *result, size_t head,
                             struct prompt_turn *out)
{
  size_t n = 0, best = SIZE_MAX;
  double best_score = 0;
  for (size_t i = head; i != SIZE_MAX; i = result->turns[i].parent)
    n++;
  for (size_t i = head, at = n; i != SIZE_MAX; i = result->turns[i].parent) {
    const struct refine_turn *t = &result->turns[i];
    out[--at] = (struct prompt_turn){t->turn, &t->variant, t->told, false};
    if (t->score > 0 && t->score >= best_score) { // of equals the first
      best_score = t->score;
      best = at;
    }
  }
  if (best != SIZE_MAX)
    out[best].best = true;
  return n;
}

// A turn's place and text as the store has them. Borrows.
static struct store_turn refine_kept(const struct refine_result *result,
                                     const struct refine_turn *t)
{
  struct store_turn k = {.trajectory = t->trajectory,
                         .turn = t->turn,
                         .prompt = t->prompt,
                         .reply = t->reply,
                         .truncated = t->truncated,
                         .tokens_in = t->tokens_in,
                         .tokens_out = t->tokens_out,
                         .model_ms = t->model_ms,
                         .judge_ms = t->judge_ms,
                         .told = t->told};
  if (t->parent != SIZE_MAX) {
    k.parent_trajectory = result->turns[t->parent].trajectory;
    k.parent_turn = result->turns[t->parent].turn;
  }
  if (t->same_as != SIZE_MAX) {
    k.same_trajectory = result->turns[t->same_as].trajectory;
    k.same_turn = result->turns[t->same_as].turn;
  }
  return k;
}

int refine_question(const struct refine *r, struct refine_result *result,
                    struct refine_event *event, struct refine_turn *t, struct model_request *req,
                    struct kr_err *err)
{
  const struct kr_contract *c = r->task.contract;
  struct prompt_turn *history = kr_xcalloc(event->turn, sizeof *history);
  size_t n = refine_history(result, t->parent, history);
  struct kr_bytes prompt;
  kr_bytes_init(&prompt, KR_BYTES_DEFAULT_MAX);
  bool reads = model_reads_prompts(r->model);
  int rc = reads ? prompt_build(&r->task, history, n, event->turn, &prompt, err) : 0;
  if (rc) {
    result->end = REFINE_PROMPT;
    goto out;
  }
  struct model_turn *turns = kr_xcalloc(result->n + 1, sizeof *turns);
  for (size_t i = 0; i < result->n; i++) {
    const struct refine_turn *h = &result->turns[i];
    turns[i] = (struct model_turn){h->trajectory, h->turn, &h->variant, &h->verdict};
  }
  t->prompt = reads ? kr_bytes_take(&prompt) : NULL;
  event->prompt = t->prompt;
  refine_say(r, event, REFINE_ASKING);
  event->prompt = NULL;
  *req = (struct model_request){
      .prompt = t->prompt,
      .file = c->file,
      .kernel = c->kernel,
      .contract = c,
      .trajectory = event->trajectory,
      .turn = event->turn,
      .history = turns,
      .n_history = result->n,
  };
  if (r->search && reads) {
    struct store_turn kept = refine_kept(result, t);
    store_asked(r->search, &kept);
  }
  result->calls++;
  if (r->options.budget)
    budget_asked(r->options.budget);
out:
  free(history);
  kr_bytes_release(&prompt);
  return rc;
}

void refine_answer(const struct refine *r, struct refine_result *result, struct refine_turn *t,
                   struct model_reply *reply)
{
  t->tokens_in = reply->tokens_in;
  t->tokens_out = reply->tokens_out;
  t->model_ms = reply->wall_ms;
  t->truncated = reply->truncated;
  result->tokens_in += reply->tokens_in;
  result->tokens_out += reply->tokens_out;
  struct budget *budget = r->options.budget;
  if (budget && reply->have_usage)
    budget_replied(budget, true, reply->tokens_in, reply->tokens_out);
  else if (budget && t->prompt)
    budget_replied(budget, false, strlen(t->prompt), reply->len);
  t->reply = reply->text;
  reply->text = NULL;
  if (r->search) {
    struct store_turn kept = refine_kept(result, t);
    if (!model_reads_prompts(r->model))
      store_asked(r->search, &kept);
    store_replied(r->search, &kept);
  }
}

// Fills t->prompt and t->reply.
static int refine_ask(const struct refine *r, struct refine_result *result,
                      struct refine_event *event, struct refine_turn *t, struct kr_err *err)
{
  struct model_request req = {0};
  struct model_reply reply = {0};
  int rc = refine_question(r, result, event, t, &req, err);
  if (rc)
    return rc;
  rc = model_complete(r->model, &req, &reply, err);
  free((void *)(size_t)req.history);
  if (rc && (reply.failure == MODEL_EXHAUSTED || reply.failure == MODEL_WAITING)) {
    result->calls--; // it said nothing
    if (r->options.budget)
      budget_unasked(r->options.budget);
    result->end = reply.failure == MODEL_WAITING ? REFINE_WAITING : REFINE_EXHAUSTED;
  } else if (rc) {
    result->end = reply.failure == MODEL_INTERRUPTED ? REFINE_INTERRUPTED : REFINE_MODEL;
    result->failure = reply.failure;
  } else {
    refine_answer(r, result, t, &reply);
    event->reply = &reply;
    refine_say(r, event, REFINE_REPLIED);
    event->reply = NULL;
  }
  model_reply_release(&reply);
  return rc;
}

static bool refine_is_ancestor(const struct refine_result *result, size_t of, size_t i)
{
  for (; of != SIZE_MAX; of = result->turns[of].parent)
    if (of == i)
      return true;
  return false;
}

int refine_judge_turn(const struct refine *r, struct refine_result *result, struct refine_turn *t,
                      unsigned *judged, struct kr_err *err)
{
  struct kr_bytes told;
  double begin = kr_now_ms();
  int rc = 0;
  kr_bytes_init(&told, REFINE_MAX_TOLD);
  if (variant_parse(t->reply, strlen(t->reply), t->truncated, &r->task.contract->geometry,
                    &t->variant)) {
    verdict_of_parser(&t->verdict, t->variant.why);
  } else if ((t->same_as = refine_twin(result, &t->variant)) != SIZE_MAX) {
    const struct refine_turn *twin = &result->turns[t->same_as];
    verdict_of_twin(&t->verdict, &twin->verdict);
    if (refine_is_ancestor(result, t->parent, t->same_as))
      kr_bytes_addf(&told, "the same code as in turn %u: ", twin->turn);
    kr_bytes_adds(&told, twin->told);
  } else {
    rc = r->judge(r->judge_arg, &t->variant.candidate, ++*judged, &t->verdict, err);
    if (rc) {
      result->end = REFINE_JUDGE;
      goto out;
    }
  }
  if (!told.len)
    feedback_tell(&t->variant, &t->verdict, r->task.reference, r->task.facts, &told);
  t->judge_ms = kr_now_ms() - begin;
  t->score = refine_score(&t->verdict);
  t->told = kr_bytes_take(&told);
  if (r->search && t->verdict.status != KR_STATUS_ENVIRONMENT) {
    // What blames the machine is judged again by the next run.
    struct store_turn kept = refine_kept(result, t);
    store_judged(r->search, &kept, &t->variant, &t->verdict, t->score);
  }
out:
  kr_bytes_release(&told);
  return rc;
}

void refine_turn_release(struct refine_turn *t)
{
  variant_release(&t->variant);
  kr_verdict_release(&t->verdict);
  free(t->told);
  free(t->prompt);
  free(t->reply);
}

void refine_add(const struct refine *r, struct refine_result *result, struct refine_event *event,
                struct refine_turn *t)
{
  t->model = model_name_of(r->model, t->trajectory);
  KR_GROW(result->turns, result->n, result->cap);
  result->turns[result->n++] = *t;
  *t = (struct refine_turn){0};
  event->done = &result->turns[result->n - 1];
  refine_say(r, event, REFINE_JUDGED);
  event->done = NULL;
}

void refine_turn_begin(struct refine_turn *t, const struct refine_event *event,
                       const struct store_turns *kept, size_t head)
{
  *t = (struct refine_turn){.trajectory = event->trajectory,
                            .turn = event->turn,
                            .parent = head,
                            .same_as = SIZE_MAX};
  kr_verdict_init(&t->verdict);
  for (size_t i = 0; i < kept->n; i++) {
    const struct store_turn *k = &kept->items[i];
    if (k->trajectory != t->trajectory || k->turn != t->turn || !k->reply)
      continue;
    t->reply = kr_xstrdup(k->reply);
    t->prompt = k->prompt ? kr_xstrdup(k->prompt) : NULL;
    t->truncated = k->truncated;
    t->tokens_in = k->tokens_in;
    t->tokens_out = k->tokens_out;
    t->model_ms = k->model_ms;
  }
}

// One turn after `head`.
static int refine_turn_run(const struct refine *r, struct refine_result *result,
                           struct refine_event *event, const struct store_turns *kept, size_t head,
                           unsigned *judged, struct kr_err *err)
{
  struct refine_turn t;
  refine_turn_begin(&t, event, kept, head);
  int rc = t.reply ? 0 : refine_ask(r, result, event, &t, err);
  if (!rc)
    rc = refine_judge_turn(r, result, &t, judged, err);
  if (!rc)
    refine_add(r, result, event, &t);
  refine_turn_release(&t);
  return rc;
}

// --- what an earlier run left ---

// A turn that was judged, as if it had been now. Returns false when it cannot be
// taken: its verdict cannot be read, or the turn before it is not there.
static bool refine_take_kept(const struct refine *r, struct refine_result *result,
                             struct refine_event *event, const struct store_turn *k)
{
  struct kr_err err;
  struct refine_turn t = {.trajectory = k->trajectory, .turn = k->turn, .from_store = true};
  const struct refine_turn *parent = refine_find(result, k->parent_trajectory, k->parent_turn);
  const struct refine_turn *same = refine_find(result, k->same_trajectory, k->same_turn);
  kr_verdict_init(&t.verdict);
  if (!k->reply || !k->verdict || !k->told || (k->turn > 1 && !parent) ||
      (k->same_turn && !same) ||
      kr_verdict_from_json(&t.verdict, k->verdict, strlen(k->verdict), &err)) {
    kr_verdict_release(&t.verdict);
    return false;
  }
  t.parent = parent ? (size_t)(parent - result->turns) : SIZE_MAX;
  t.same_as = same ? (size_t)(same - result->turns) : SIZE_MAX;
  t.prompt = k->prompt ? kr_xstrdup(k->prompt) : NULL;
  t.reply = kr_xstrdup(k->reply);
  t.told = kr_xstrdup(k->told);
  t.truncated = k->truncated;
  t.tokens_in = k->tokens_in;
  t.tokens_out = k->tokens_out;
  t.model_ms = k->model_ms;
  t.judge_ms = k->judge_ms;
  variant_parse(t.reply, strlen(t.reply), t.truncated, &r->task.contract->geometry, &t.variant);
  t.score = refine_score(&t.verdict);
  event->trajectory = t.trajectory;
  event->turn = t.turn;
  refine_add(r, result, event, &t);
  return true;
}

static int refine_load(const struct refine *r, struct refine_result *result,
                       struct refine_event *event, struct store_turns *kept, unsigned *judged,
                       struct kr_err *err)
{
  if (store_search_load(r->search, kept, err))
    return -1;
  for (size_t i = 0; i < kept->n; i++) {
    const struct store_turn *k = &kept->items[i];
    if (k->trajectory > event->trajectories || k->turn > event->turns)
      continue;
    if (refine_take_kept(r, result, event, k))
      *judged += result->turns[result->n - 1].same_as == SIZE_MAX &&
                 result->turns[result->n - 1].variant.candidate.code;
  }
  return 0;
}

// --- the beam ---

// The best score on the way to a turn.
static double refine_best_score(const struct refine_result *result, size_t head)
{
  double best = 0;
  for (; head != SIZE_MAX; head = result->turns[head].parent)
    if (result->turns[head].score > best)
      best = result->turns[head].score;
  return best;
}

// Which turn each of `n` trajectories goes on from, after these.
static void refine_beam(const struct refine_result *result, size_t *heads, unsigned n,
                        unsigned keep)
{
  size_t *kept = kr_xcalloc(n, sizeof *kept);
  bool *taken = kr_xcalloc(n, sizeof *taken);
  keep = keep < n ? keep : n;
  for (unsigned k = 0; k < keep; k++) {
    unsigned best = n;
    double best_score = -1;
    for (unsigned i = 0; i < n; i++) {
      double score = refine_best_score(result, heads[i]);
      if (!taken[i] && score > best_score) {
        best = i;
        best_score = score;
      }
    }
    taken[best] = true;
    kept[k] = heads[best];
  }
  for (unsigned i = 0; i < n; i++)
    heads[i] = kept[i % keep];
  free(kept);
  free(taken);
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

const char *refine_end_name(enum refine_end end)
{
  static const char *const names[] = {
      [REFINE_DONE] = "done",         [REFINE_MAX_CALLS] = "max-calls",
      [REFINE_MAX_TOKENS] = "max-tokens", [REFINE_TIME_BUDGET] = "time-budget",
      [REFINE_EXHAUSTED] = "exhausted", [REFINE_ROOFLINE] = "roofline",
      [REFINE_WAITING] = "waiting",   [REFINE_INTERRUPTED] = "interrupted",
      [REFINE_MODEL] = "model",       [REFINE_JUDGE] = "judge",
      [REFINE_PROMPT] = "prompt"};
  return names[end];
}

bool refine_at_roofline(const struct refine *r, struct refine_result *result,
                        const struct refine_turn *t, struct kr_err *why)
{
  double share = feedback_roofline(&t->verdict, r->task.reference, r->task.facts);
  if (t->verdict.status != KR_STATUS_OK || share < refine_roofline)
    return false;
  result->end = REFINE_ROOFLINE;
  kr_err_set(why, "kernel `%s`: a variant reaches %.0f %% of the memory bandwidth",
             r->task.contract->kernel, 100 * share);
  return true;
}

bool refine_end_is_budget(enum refine_end end)
{
  return end == REFINE_MAX_CALLS || end == REFINE_MAX_TOKENS || end == REFINE_TIME_BUDGET;
}

bool refine_is_spent(const struct refine *r, struct refine_result *result,
                     const struct refine_event *event, struct kr_err *why)
{
  static const enum refine_end ends[] = {[BUDGET_CALLS] = REFINE_MAX_CALLS,
                                         [BUDGET_TOKENS] = REFINE_MAX_TOKENS,
                                         [BUDGET_TIME] = REFINE_TIME_BUDGET};
  enum budget_limit limit = r->options.budget ? budget_reached(r->options.budget) : BUDGET_LEFT;
  if (limit == BUDGET_LEFT)
    return false;
  result->end = ends[limit];
  kr_err_set(why, "kernel `%s`: %s is used up after %zu of %u turns", event->kernel,
             budget_option(limit), result->n, event->trajectories * event->turns);
  return true;
}

// The trajectory of the event, from its turn to `last`. Returns 0 to go on with the
// next, 1 when the search is over, -1 with `why`.
static int refine_trajectory(const struct refine *r, struct refine_result *result,
                             struct refine_event *event, const struct store_turns *kept,
                             unsigned last, size_t *head, unsigned *judged, struct kr_err *why)
{
  const struct refine_options *o = &r->options;
  for (; event->turn <= last; event->turn++) {
    struct refine_turn *t = refine_find(result, event->trajectory, event->turn);
    bool answered = false;
    for (size_t i = 0; !t && i < kept->n; i++)
      answered |= kept->items[i].trajectory == event->trajectory &&
                  kept->items[i].turn == event->turn && kept->items[i].reply;
    if (!t && o->stop && *o->stop) {
      result->end = REFINE_INTERRUPTED;
      return kr_err_set(why, "kernel `%s`: interrupted", event->kernel);
    }
    if (!t && !answered && refine_is_spent(r, result, event, why))
      return 1;
    if (!t) {
      int rc = refine_turn_run(r, result, event, kept, *head, judged, why);
      if (rc && result->end == REFINE_WAITING) {
        result->waiting++;
        result->end = REFINE_DONE; // for the others
        why->text[0] = 0;
        return 0;
      }
      if (rc && result->end == REFINE_EXHAUSTED) {
        kr_err_prefix(why, "kernel `%s`", event->kernel);
        return 1;
      }
      if (rc) {
        if (result->end != REFINE_PROMPT)
          kr_err_prefix(why, "kernel `%s`, turn %u", event->kernel, event->turn);
        return -1;
      }
      t = &result->turns[result->n - 1];
    }
    *head = (size_t)(t - result->turns);
    if (refine_at_roofline(r, result, t, why))
      return 1;
  }
  return 0;
}

static unsigned refine_jobs(const struct refine *r)
{
  unsigned n = refine_trajectories(&r->options), jobs = r->options.jobs;
  if (!model_is_concurrent(r->model))
    return 1;
  if (!jobs || jobs > REFINE_MAX_JOBS)
    jobs = REFINE_MAX_JOBS;
  return jobs < n ? jobs : n;
}

static int refine_walk(const struct refine *r, struct refine_result *result, struct kr_err *why)
{
  const struct refine_options *o = &r->options;
  struct refine_event event = {
      .kernel = r->task.contract->kernel,
      .trajectories = refine_trajectories(o),
      .turns = refine_turns(o),
  };
  struct store_turns kept = {0};
  unsigned judged = 0, every = o->beam_every && o->beam_keep ? o->beam_every : event.turns;
  unsigned jobs = refine_jobs(r);
  size_t *heads = kr_xcalloc(event.trajectories, sizeof *heads);
  int rc = 0;
  for (unsigned i = 0; i < event.trajectories; i++)
    heads[i] = SIZE_MAX;
  if (r->search && refine_load(r, result, &event, &kept, &judged, why)) {
    result->end = REFINE_JUDGE;
    rc = -1;
    goto out;
  }
  for (unsigned first = 1; first <= event.turns; first += every) {
    unsigned last = event.turns - first < every ? event.turns : first + every - 1;
    if (first > 1) {
      refine_beam(result, heads, event.trajectories, o->beam_keep);
      event.turn = first;
      event.heads = heads;
      refine_say(r, &event, REFINE_BEAM);
      event.heads = NULL;
    }
    if (jobs > 1) {
      rc = refine_fly(r, result, &event, &kept, first, last, jobs, heads, &judged, why);
      if (rc)
        goto out;
      continue;
    }
    for (event.trajectory = 1; event.trajectory <= event.trajectories; event.trajectory++) {
      event.turn = first;
      rc = refine_trajectory(r, result, &event, &kept, last, &heads[event.trajectory - 1], &judged,
                             why);
      if (rc)
        goto out;
    }
    if (result->waiting) {
      result->end = REFINE_WAITING;
      kr_err_set(why, "kernel `%s`: %u prompt%s for a reply", event.kernel, result->waiting,
                 result->waiting == 1 ? " waits" : "s wait");
      goto out;
    }
  }
out:
  free(heads);
  store_turns_release(&kept);
  return rc < 0 ? -1 : 0;
}

int refine_run(const struct refine *r, struct refine_result *result, struct kr_err *err)
{
  struct kr_err why = {""};
  struct refine with_base = *r;
  memset(result, 0, sizeof *result);
  if (r->search && model_reads_prompts(r->model)) {
    // Times of the original are in it, and would be others in every run.
    if (!store_search_base(r->search)) {
      struct kr_bytes base;
      kr_bytes_init(&base, KR_BYTES_DEFAULT_MAX);
      prompt_base(&r->task, &base);
      store_set_base(r->search, base.data);
      kr_bytes_release(&base);
    }
    with_base.task.base = store_search_base(r->search);
  }
  int rc = refine_walk(&with_base, result, &why);
  if (r->search && !rc &&
      (result->end == REFINE_DONE || result->end == REFINE_EXHAUSTED ||
       result->end == REFINE_ROOFLINE))
    store_ended(r->search, refine_end_name(result->end), why.text[0] ? why.text : NULL);
  refine_finalists(result);
  if (why.text[0])
    result->why = kr_xstrdup(why.text);
  if (rc)
    kr_err_set(err, "%s", why.text);
  return rc;
}

void refine_result_release(struct refine_result *result)
{
  for (size_t i = 0; i < result->n; i++)
    refine_turn_release(&result->turns[i]);
  free(result->turns);
  free(result->why);
  memset(result, 0, sizeof *result);
}
