#include "judge_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fill.h"
#include "reference_internal.h"
#include "scope.h"

// Is it right? The candidate runs before the original wherever contents are fresh,
// so that nothing of the answer is on the device when it computes.

enum {
  QUICK_BYTES = EVALUATOR_LARGE_BYTES, // a size above this waits for a thorough check
  SMALL_BYTES = 1 << 20, // of those above this a quick check takes one
  CHEAP_BYTES = 4 << 20,
  LEAST_POINTS = 5,
  MOST_ARGUMENTS = 12
};

// --- one instance ---

// Runs the candidate at one pair of placements and compares with `expected`, or
// with what the original makes of it afterwards (put into `fresh`).
static int check_pair(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                      struct kr_dataset *data, const struct trial *expected, struct trial *fresh,
                      enum kr_placement first, enum kr_placement second)
{
  struct kr_evaluator *e = j->e;
  struct kr_err err = {{0}};
  struct trial got = {0};
  const enum kr_placement place[2] = {trial_place(&e->d, in, first),
                                      trial_place(&e->d, in, second)};
  int rc = JUDGE_BROKE;
  if (trial_run(&got, &e->d, j->m, data, in, j->geometry, place, 2, &err)) {
    judge_broke(j, err.text);
    goto out;
  }
  if (got.status != KR_STATUS_OK) {
    j->device_lost |= got.device_lost;
    judge_fail_trial(j, stage, in, &got);
    rc = JUDGE_FAILED;
    goto out;
  }
  if (!expected && !fresh->run[0].after) {
    if (evaluator_original(e, in, data, fresh, &err) || fresh->device_lost) {
      j->device_lost |= fresh->device_lost;
      judge_broke(j, err.text[0] ? err.text : fresh->text);
      goto out;
    }
    if (fresh->status != KR_STATUS_OK) {
      rc = JUDGE_PASSED; // no size for the original after all: nothing to compare with
      goto out;
    }
  }
  const struct trial *ref = expected ? expected : fresh;
  // Whatever a variable of the module holds, the next launch may use in place of
  // work of its own.
  if (got.state_written && !ref->state_written) {
    judge_fail(j, stage, KR_STATUS_FAULT, in->held_out,
               "it leaves values behind in a variable of its own, where its next launch finds them");
    rc = JUDGE_FAILED;
    goto out;
  }
  // Inputs of extreme magnitude ask for more than the original promises where
  // its own results are not finite.
  if (j->extreme && compare_count_nonfinite(in, ref->run[0].after)) {
    rc = JUDGE_PASSED;
    goto out;
  }
  bool whole = e->ref.integer_exact && !expected && compare_inputs_whole(in) &&
               compare_all_whole(in, ref->run[0].after);
  struct compare_result r;
  struct compare_input q = trial_input(in, ref, &got);
  struct kr_bytes words;
  kr_bytes_init(&words, 64 << 10);
  q.stable = e->ref.deterministic;
  q.exact_values = whole;
  rc = judge_compare(j, ref, &q, &r, &words);
  if (rc != JUDGE_PASSED) {
    kr_bytes_release(&words);
    goto out;
  }
  if (r.kind != COMPARE_EQUAL) {
    j->v->max_rel_err = fmax(j->v->max_rel_err, r.max_rel_err);
    judge_fail_compare(j, stage, in, &r, words.data);
    rc = JUDGE_FAILED;
  } else {
    j->v->max_rel_err = fmax(j->v->max_rel_err, r.max_rel_err);
    j->v->exact &= r.exact;
    j->v->checks++;
    if (j->precise && !r.exact)
      rc = judge_precision(j, stage, in, ref, &got);
  }
  kr_bytes_release(&words);
out:
  trial_release(&got);
  return rc;
}

static int check_loaded(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                        struct kr_dataset *data, const struct trial *expected)
{
  struct trial fresh = {0};
  int rc = check_pair(j, stage, in, data, expected, &fresh, KR_PLACE_END, KR_PLACE_START);
  if (rc == JUDGE_PASSED && j->o->thorough && (expected || fresh.status == KR_STATUS_OK) &&
      !j->extreme)
    rc = check_pair(j, stage, in, data, expected, &fresh, KR_PLACE_ALIGN, KR_PLACE_ALIGN);
  judge_oracle_forget(j);
  trial_release(&fresh);
  return rc;
}

