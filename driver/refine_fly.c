#include <stdlib.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "refine_internal.h"

// Many trajectories at once, between two beams. This thread alone judges, keeps and
// tells; the model's own threads only bring replies. Of several that came, the one of
// the lowest turn is judged first: it is what a beam would wait for.

enum lane_state {
  LANE_ASK,      // to be asked for
  LANE_ASKED,
  LANE_ANSWERED, // to be judged
  LANE_THERE,    // all its turns up to the beam are taken
  LANE_FAILED
};

struct lane { // one trajectory
  enum lane_state state;
  unsigned turn;
  struct refine_turn t; // but in THERE
  struct model_reply reply; // for REPLIED; its text is t.reply
};

struct flight {
  const struct refine *r;
  struct refine_result *result;
  struct refine_event *event;
  const struct store_turns *kept;
  unsigned last, n, *judged;
  size_t *heads;
  struct lane *lanes;
  unsigned awaited, failed, in_a_row;
  bool closed; // nothing more is asked
  struct kr_err first_failure;
};

// So many failures without a reply between them are the server's, not a question's.
enum { FLIGHT_FAILURES = 3 };

static void flight_say(struct flight *f, unsigned i, enum refine_event_kind kind)
{
  f->event->trajectory = i + 1;
  f->event->turn = f->lanes[i].turn;
  f->event->awaited = f->awaited;
  refine_say(f->r, f->event, kind);
}

// From the lane's turn on: what is there is taken, the next is begun. Returns 1 where
// the search is over.
static int flight_settle(struct flight *f, unsigned i, struct kr_err *why)
{
  struct lane *l = &f->lanes[i];
  for (; l->turn <= f->last; l->turn++) {
    const struct refine_turn *t = refine_find(f->result, i + 1, l->turn);
    if (!t)
      break;
    f->heads[i] = (size_t)(t - f->result->turns);
    if (refine_at_roofline(f->r, f->result, t, why)) {
      l->state = LANE_THERE;
      return 1;
    }
  }
  l->state = LANE_THERE;
  if (l->turn > f->last)
    return 0;
  f->event->trajectory = i + 1;
  f->event->turn = l->turn;
  refine_turn_begin(&l->t, f->event, f->kept, f->heads[i]);
  l->state = l->t.reply ? LANE_ANSWERED : LANE_ASK;
  return 0;
}

// The lane in that state whose turn is lowest, or `n`.
static unsigned flight_next(const struct flight *f, enum lane_state state)
{
  unsigned best = f->n;
  for (unsigned i = 0; i < f->n; i++)
    if (f->lanes[i].state == state && (best == f->n || f->lanes[i].turn < f->lanes[best].turn))
      best = i;
  return best;
}

static int flight_ask(struct flight *f, unsigned i, struct kr_err *why)
{
  struct lane *l = &f->lanes[i];
  struct model_request req = {0};
  f->event->trajectory = i + 1;
  f->event->turn = l->turn;
  f->event->awaited = f->awaited + 1;
  int rc = refine_question(f->r, f->result, f->event, &l->t, &req, why);
  if (rc)
    return rc;
  model_begin(f->r->model, &req, i);
  free((void *)(size_t)req.history);
  l->state = LANE_ASKED;
  f->awaited++;
  return 0;
}

static void flight_fail(struct flight *f, unsigned i, const struct model_reply *reply,
                        struct kr_err *err)
{
  struct lane *l = &f->lanes[i];
  // A request that is no good may be this one alone: too long for the model, say.
  bool all = reply->failure == MODEL_REFUSED || reply->failure == MODEL_BUDGET;
  kr_err_prefix(err, "kernel `%s`, turn %u", f->event->kernel, l->turn);
  // What fails them all goes before what failed one.
  if (!f->failed || (all && !f->closed)) {
    f->first_failure = *err;
    f->result->failure = reply->failure;
  }
  l->state = LANE_FAILED;
  f->failed++;
  f->in_a_row++;
  bool was_closed = f->closed;
  f->closed |= all || f->in_a_row >= FLIGHT_FAILURES;
  if (!f->closed)
    kr_warn("%s; attempt %u ends here, the others go on", err->text, i + 1);
  else if (!was_closed && f->awaited)
    kr_warn("%s; nothing more is asked", err->text);
}

