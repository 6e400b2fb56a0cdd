// The built-in model: the rules of rewriter/rules/ tried one after another, each
// on top of the best that was found so far.
//
// It is a search, not a sampler: one long line of turns that goes on from
// trajectory to trajectory, since every turn knows all verdicts before it. A rule
// that failed at a place is never tried there again; one that was right and
// faster becomes the base of what follows. When the best base has nothing left,
// the same rule is tried with its other numbers where it won, and then others that
// are nearly as good are taken up. The same verdicts give the same proposals: there
// is no chance in it.
//
// Where nothing is timed every right step is built upon, in the order of the
// rules' own guesses, and nothing is tried whose only use is to be compared.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "../evaluator/evaluator.h"
#include "../rewriter/rules/rules.h"
#include "builtin.h"
#include "model.h"
#include "variant.h"

// A step must gain this much to be built upon; below it two times are the same.
static const double builtin_step = 1.005;
// Bases that are worth a second look when the best one has nothing left.
static const double builtin_near = 0.9;
// What is hoped for less than that is not worth a turn.
static const double builtin_hope = 1.002;
// At most hoped for of a rule's other numbers where it won with one of them.
static const double builtin_other = 0.04;

enum attempt_state { ATTEMPT_ASKED, ATTEMPT_FAILED, ATTEMPT_RIGHT };

struct attempt {
  char *rule, *place; // NULL for the original
  size_t base;        // attempt it was made from
  unsigned trajectory, turn;
  char *code;
  struct kr_geometry geometry;
  struct kr_hash hash; // of code and geometry
  double guess;        // product of the guesses that led here
  enum attempt_state state;
  bool unchanged;      // FAILED because the compiler had done it already
  double speedup;      // over the original; 0: not timed
  struct kr_proposals next; // what the rules say to it
  bool asked_rules;
};

struct builtin {
  char *file, *kernel;
  struct attempt *attempts; // [0] is the original
  size_t n, cap;
  bool untimed; // a right variant came back without a time
};

// --- attempts ---

static struct kr_hash attempt_hash(const char *code, const struct kr_geometry *g)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  kr_bytes_adds(&b, code);
  kr_bytes_addc(&b, '\n');
  variant_geometry(g, &b);
  struct kr_hash h = kr_lex_hash(b.data, b.len);
  kr_bytes_release(&b);
  return h;
}

static size_t attempt_add(struct builtin *m, const char *code, const struct kr_geometry *g)
{
  // `code` and `g` may be another attempt's, which growing moves.
  struct attempt a = {.code = kr_xstrdup(code), .guess = 1, .hash = attempt_hash(code, g)};
  variant_geometry_copy(g, &a.geometry);
  KR_GROW(m->attempts, m->n, m->cap);
  m->attempts[m->n] = a;
  return m->n++;
}

static void builtin_forget(struct builtin *m)
{
  for (size_t i = 0; i < m->n; i++) {
    struct attempt *a = &m->attempts[i];
    struct kr_candidate c = {.code = a->code, .has_geometry = true, .geometry = a->geometry};
    kr_candidate_release(&c);
    kr_proposals_release(&a->next);
    free(a->rule);
    free(a->place);
  }
  free(m->attempts);
  free(m->file);
  free(m->kernel);
  *m = (struct builtin){0};
}

static void builtin_begin(struct builtin *m, const struct model_request *req)
{
  builtin_forget(m);
  m->file = kr_xstrdup(req->file ? req->file : "");
  m->kernel = kr_xstrdup(req->kernel);
  size_t o = attempt_add(m, req->contract->code, &req->contract->geometry);
  m->attempts[o].state = ATTEMPT_RIGHT;
  m->attempts[o].speedup = 1;
}

static bool same_place(const struct attempt *a, const struct kr_proposal *p)
{
  return a->rule && !strcmp(a->rule, p->rule) && !strcmp(a->place, p->place);
}

// --- what the verdicts say ---

static void builtin_learn(struct builtin *m, const struct model_request *req)
{
  for (size_t i = 1; i < m->n; i++) {
    struct attempt *a = &m->attempts[i];
    for (size_t k = 0; k < req->n_history && a->state == ATTEMPT_ASKED; k++) {
      const struct model_turn *t = &req->history[k];
      if (t->trajectory != a->trajectory || t->turn != a->turn)
        continue;
      bool right = t->verdict->status == KR_STATUS_OK;
      a->state = right ? ATTEMPT_RIGHT : ATTEMPT_FAILED;
      a->unchanged = t->verdict->status == KR_STATUS_UNCHANGED;
      a->speedup = right ? t->verdict->speedup : 0;
      m->untimed = m->untimed || (right && !(a->speedup > 0));
    }
    // Asked, and nobody says what became of it: not to be built upon.
    if (a->state == ATTEMPT_ASKED)
      a->state = ATTEMPT_FAILED;
  }
}