int judge_fresh(struct judgement *j, enum kr_stage stage, size_t case_index, uint64_t seed,
                enum kr_distribution dist, const struct kr_override *o, size_t n,
                bool held_out)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_err err = {{0}};
  if (evaluator_instance(e, case_index, seed, dist, o, n, &in, &err))
    return JUDGE_PASSED;
  in.held_out = held_out;
  j->extreme = dist == KR_DIST_LARGE || dist == KR_DIST_MIXED;
  int rc = judge_instance(j, stage, &in);
  j->extreme = false;
  kr_instance_release(&in);
  return rc;
}

int judge_instance(struct judgement *j, enum kr_stage stage, struct kr_instance *in)
{
  struct kr_evaluator *e = j->e;
  struct kr_dataset *data = NULL;
  struct kr_err err = {{0}};
  // Every other time outputs hold what a launch before may have left, so that a
  // kernel that fills in only what looks untouched is found out.
  if (j->n_fresh++ & 1 && instance_use_outputs(in, &err)) {
    judge_broke(j, err.text);
    return JUDGE_BROKE;
  }
  int rc = JUDGE_BROKE;
  if (e->backend->load(e->dev, in, &data, &err))
    judge_broke(j, err.text);
  else
    rc = check_loaded(j, stage, in, data, NULL);
  if (data)
    e->backend->dataset_free(e->dev, data);
  return rc;
}

static int check_declared(struct judgement *j, enum kr_stage stage, size_t index)
{
  struct declared_case *k = &j->e->cases[index];
  if (k->kept && !j->o->thorough)
    return check_loaded(j, stage, &k->in, k->data, &k->expected);
  j->precise = j->o->thorough;
  int rc = judge_fresh(j, stage, index, judge_draw(j), KR_DIST_NORMAL, NULL, 0, false);
  j->precise = false;
  return rc;
}

// The smallest case first: it is the smoke test.
static void order_cases(const struct kr_evaluator *e, size_t *order)
{
  for (size_t i = 0; i < e->c->n_cases; i++) {
    size_t at = i;
    while (at && e->cases[order[at - 1]].bytes > e->cases[i].bytes) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
}

// --- held-out sizes ---

bool judge_is_dealt(const struct judgement *j, size_t k)
{
  return j->o->shares < 2 || k % j->o->shares == j->o->share;
}

static bool time_left(const struct judgement *j)
{
  return j->o->thorough || kr_now_ms() < j->check_end_ms;
}

size_t judge_point_bytes(const struct kr_evaluator *e, const struct sizes_point *p)
{
  struct kr_override all[2 * SIZES_MAX_OVERRIDES];
  const struct declared_case *k = &e->cases[p->case_index];
  struct kr_instance plan;
  size_t n = sizes_join(all, p->overrides, p->n, k->overrides, k->n_overrides);
  if (instance_plan(&plan, e->c, p->case_index, all, n, NULL))
    return SIZE_MAX;
  size_t bytes = kr_instance_bytes(&plan);
  kr_instance_release(&plan);
  return bytes;
}

// Redraws a point's values within what was clean: the same bindings, other
// multiples of their units. Returns false when the point has nothing to redraw.
static bool redraw(struct judgement *j, const struct sizes_point *p, struct sizes_point *out)
{
  const struct kr_evaluator *e = j->e;
  const struct kr_case *k = &e->c->cases[p->case_index];
  *out = *p;
  bool changed = false;
  for (size_t i = 0; i < p->n; i++) {
    for (size_t b = 0; b < k->n_bindings; b++) {
      const struct sizes_binding *s = &e->cases[p->case_index].bindings[b];
      if (strcmp(k->bindings[b].path, p->overrides[i].path))
        continue;
      uint64_t bits = judge_draw(j);
      int64_t v = 0;
      if (s->role == SIZES_EXTENT && s->unit && !kr_value_as_int(p->overrides[i].value, &v) &&
          v > 2 * s->unit && v > s->value) {
        int64_t most = (v - s->value) / s->unit; // no farther above than was clean
        int64_t value = s->value + s->unit * (1 + (int64_t)fill_below(bits, (uint64_t)most));
        changed |= value != v;
        out->overrides[i].value = kr_value_int(value);
      } else if (s->role == SIZES_EXTENT && s->unit && v > 2 * s->unit) {
        // Not above what was clean, and small enough to be cheap.
        int64_t most = v / s->unit < 4096 ? v / s->unit : 4096;
        int64_t times = bits & 1 ? sizes_random_prime(judge_draw(j), most)
                                 : 1 + (int64_t)fill_below(judge_draw(j), (uint64_t)most);
        int64_t value = s->unit * times;
        changed |= value != v;
        out->overrides[i].value = kr_value_int(value);
      } else if (s->role == SIZES_REAL) {
        double was = kr_value_as_real(p->overrides[i].value);
        double scale = s->real != 0 ? fabs(s->real) : 1;
        if (was == 0 || fabs(was) >= scale)
          continue; // 0 and 1 are tried for what they are
        double value = copysign(scale * floor((0.25 + 0.75 * fill_unit(bits)) * 4096) / 4096, was);
        changed = true;
        out->overrides[i].value = kr_value_real(value);
      }
    }
  }
  return changed;
}

int judge_clean_at(struct judgement *j, const struct sizes_point *p, const char *attempt)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  char name[200];
  if (!attempt) {
    char *label = sizes_label(p->overrides, p->n);
    snprintf(name, sizeof name, "judging: case %zu: %.150s", p->case_index, label);
    free(label);
    attempt = name;
  }
  if (reference_avoids(e, attempt))
    return 0;
  struct kr_dataset *data = NULL;
  struct kr_err err = {{0}};
  struct trial t = {0};
  int rc = 0;
  if (evaluator_instance(e, p->case_index, judge_draw(j), KR_DIST_NORMAL, p->overrides, p->n, &in,
                         &err))
    return 0;
  reference_attempt(e, attempt);
  if (e->backend->load(e->dev, &in, &data, &err) || evaluator_original(e, &in, data, &t, &err) ||
      t.device_lost) {
    j->device_lost |= t.device_lost;
    rc = judge_broke(j, err.text[0] ? err.text : t.text);
  } else {
    rc = t.status == KR_STATUS_OK;
  }
  if (!t.device_lost) // else it stays, for whoever watches
    reference_attempt(e, "");
  trial_release(&t);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return rc;
}