// Takes one that ended. Returns false when there was none.
static bool flight_land(struct flight *f, bool wait)
{
  struct kr_err err = {""};
  struct model_reply reply = {0};
  size_t i;
  if (!model_next(f->r->model, wait, &i, &reply, &err))
    return false;
  struct lane *l = &f->lanes[i];
  f->awaited--;
  if (reply.failure == MODEL_INTERRUPTED) {
    l->state = LANE_ASK; // by the next run
  } else if (reply.failure != MODEL_FINE) {
    flight_fail(f, (unsigned)i, &reply, &err);
  } else {
    f->in_a_row = 0;
    l->reply = reply;
    l->reply.text = NULL;
    refine_answer(f->r, f->result, &l->t, &reply);
    l->state = LANE_ANSWERED;
  }
  model_reply_release(&reply);
  return true;
}

static int flight_judge(struct flight *f, unsigned i, struct kr_err *why)
{
  struct lane *l = &f->lanes[i];
  if (l->reply.tries) {
    f->event->reply = &l->reply;
    flight_say(f, i, REFINE_REPLIED);
    f->event->reply = NULL;
  }
  l->reply = (struct model_reply){0};
  if (refine_judge_turn(f->r, f->result, &l->t, f->judged, why)) {
    kr_err_prefix(why, "kernel `%s`, turn %u", f->event->kernel, l->turn);
    return -1;
  }
  f->event->trajectory = i + 1;
  f->event->turn = l->turn;
  f->event->awaited = f->awaited;
  refine_add(f->r, f->result, f->event, &l->t);
  return flight_settle(f, i, why);
}

static bool flight_is_stopped(struct flight *f)
{
  const struct refine_options *o = &f->r->options;
  return o->stop && *o->stop;
}

// Asks for all that may be. Returns -1 with `why`.
static int flight_ask_all(struct flight *f, unsigned jobs, struct kr_err *why)
{
  struct kr_err spent = {""};
  for (unsigned i; !f->closed && f->awaited < jobs && (i = flight_next(f, LANE_ASK)) < f->n;) {
    if (refine_is_spent(f->r, f->result, f->event, &spent))
      return 0; // what is asked still comes
    if (flight_ask(f, i, why))
      return -1;
  }
  return 0;
}

// Nothing is asked, and nothing is there to judge: how does it stand?
static int flight_end(struct flight *f, struct kr_err *why)
{
  if (f->failed) {
    f->result->end = REFINE_MODEL;
    *why = f->first_failure;
    return -1;
  }
  if (flight_next(f, LANE_ASK) == f->n)
    return 0;
  refine_is_spent(f->r, f->result, f->event, why);
  return 1;
}

static int flight_run(struct flight *f, unsigned jobs, struct kr_err *why)
{
  bool told = false;
  for (;;) {
    if (flight_is_stopped(f)) {
      // The model breaks off by itself; what came before is kept.
      while (flight_land(f, true)) {
      }
      f->result->end = REFINE_INTERRUPTED;
      return kr_err_set(why, "kernel `%s`: interrupted", f->event->kernel);
    }
    if (flight_ask_all(f, jobs, why))
      return -1;
    while (flight_land(f, false)) {
    }
    unsigned i = flight_next(f, LANE_ANSWERED);
    if (i < f->n) {
      int rc = flight_judge(f, i, why);
      if (rc)
        return rc;
      told = false;
      continue;
    }
    if (!f->awaited && flight_is_stopped(f))
      continue;
    if (!f->awaited)
      return flight_end(f, why);
    if (!told)
      flight_say(f, flight_next(f, LANE_ASKED), REFINE_AWAITING);
    told = true;
    flight_land(f, true);
  }
}

int refine_fly(const struct refine *r, struct refine_result *result, struct refine_event *event,
               const struct store_turns *kept, unsigned first, unsigned last, unsigned jobs,
               size_t *heads, unsigned *judged, struct kr_err *why)
{
  struct flight f = {.r = r,
                     .result = result,
                     .event = event,
                     .kept = kept,
                     .last = last,
                     .n = event->trajectories,
                     .judged = judged,
                     .heads = heads};
  int rc = 0;
  f.lanes = kr_xcalloc(f.n, sizeof *f.lanes);
  for (unsigned i = 0; i < f.n; i++)
    f.lanes[i].state = LANE_THERE;
  for (unsigned i = 0; !rc && i < f.n; i++) {
    f.lanes[i].turn = first;
    rc = flight_settle(&f, i, why);
  }
  if (!rc)
    rc = flight_run(&f, jobs, why);
  while (f.awaited && flight_land(&f, false))
    ; // what has come is paid for: it is kept and counted
  if (f.awaited)
    model_cancel(r->model);
  for (unsigned i = 0; i < f.n; i++)
    if (f.lanes[i].state != LANE_THERE)
      refine_turn_release(&f.lanes[i].t);
  free(f.lanes);
  event->awaited = 0;
  return rc;
}