// How good a base is. Restricted pointers gain little alone and help what follows.
static double attempt_worth(const struct builtin *m, const struct attempt *a)
{
  if (a->state != ATTEMPT_RIGHT)
    return 0;
  if (m->untimed)
    return a->guess;
  bool enables = a->rule && !strcmp(a->rule, "restrict") && a->base < m->n &&
                 a->speedup >= 0.995 * m->attempts[a->base].speedup;
  return a->speedup * (enables ? builtin_step : 1);
}

// --- the next one ---

static bool builtin_gained(const struct builtin *m, const struct attempt *a)
{
  return a->state == ATTEMPT_RIGHT &&
         (m->untimed || a->speedup >= builtin_step * m->attempts[a->base].speedup);
}

// Was it tried, so that trying it on `base` tells nothing new?
static bool builtin_tried(const struct builtin *m, size_t base, const struct kr_proposal *p,
                          struct kr_hash hash)
{
  for (size_t i = 0; i < m->n; i++) {
    const struct attempt *a = &m->attempts[i];
    if (kr_hash_equal(a->hash, hash))
      return true;
    // What all places together did not gain none of them will.
    if (a->rule && !strcmp(a->rule, p->rule) && !strcmp(a->place, "all") &&
        (a->unchanged || a->state == ATTEMPT_RIGHT))
      return true;
    if (!same_place(a, p))
      continue;
    if (a->base == base || a->state == ATTEMPT_FAILED)
      return true;
    // Right, but no gain where it was tried: only of sizes another base may think
    // otherwise.
    if (!builtin_gained(m, a) && strcmp(p->rule, "block-size"))
      return true;
  }
  return false;
}

static void builtin_ask_rules(struct builtin *m, size_t i, const struct kr_contract *c)
{
  struct attempt *a = &m->attempts[i];
  if (a->asked_rules)
    return;
  struct kr_rule_input in = {c, a->code, &a->geometry};
  kr_rules_propose(&in, &a->next);
  a->asked_rules = true;
}

// What is hoped for, with what the rule did elsewhere in mind: what was wrong once
// is wrong more easily, and what gained nothing twice will not the third time.
static double builtin_guess(const struct builtin *m, size_t base, const struct kr_proposal *p)
{
  double hope = p->gain - 1;
  for (size_t i = 1; i < m->n; i++) {
    const struct attempt *a = &m->attempts[i];
    if (strcmp(a->rule, p->rule))
      continue;
    if (a->state == ATTEMPT_FAILED && !a->unchanged)
      hope *= 0.7;
    else if (!builtin_gained(m, a) && (a->base == base || strcmp(p->rule, "block-size")))
      hope *= 0.5;
  }
  return 1 + hope;
}

// A proposal for a base, and what is hoped for of it.
struct choice {
  const struct kr_proposal *p; // NULL: there is none
  size_t base;
  double guess;
};

// Did a step to `won` leave no room for this one? What is offered there still, or
// was done on the way, is no alternative to it.
static bool builtin_excluded(struct builtin *m, size_t won, const struct kr_proposal *p,
                             const struct kr_contract *c)
{
  builtin_ask_rules(m, won, c);
  const struct kr_proposals *there = &m->attempts[won].next;
  for (size_t i = 0; i < there->n; i++) {
    if (!strcmp(there->items[i].rule, p->rule) && !strcmp(there->items[i].place, p->place))
      return false;
  }
  for (size_t i = won; i; i = m->attempts[i].base) {
    if (same_place(&m->attempts[i], p))
      return false;
  }
  return true;
}

// Takes the best proposal for `base` that was not tried if it is better than what
// `choice` holds. With `won`, a step from `base`: of its rule alone, what that
// step excluded.
static void builtin_consider(struct builtin *m, size_t base, size_t won,
                             const struct kr_contract *c, struct choice *choice)
{
  builtin_ask_rules(m, base, c);
  for (size_t i = 0; i < m->attempts[base].next.n; i++) {
    const struct kr_proposal *p = &m->attempts[base].next.items[i];
    if ((m->untimed && !strcmp(p->rule, "block-size")) ||
        (won != SIZE_MAX && (strcmp(m->attempts[won].rule, p->rule) || !builtin_excluded(m, won, p, c))))
      continue;
    double guess = builtin_guess(m, base, p);
    if (won != SIZE_MAX)
      guess = 1 + fmin(0.5 * (guess - 1), builtin_other);
    if (guess < builtin_hope || (choice->p && guess <= choice->guess))
      continue;
    struct kr_hash hash =
        attempt_hash(p->code, p->has_geometry ? &p->geometry : &m->attempts[base].geometry);
    if (!builtin_tried(m, base, p, hash))
      *choice = (struct choice){p, base, guess};
  }
}