int judge_point(struct judgement *j, const struct sizes_point *p, enum kr_distribution dist)
{
  struct kr_evaluator *e = j->e;
  struct kr_override o[SIZES_MAX_OVERRIDES];
  size_t n = sizes_join(o, p->overrides, p->n, NULL, 0);
  const struct kr_case *k = &e->c->cases[p->case_index];
  // Exactness needs whole scalars too.
  for (size_t i = 0; dist == KR_DIST_INTEGER && i < k->n_bindings && n + 2 < SIZES_MAX_OVERRIDES;
       i++) {
    static const int whole[] = {2, -1, 1, -2};
    if (k->bindings[i].drawn)
      o[n++] = (struct kr_override){k->bindings[i].path, kr_value_int(whole[i % 4])};
  }
  return judge_fresh(j, KR_STAGE_CHECK, p->case_index, judge_draw(j), dist, o, n, p->n > 0);
}

// True when some extent is larger there than in its case.
static bool is_above(const struct kr_evaluator *e, const struct sizes_point *p)
{
  const struct kr_case *k = &e->c->cases[p->case_index];
  for (size_t i = 0; i < p->n; i++) {
    for (size_t b = 0; b < k->n_bindings; b++) {
      const struct sizes_binding *s = &e->cases[p->case_index].bindings[b];
      int64_t v;
      if (s->role == SIZES_EXTENT && !strcmp(k->bindings[b].path, p->overrides[i].path) &&
          !kr_value_as_int(p->overrides[i].value, &v) && v > s->value)
        return true;
    }
  }
  return false;
}

// Integer inputs on as many elements as are cheap: there nothing is rounded, and
// what hides below the tolerance shows.
static int check_integers(struct judgement *j)
{
  struct sizes_point best;
  if (!j->e->ref.integer_exact || !judge_largest_cheap(j->e, &best))
    return JUDGE_PASSED;
  return judge_point(j, &best, KR_DIST_INTEGER);
}