// For the best base, or for a rule that led to it with other numbers; then for
// bases from the best down. Those far behind the best are left alone.
static struct choice builtin_choose(struct builtin *m, const struct kr_contract *c)
{
  bool *seen = kr_xcalloc(m->n, sizeof *seen);
  struct choice choice = {NULL, 0, 0};
  double top = 0;
  // Without times the guesses have led here, and there is nothing to come back for.
  for (size_t k = 0; k < (m->untimed ? 1 : m->n) && !choice.p; k++) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < m->n; i++) {
      if (!seen[i] && m->attempts[i].state == ATTEMPT_RIGHT &&
          (best == SIZE_MAX ||
           attempt_worth(m, &m->attempts[i]) > attempt_worth(m, &m->attempts[best])))
        best = i;
    }
    if (best == SIZE_MAX)
      break;
    seen[best] = true;
    double worth = attempt_worth(m, &m->attempts[best]);
    if (!k)
      top = worth;
    if (worth < builtin_near * top)
      break;
    builtin_consider(m, best, SIZE_MAX, c, &choice);
    // 4 elements a thread won: 8 may be better still.
    for (size_t i = best; i && !k && !m->untimed; i = m->attempts[i].base)
      builtin_consider(m, m->attempts[i].base, i, c, &choice);
  }
  free(seen);
  return choice;
}

void builtin_reply(const struct kr_contract *c, const char *code, const struct kr_geometry *g,
                   const char *summary, struct kr_bytes *out)
{
  struct kr_bytes launch, original;
  kr_bytes_init(&launch, 1 << 16);
  kr_bytes_init(&original, 1 << 16);
  variant_geometry(g, &launch);
  variant_geometry(&c->geometry, &original);
  kr_bytes_adds(out, "```cuda\n");
  if (strcmp(launch.data, original.data)) {
    kr_bytes_addf(out, "// launch: %s", launch.data);
    // What a launch line leaves out stays as the original has it.
    if ((!g->shared || !strcmp(g->shared, "0")) && c->geometry.shared && strcmp(c->geometry.shared, "0"))
      kr_bytes_adds(out, " shared(0)");
    kr_bytes_addc(out, '\n');
  }
  kr_bytes_adds(out, code);
  if (out->len && out->data[out->len - 1] != '\n')
    kr_bytes_addc(out, '\n');
  kr_bytes_addf(out, "```\n%s\n", summary);
  kr_bytes_release(&launch);
  kr_bytes_release(&original);
}

static int builtin_complete(void *self, const struct model_request *req, struct model_reply *reply,
                            struct kr_err *err)
{
  struct builtin *m = self;
  if (!m->kernel || !req->n_history || strcmp(m->kernel, req->kernel) ||
      strcmp(m->file, req->file ? req->file : ""))
    builtin_begin(m, req);
  builtin_learn(m, req);
  struct choice choice = builtin_choose(m, req->contract);
  const struct kr_proposal *p = choice.p;
  size_t base = choice.base;
  if (!p) {
    reply->failure = MODEL_EXHAUSTED;
    return kr_err_set(err, m->n == 1 ? "no rule of the built-in model applies"
                                     : "the built-in model has nothing left to try");
  }
  const struct kr_geometry *g = p->has_geometry ? &p->geometry : &m->attempts[base].geometry;
  // The summary tells the whole way back to the original.
  struct kr_bytes summary, text;
  kr_bytes_init(&summary, 1 << 16);
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  kr_bytes_addf(&summary, "%s (%.40s%s): %s", p->rule, p->place, strlen(p->place) > 40 ? "..." : "",
                p->summary);
  for (size_t i = base; i; i = m->attempts[i].base)
    kr_bytes_addf(&summary, "%s%s", i == base ? " On top of " : ", ", m->attempts[i].rule);
  if (base)
    kr_bytes_addc(&summary, '.');
  builtin_reply(req->contract, p->code, g, summary.data, &text);
  double guess = m->attempts[base].guess * p->gain;
  size_t made = attempt_add(m, p->code, g); // moves the attempts, not their proposals' strings
  struct attempt *a = &m->attempts[made];
  a->rule = kr_xstrdup(p->rule);
  a->place = kr_xstrdup(p->place);
  a->base = base;
  a->trajectory = req->trajectory;
  a->turn = req->turn;
  a->guess = guess;
  reply->len = text.len;
  reply->text = kr_bytes_take(&text);
  reply->tries = 1;
  kr_bytes_release(&summary);
  kr_bytes_release(&text);
  return 0;
}

static void builtin_close(void *self)
{
  builtin_forget(self);
  free(self);
}

int model_builtin_open(void **self, char **where, struct kr_err *err)
{
  (void)err;
  *self = kr_xcalloc(1, sizeof(struct builtin));
  size_t n = 0;
  while (kr_rules[n])
    n++;
  *where = kr_xasprintf("builtin, %zu rules (no network)", n);
  return 0;
}

const struct model_kind model_builtin = {
    .complete = builtin_complete, .close = builtin_close, .needs_no_prompt = true};