bool judge_largest_cheap(const struct kr_evaluator *e, struct sizes_point *out)
{
  struct sizes_point best = {0};
  size_t most = 0;
  for (size_t k = 0; k < e->c->n_cases; k++) {
    if (e->cases[k].bytes <= CHEAP_BYTES && e->cases[k].bytes > most) {
      most = e->cases[k].bytes;
      best = (struct sizes_point){.case_index = k};
    }
  }
  for (size_t i = 0; i < e->n_points; i++) {
    size_t bytes = judge_point_bytes(e, &e->points[i]);
    if (bytes <= CHEAP_BYTES && bytes > most) {
      most = bytes;
      best = e->points[i];
    }
  }
  *out = best;
  return most > 0;
}

// Zeros hide what a scalar does.
static enum kr_distribution dist_for(const struct sizes_point *p, enum kr_distribution dist)
{
  for (size_t i = 0; i < p->n && dist == KR_DIST_ZERO; i++) {
    if (p->overrides[i].value.is_real)
      return KR_DIST_NORMAL;
  }
  return dist;
}

// An argument that was never changed may have been ignored: of every scalar that
// is no size a point stands among those that are tried in any case. Returns how many
// stand in front then.
static size_t order_by_argument(struct judgement *j, size_t *order, size_t front)
{
  const struct kr_evaluator *e = j->e;
  const struct kr_case *k = &e->c->cases[0];
  for (size_t b = 0; b < k->n_bindings && front < MOST_ARGUMENTS; b++) {
    enum sizes_role role = e->cases[0].bindings[b].role;
    if (role != SIZES_REAL && role != SIZES_INTEGER)
      continue;
    for (size_t i = front; i < e->n_points; i++) {
      const struct sizes_point *p = &e->points[order[i]];
      if (!p->n || p->case_index || strcmp(p->overrides[0].path, k->bindings[b].path))
        continue;
      size_t at = order[i];
      order[i] = order[front];
      order[front++] = at;
      break;
    }
  }
  return front;
}

static int check_held_out(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  static const enum kr_distribution dists[] = {KR_DIST_NORMAL, KR_DIST_INTEGER, KR_DIST_LARGE,
                                               KR_DIST_MIXED, KR_DIST_ZERO};
  size_t n = e->n_points;
  size_t *order = kr_xcalloc(n + 1, sizeof *order);
  for (size_t i = 0; i < n; i++) {
    size_t at = (size_t)fill_below(judge_draw(j), i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  // One that is larger than its case comes first: a quick check takes one large
  // point, and a kernel that stops where it was told to stop shows nowhere else.
  for (size_t i = 0; i < n; i++) {
    if (is_above(e, &e->points[order[i]])) {
      size_t at = order[i];
      order[i] = order[0];
      order[0] = at;
      break;
    }
  }
  size_t first = order_by_argument(j, order, n ? 1 : 0);
  int rc = judge_is_dealt(j, 1) ? check_integers(j) : JUDGE_PASSED;
  if (rc == JUDGE_PASSED && judge_is_dealt(j, 2))
    rc = judge_sensitive(j);
  bool large = false;
  size_t least = first > LEAST_POINTS ? first : LEAST_POINTS;
  // Whatever the budget says, some sizes that nobody told are tried, of each
  // instantiation of a template one at least.
  bool *tried = kr_xcalloc(kr_contract_kernels(e->c), sizeof *tried);
  for (size_t i = 0; i < n && rc == JUDGE_PASSED; i++) {
    const struct sizes_point *p = &e->points[order[i]];
    size_t kernel = kr_case_kernel(e->c, p->case_index);
    if ((i >= least && tried[kernel] && !time_left(j)) || !judge_is_dealt(j, order[i]))
      continue;
    struct sizes_point other;
    bool redrawn = redraw(j, p, &other), as_it_is = true, both = j->o->thorough;
    if (j->o->shares > 1 && judge_point_bytes(e, p) > QUICK_BYTES) {
      as_it_is = !redrawn; // the search has met it; one that nobody has met costs as much
      both = false;
    } else if (!j->o->thorough) {
      // Milliseconds count here: every point or its redrawn twin, and one large one.
      as_it_is = !redrawn || judge_draw(j) & 1;
      size_t bytes = judge_point_bytes(e, as_it_is ? p : &other);
      if (bytes > QUICK_BYTES || (bytes > SMALL_BYTES && large))
        continue;
      large |= bytes > SMALL_BYTES;
    }
    tried[kernel] = true;
    // Zeros and the like may hide what an argument does.
    bool argument = i > 0 && i < first;
    if (as_it_is)
      rc = judge_point(j, p, argument ? KR_DIST_NORMAL : dist_for(p, dists[i % 5]));
    if (rc == JUDGE_PASSED && redrawn && (both || !as_it_is)) {
      int clean = judge_clean_at(j, &other, NULL);
      rc = clean < 0 ? JUDGE_BROKE : JUDGE_PASSED;
      if (clean == 1)
        rc = judge_point(j, &other, argument ? KR_DIST_NORMAL : dist_for(&other, dists[(i + 1) % 5]));
    }
  }
  free(order);
  free(tried);
  return rc;
}

// Other distributions and seeds at the declared sizes; a random pair of points
// together: for finalists.
static int check_thoroughly(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  int rc = JUDGE_PASSED;
  for (size_t k = 0; k < e->c->n_cases && rc == JUDGE_PASSED; k++) {
    static const enum kr_distribution dists[] = {KR_DIST_LARGE, KR_DIST_INTEGER, KR_DIST_ZERO,
                                                 KR_DIST_MIXED};
    struct sizes_point declared = {.case_index = k};
    // Of a large case one that judges alone takes one.
    bool one = e->cases[k].bytes > EVALUATOR_LARGE_BYTES && j->o->shares < 2;
    size_t only = (size_t)fill_below(judge_draw(j), 4);
    for (size_t d = 0; d < 4 && rc == JUDGE_PASSED; d++) {
      if (one ? d == only : judge_is_dealt(j, 4 * k + d))
        rc = judge_point(j, &declared, dists[d]);
    }
  }
  for (int i = 0; i < 4 && e->n_points > 1 && rc == JUDGE_PASSED; i++) {
    const struct sizes_point *a = &e->points[fill_below(judge_draw(j), e->n_points)];
    const struct sizes_point *b = &e->points[fill_below(judge_draw(j), e->n_points)];
    struct sizes_point both = *a;
    if (a->case_index != b->case_index || a->n + b->n + 2 > SIZES_MAX_OVERRIDES ||
        !strcmp(a->overrides[0].path, b->overrides[0].path))
      continue;
    memcpy(both.overrides + a->n, b->overrides, b->n * sizeof *b->overrides);
    both.n += b->n;
    if (judge_point_bytes(e, &both) == SIZE_MAX)
      continue; // the two together break a require
    int clean = judge_is_dealt(j, (size_t)i) ? judge_clean_at(j, &both, NULL) : 0;
    rc = clean < 0 ? JUDGE_BROKE : JUDGE_PASSED;
    if (clean == 1)
      rc = judge_point(j, &both, KR_DIST_NORMAL);
  }
  return rc;
}

int judge_check(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  size_t *order = kr_xcalloc(e->c->n_cases, sizeof *order);
  order_cases(e, order);
  j->v->exact = true;
  int rc = JUDGE_PASSED;
  for (size_t i = 0; i < e->c->n_cases && rc == JUDGE_PASSED; i++) {
    if (i && !judge_is_dealt(j, order[i]))
      continue;
    judge_begin_stage(j, i ? KR_STAGE_CHECK : KR_STAGE_SMOKE);
    size_t before = j->v->checks;
    rc = check_declared(j, j->v->stage, order[i]);
    if (rc == JUDGE_PASSED && j->v->checks == before) {
      judge_broke(j, "the original could not be run at a declared case with fresh contents");
      rc = JUDGE_BROKE;
    }
    // A wrong result belongs to the check, also at the first case.
    if (rc == JUDGE_FAILED &&
        (j->v->status == KR_STATUS_WRONG || j->v->status == KR_STATUS_UNSTABLE))
      j->v->stage = KR_STAGE_CHECK;
  }
  free(order);
  if (rc == JUDGE_PASSED) {
    judge_begin_stage(j, KR_STAGE_CHECK);
    rc = check_held_out(j);
  }
  if (rc == JUDGE_PASSED)
    rc = judge_own_sizes(j);
  if (rc == JUDGE_PASSED && j->o->thorough)
    rc = check_thoroughly(j);
  if (rc != JUDGE_PASSED || !j->v->checks)
    j->v->exact = false;
  return rc;
}
