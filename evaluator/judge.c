#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "evaluate.h"
#include "fill.h"
#include "scope.h"
#include "stats.h"

// A judgement: compile, smoke, check, time; the first that fails is the verdict.
//
// The candidate runs before the original wherever contents are fresh, on clones
// of its own, twice, with outputs poisoned differently, at placements that the
// original survives; what the original makes of them stays on the host. At
// sizes drawn for this judgement the original is run first with *other*
// contents, only to see that it is clean there.

enum {
  CHECK_BUDGET_MS = 2000,
  TIME_BUDGET_MS = 400,
  SEARCH_PAIRS = 60,
  CONFIRM_PAIRS = 60,
  STREAM_JUDGE = 3 << 20,
  QUICK_BYTES = EVALUATOR_LARGE_BYTES, // a size above this waits for a thorough check
  SMALL_BYTES = 1 << 20,  // of those above this a quick check takes one
  INTEGER_BYTES = 4 << 20,
  LEAST_POINTS = 5,
  MAX_TOLD = 8 << 10
};

struct judgement {
  struct kr_evaluator *e;
  const struct kr_candidate *cand;
  const struct kr_judge_options *o;
  struct kr_verdict *v;
  struct kr_module *m;
  const struct kr_geometry *geometry;
  uint64_t draws; // of random numbers so far
  double check_end_ms;
  bool unusual; // the instance in hand holds large or mixed magnitudes
  bool device_lost;
};

static uint64_t draw(struct judgement *j)
{
  return fill_bits(j->o->seed, STREAM_JUDGE, j->draws++);
}

// Said before the candidate is touched, so that whoever watches this process
// knows of what it died.
static void begin_stage(struct judgement *j, enum kr_stage stage)
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

static const char *const held_out_words[] = {
    [KR_STATUS_OK] = "",
    [KR_STATUS_LAUNCH_FAILED] = "the launch fails",
    [KR_STATUS_FAULT] = "it faults",
    [KR_STATUS_TIMEOUT] = "it does not end in time",
    [KR_STATUS_WRONG] = "the result is wrong",
    [KR_STATUS_UNSTABLE] = "two launches on equal inputs differ",
    [KR_STATUS_UNSUPPORTED] = "the back end cannot run it",
};

// `told` is for models: of sizes that are held out they learn stage and kind.
static void fail(struct judgement *j, enum kr_stage stage, enum kr_status status, bool held_out,
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

// The driver or the worker broke: nothing is said about the candidate.
static int broke(struct judgement *j, const char *text)
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

static void fail_trial(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                       const struct trial *t)
{
  char *text = kr_xasprintf("%s, in the case %s", t->text, in->label);
  fail(j, stage, t->status, in->held_out, text);
  free(text);
}

static void fail_compare(struct judgement *j, enum kr_stage stage, const struct kr_instance *in,
                         const struct compare_result *r, const char *words)
{
  fail(j, stage, status_of_kind(r->kind), in->held_out, words);
  struct kr_bytes where;
  kr_bytes_init(&where, 8192);
  compare_where(in, r, &where);
  kr_bytes_addf(&where, " in case %s", in->label);
  j->v->where = kr_bytes_take(&where);
  kr_bytes_release(&where);
  j->v->expected = r->expected;
  j->v->got = r->got;
}

// --- one instance ---

enum { PASSED, FAILED, BROKE };

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
  int rc = BROKE;
  if (trial_run(&got, &e->d, j->m, data, in, j->geometry, place, 2, &err)) {
    broke(j, err.text);
    goto out;
  }
  if (got.status != KR_STATUS_OK) {
    j->device_lost |= got.device_lost;
    fail_trial(j, stage, in, &got);
    rc = FAILED;
    goto out;
  }
  if (!expected && !fresh->run[0].after) {
    if (evaluator_original(e, in, data, fresh, &err) || fresh->device_lost) {
      j->device_lost |= fresh->device_lost;
      broke(j, err.text[0] ? err.text : fresh->text);
      goto out;
    }
    if (fresh->status != KR_STATUS_OK) {
      rc = PASSED; // no size for the original after all: nothing to compare with
      goto out;
    }
  }
  const struct trial *ref = expected ? expected : fresh;
  // Inputs of unusual magnitude ask for more than the original promises where
  // its own results are not finite.
  if (j->unusual && compare_count_nonfinite(in, ref->run[0].after)) {
    rc = PASSED;
    goto out;
  }
  bool whole = e->ref.integer_exact && !expected && compare_all_whole(in, ref->run[0].after);
  struct compare_result r;
  struct kr_bytes words;
  kr_bytes_init(&words, 64 << 10);
  if (trial_compare(in, ref, &got, e->ref.deterministic, whole, j->unusual, &r, &words, &err)) {
    broke(j, err.text);
  } else if (r.kind != COMPARE_EQUAL) {
    j->v->max_rel_err = fmax(j->v->max_rel_err, r.max_rel_err);
    fail_compare(j, stage, in, &r, words.data);
    rc = FAILED;
  } else {
    j->v->max_rel_err = fmax(j->v->max_rel_err, r.max_rel_err);
    j->v->exact &= r.exact;
    j->v->checks++;
    rc = PASSED;
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
  if (rc == PASSED && j->o->thorough && (expected || fresh.status == KR_STATUS_OK) && !j->unusual)
    rc = check_pair(j, stage, in, data, expected, &fresh, KR_PLACE_ALIGN, KR_PLACE_ALIGN);
  trial_release(&fresh);
  return rc;
}

// Makes an instance, loads it and checks. One that cannot be made passes: there
// is nothing there to compute.
static int check_fresh(struct judgement *j, enum kr_stage stage, size_t case_index, uint64_t seed,
                       enum kr_distribution dist, const struct kr_override *o, size_t n,
                       bool held_out)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct kr_err err = {{0}};
  if (evaluator_instance(e, case_index, seed, dist, o, n, &in, &err))
    return PASSED;
  in.held_out = held_out;
  j->unusual = dist == KR_DIST_LARGE || dist == KR_DIST_MIXED;
  int rc = BROKE;
  if (e->backend->load(e->dev, &in, &data, &err))
    broke(j, err.text);
  else
    rc = check_loaded(j, stage, &in, data, NULL);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  j->unusual = false;
  return rc;
}

static int check_declared(struct judgement *j, enum kr_stage stage, size_t index)
{
  struct declared_case *k = &j->e->cases[index];
  if (k->kept && !j->o->thorough)
    return check_loaded(j, stage, &k->in, k->data, &k->expected);
  return check_fresh(j, stage, index, draw(j), KR_DIST_NORMAL, NULL, 0, false);
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

static bool time_left(const struct judgement *j)
{
  return j->o->thorough || evaluator_now_ms() < j->check_end_ms;
}

static size_t point_bytes(const struct kr_evaluator *e, const struct sizes_point *p)
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
      uint64_t bits = draw(j);
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
        int64_t value = s->unit * (bits & 1 ? sizes_random_prime(draw(j), most)
                                            : 1 + (int64_t)fill_below(draw(j), (uint64_t)most));
        changed |= value != v;
        out->overrides[i].value = kr_value_int(value);
      } else if (s->role == SIZES_REAL) {
        double was = kr_value_as_real(p->overrides[i].value);
        double scale = s->real != 0 ? fabs(s->real) : 1;
        double value = copysign(scale * floor((0.25 + 0.75 * fill_unit(bits)) * 4096) / 4096, was);
        changed = true;
        out->overrides[i].value = kr_value_real(value);
      }
    }
  }
  return changed;
}

// Whether the original is clean at a redrawn point, seen with contents that the
// candidate will not get. Returns 1 or 0, or -1 when the device is lost.
static int clean_at(struct judgement *j, const struct sizes_point *p)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct kr_err err = {{0}};
  struct trial t = {0};
  int rc = 0;
  if (evaluator_instance(e, p->case_index, draw(j), KR_DIST_NORMAL, p->overrides, p->n, &in, &err))
    return 0;
  if (e->backend->load(e->dev, &in, &data, &err) || evaluator_original(e, &in, data, &t, &err) ||
      t.device_lost) {
    j->device_lost |= t.device_lost;
    rc = broke(j, err.text[0] ? err.text : t.text);
  } else {
    rc = t.status == KR_STATUS_OK;
  }
  trial_release(&t);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return rc;
}

static int check_point(struct judgement *j, const struct sizes_point *p, enum kr_distribution dist)
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
  return check_fresh(j, KR_STAGE_CHECK, p->case_index, draw(j), dist, o, n, p->n > 0);
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
  struct kr_evaluator *e = j->e;
  struct sizes_point best = {0};
  size_t most = 0;
  if (!e->ref.integer_exact)
    return PASSED;
  for (size_t k = 0; k < e->c->n_cases; k++) {
    if (e->cases[k].bytes <= INTEGER_BYTES && e->cases[k].bytes > most) {
      most = e->cases[k].bytes;
      best = (struct sizes_point){.case_index = k};
    }
  }
  for (size_t i = 0; i < e->n_points; i++) {
    size_t bytes = point_bytes(e, &e->points[i]);
    if (bytes <= INTEGER_BYTES && bytes > most) {
      most = bytes;
      best = e->points[i];
    }
  }
  return most ? check_point(j, &best, KR_DIST_INTEGER) : PASSED;
}

static int check_held_out(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  static const enum kr_distribution dists[] = {KR_DIST_NORMAL, KR_DIST_INTEGER, KR_DIST_LARGE,
                                               KR_DIST_MIXED, KR_DIST_ZERO};
  size_t n = e->n_points;
  size_t *order = kr_xcalloc(n + 1, sizeof *order);
  for (size_t i = 0; i < n; i++) {
    size_t at = (size_t)fill_below(draw(j), i + 1);
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
  int rc = check_integers(j);
  bool large = false;
  // Whatever the budget says, some sizes that nobody told are tried.
  for (size_t i = 0; i < n && rc == PASSED && (i < LEAST_POINTS || time_left(j)); i++) {
    const struct sizes_point *p = &e->points[order[i]];
    struct sizes_point other;
    bool redrawn = redraw(j, p, &other), as_it_is = true;
    if (!j->o->thorough) {
      // Milliseconds count here: every point or its redrawn twin, and one large one.
      as_it_is = !redrawn || draw(j) & 1;
      size_t bytes = point_bytes(e, as_it_is ? p : &other);
      if (bytes > QUICK_BYTES || (bytes > SMALL_BYTES && large))
        continue;
      large |= bytes > SMALL_BYTES;
    }
    if (as_it_is)
      rc = check_point(j, p, dists[i % 5]);
    if (rc == PASSED && redrawn && (j->o->thorough || !as_it_is)) {
      int clean = clean_at(j, &other);
      rc = clean < 0 ? BROKE : clean ? check_point(j, &other, dists[(i + 1) % 5]) : PASSED;
    }
  }
  free(order);
  return rc;
}

// Other distributions and seeds at the declared sizes; a random pair of points
// together: for finalists.
static int check_thoroughly(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  int rc = PASSED;
  for (size_t k = 0; k < e->c->n_cases && rc == PASSED; k++) {
    static const enum kr_distribution dists[] = {KR_DIST_LARGE, KR_DIST_INTEGER, KR_DIST_ZERO,
                                                 KR_DIST_MIXED};
    struct sizes_point declared = {.case_index = k};
    // Of a large case each worker of a confirmation takes one.
    bool large = e->cases[k].bytes > EVALUATOR_LARGE_BYTES;
    size_t only = (size_t)fill_below(draw(j), 4);
    for (size_t d = 0; d < 4 && rc == PASSED; d++) {
      if (!large || d == only)
        rc = check_point(j, &declared, dists[d]);
    }
  }
  for (int i = 0; i < 4 && e->n_points > 1 && rc == PASSED; i++) {
    const struct sizes_point *a = &e->points[fill_below(draw(j), e->n_points)];
    const struct sizes_point *b = &e->points[fill_below(draw(j), e->n_points)];
    struct sizes_point both = *a;
    if (a->case_index != b->case_index || a->n + b->n + 2 > SIZES_MAX_OVERRIDES ||
        !strcmp(a->overrides[0].path, b->overrides[0].path))
      continue;
    memcpy(both.overrides + a->n, b->overrides, b->n * sizeof *b->overrides);
    both.n += b->n;
    if (point_bytes(e, &both) == SIZE_MAX)
      continue; // the two together break a require
    int clean = clean_at(j, &both);
    rc = clean < 0 ? BROKE : clean ? check_point(j, &both, KR_DIST_NORMAL) : PASSED;
  }
  return rc;
}

static int check(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  size_t *order = kr_xcalloc(e->c->n_cases, sizeof *order);
  order_cases(e, order);
  j->v->exact = true;
  int rc = PASSED;
  for (size_t i = 0; i < e->c->n_cases && rc == PASSED; i++) {
    begin_stage(j, i ? KR_STAGE_CHECK : KR_STAGE_SMOKE);
    size_t before = j->v->checks;
    rc = check_declared(j, j->v->stage, order[i]);
    if (rc == PASSED && j->v->checks == before) {
      broke(j, "the original could not be run at a declared case with fresh contents");
      rc = BROKE;
    }
    // A wrong result belongs to the check, also at the first case.
    if (rc == FAILED && (j->v->status == KR_STATUS_WRONG || j->v->status == KR_STATUS_UNSTABLE))
      j->v->stage = KR_STAGE_CHECK;
  }
  free(order);
  if (rc == PASSED) {
    begin_stage(j, KR_STAGE_CHECK);
    rc = check_held_out(j);
  }
  if (rc == PASSED && j->o->thorough)
    rc = check_thoroughly(j);
  if (rc != PASSED || !j->v->checks)
    j->v->exact = false;
  return rc;
}

// --- time ---

static void add_note(struct kr_verdict *v, const char *text)
{
  if (!text[0] || (v->note && strstr(v->note, text)))
    return;
  char *joined = v->note ? kr_xasprintf("%s; %s", v->note, text) : kr_xstrdup(text);
  free(v->note);
  v->note = joined;
}

// What the last of the timed launches left behind is compared too: a kernel may
// compute when it is checked and not when it is timed. Where the back end brings
// nothing back this says nothing.
static int check_timed(struct judgement *j, const struct kr_instance *in, struct kr_dataset *data,
                       const struct trial *expected, const struct kr_time_result *timed)
{
  struct kr_err err = {{0}};
  struct trial fresh = {0};
  if (!timed->b_after)
    return PASSED;
  int rc = BROKE;
  if (!expected && (evaluator_original(j->e, in, data, &fresh, &err) || fresh.device_lost ||
                    fresh.status != KR_STATUS_OK)) {
    j->device_lost |= fresh.device_lost;
    broke(j, err.text[0] ? err.text : fresh.text);
    trial_release(&fresh);
    return BROKE;
  }
  const struct trial *ref = expected ? expected : &fresh;
  struct compare_input q = {.in = in,
                            .ref = {ref->run[0].after, ref->run[1].after},
                            .got = {timed->b_after, timed->b_after},
                            .ref_poison = {ref->poison[0], ref->poison[1]},
                            .timed = true};
  struct compare_result r;
  struct kr_bytes words;
  kr_bytes_init(&words, 64 << 10);
  kr_bytes_adds(&words, "after a timed launch ");
  if (compare_runs(&q, &r, &err)) {
    broke(j, err.text);
  } else if (r.kind != COMPARE_EQUAL) {
    compare_describe(&q, &r, &words);
    fail_compare(j, j->v->stage, in, &r, words.data);
    rc = FAILED;
  } else {
    rc = PASSED;
  }
  kr_bytes_release(&words);
  trial_release(&fresh);
  return rc;
}

// Times one case on `data`. PASSED with `out` filled (owned by the caller).
static int time_case(struct judgement *j, const struct kr_instance *in, struct kr_dataset *data,
                     unsigned pairs, unsigned budget_ms, bool random_offsets,
                     struct kr_time_result *out)
{
  struct kr_evaluator *e = j->e;
  struct kr_err err = {{0}};
  struct kr_time_options o = {.pairs = pairs, .budget_ms = budget_ms, .seed = draw(j),
                              .random_offsets = random_offsets};
  memset(out, 0, sizeof *out);
  if (kr_instance_launch(in, &e->c->geometry, e->d.facts, &o.launch_a, &err) ||
      kr_instance_launch(in, j->geometry, e->d.facts, &o.launch_b, &err)) {
    broke(j, err.text);
    return BROKE;
  }
  if (e->backend->time(e->dev, e->original, j->m, data, &o, out, &err)) {
    j->device_lost |= out->device_lost;
    if (!out->device_lost) {
      broke(j, err.text);
      return BROKE;
    }
    // The original was run and timed before there was a candidate.
    fail(j, j->v->stage, KR_STATUS_FAULT, false, err.text);
    return FAILED;
  }
  if (!out->n) {
    broke(j, "no sample was taken");
    return BROKE;
  }
  return PASSED;
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
    add_note(j->v, "faster than all its buffers could be moved");
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
  add_note(j->v, r->note);
  if (!r->cold)
    add_note(j->v, "timed warm");
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

// What was timed is checked again: a kernel that is right only for its first
// launches, or only on contents it has seen, is wrong.
static int check_after_timing(struct judgement *j)
{
  size_t smallest = 0;
  for (size_t k = 1; k < j->e->c->n_cases; k++) {
    if (j->e->cases[k].bytes < j->e->cases[smallest].bytes)
      smallest = k;
  }
  size_t before = j->v->checks;
  int rc = check_fresh(j, KR_STAGE_TIME, smallest, draw(j), KR_DIST_NORMAL, NULL, 0, false);
  if (rc == FAILED) {
    char *text = kr_xasprintf("after timed launches: %s", j->v->log);
    fail(j, KR_STAGE_TIME, j->v->status, j->v->held_out, text);
    free(text);
  } else if (rc == PASSED && j->v->checks == before) {
    broke(j, "nothing could be checked after timing");
    rc = BROKE;
  }
  return rc;
}

static int time_search(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  size_t n = e->c->n_cases;
  unsigned budget = j->o->time_budget_ms ? j->o->time_budget_ms : TIME_BUDGET_MS;
  int rc = PASSED;
  begin_stage(j, KR_STAGE_TIME);
  j->v->n_times = n;
  j->v->times = kr_xcalloc(n, sizeof *j->v->times);
  for (size_t k = 0; k < n && rc == PASSED; k++) {
    struct declared_case *c = &e->cases[k];
    struct kr_instance in;
    struct kr_dataset *data = NULL;
    struct kr_err err = {{0}};
    struct kr_time_result r = {0};
    char text[200];
    if (!c->kept && evaluator_instance(e, k, draw(j), KR_DIST_NORMAL, NULL, 0, &in, &err)) {
      broke(j, err.text);
      rc = BROKE;
      break;
    }
    if (!c->kept && e->backend->load(e->dev, &in, &data, &err)) {
      broke(j, err.text);
      rc = BROKE;
    } else {
      rc = time_case(j, c->kept ? &c->in : &in, c->kept ? c->data : data, SEARCH_PAIRS,
                     budget / (unsigned)n ? budget / (unsigned)n : 1, false, &r);
    }
    if (rc == PASSED)
      rc = check_timed(j, c->kept ? &c->in : &in, c->kept ? c->data : data,
                       c->kept ? &c->expected : NULL, &r);
    if (rc == PASSED) {
      put_times(j, k, &r);
      note_fast(j, k, j->v->times[k].base_us, j->v->times[k].cand_us);
      if (impossible(e, k, j->v->times[k].cand_us, text, sizeof text)) {
        fail(j, KR_STAGE_TIME, KR_STATUS_IMPOSSIBLE, false, text);
        rc = FAILED;
      }
    }
    kr_time_result_release(&r);
    if (data)
      e->backend->dataset_free(e->dev, data);
    if (!c->kept)
      kr_instance_release(&in);
  }
  if (rc == PASSED)
    rc = check_after_timing(j);
  if (rc == PASSED) {
    sum_up_times(j->v);
    return rc;
  }
  // Times of what is turned away are worth nothing.
  for (size_t k = 0; k < n; k++)
    free(j->v->times[k].label);
  free(j->v->times);
  j->v->times = NULL;
  j->v->n_times = 0;
  return rc;
}

// --- compile ---

static bool same_launches(const struct judgement *j)
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
  struct kr_bytes text, log;
  struct kr_err err = {{0}};
  int rc = BROKE;
  begin_stage(j, KR_STAGE_COMPILE);
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  kr_bytes_init(&log, 1 << 20);
  kr_bytes_adds(&text, c->before);
  if (text.len && text.data[text.len - 1] != '\n')
    kr_bytes_addc(&text, '\n');
  kr_bytes_adds(&text, "#line 1 \"variant.cu\"\n");
  kr_bytes_adds(&text, j->cand->code);
  kr_bytes_addc(&text, '\n');
  if (kr_bytes_adds(&text, c->after)) {
    fail(j, KR_STAGE_COMPILE, KR_STATUS_COMPILE_ERROR, false, "the code is too large");
    rc = FAILED;
    goto out;
  }
  int compiled = e->backend->compile(e->dev, c, text.data, text.len, &j->m, &log, &err);
  if (compiled < 0) {
    broke(j, err.text);
  } else if (compiled > 0) {
    fail(j, KR_STAGE_COMPILE, KR_STATUS_COMPILE_ERROR, false,
         log.len ? log.data : "it does not compile");
    rc = FAILED;
  } else {
    j->v->code_hash = e->backend->module_hash(e->dev, j->m);
    rc = PASSED;
    if (kr_hash_equal(j->v->code_hash, e->ref.code_hash) && same_launches(j)) {
      fail(j, KR_STAGE_COMPILE, KR_STATUS_UNCHANGED, false,
           "its machine code equals the original's");
      rc = FAILED;
    }
  }
out:
  kr_bytes_release(&text);
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

// --- the whole ---

static int compile_and_check(struct judgement *j)
{
  double start = evaluator_now_ms();
  int rc = compile(j);
  double compiled = evaluator_now_ms();
  j->v->compile_ms = compiled - start;
  if (rc != PASSED)
    return rc;
  unsigned budget = j->o->check_budget_ms ? j->o->check_budget_ms : CHECK_BUDGET_MS;
  j->check_end_ms = compiled + budget;
  put_resources(j);
  rc = check(j);
  j->v->check_ms = evaluator_now_ms() - compiled;
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
  fail(j, KR_STAGE_SCREEN, KR_STATUS_REFUSED, false, text);
  free(text);
  return true;
}

static int judgement_end(struct judgement *j, int rc, double start)
{
  struct kr_evaluator *e = j->e;
  if (rc == PASSED)
    j->v->status = KR_STATUS_OK;
  if (j->m)
    e->backend->module_free(e->dev, j->m);
  e->lost |= j->device_lost;
  j->v->wall_ms = evaluator_now_ms() - start;
  return e->lost ? -1 : 0;
}

int kr_evaluator_judge(struct kr_evaluator *e, const struct kr_candidate *cand,
                       const struct kr_judge_options *options, struct kr_verdict *v)
{
  struct judgement j;
  double start = evaluator_now_ms();
  judgement_begin(&j, e, cand, options, v);
  if (e->lost)
    return broke(&j, "the device was lost before");
  if (geometry_refused(&j))
    return 0;
  int rc = compile_and_check(&j);
  if (rc == PASSED && options->until >= KR_STAGE_TIME && e->backend->can_time) {
    double checked = evaluator_now_ms();
    rc = time_search(&j);
    v->time_ms = evaluator_now_ms() - checked;
  }
  return judgement_end(&j, rc, start);
}

static int confirm_case(struct judgement *j, size_t index, unsigned pairs,
                        struct kr_confirm_share *out)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct kr_time_result r = {0};
  struct kr_err err = {{0}};
  if (evaluator_instance(e, index, draw(j), KR_DIST_NORMAL, NULL, 0, &in, &err)) {
    broke(j, err.text);
    return BROKE;
  }
  int rc = BROKE;
  if (e->backend->load(e->dev, &in, &data, &err)) {
    broke(j, err.text);
    goto out;
  }
  // A number of samples fixed beforehand: stopping when it looks good is how
  // noise wins.
  rc = time_case(j, &in, data, pairs, 0, true, &r);
  if (rc == PASSED)
    rc = check_timed(j, &in, data, NULL, &r);
  if (rc != PASSED)
    goto out;
  double sum = 0;
  for (size_t i = 0; i < r.n; i++)
    sum += log(r.a_us[i] / r.b_us[i]);
  out->log_ratio[index] = sum / (double)r.n;
  out->base_us[index] = stats_median(r.a_us, r.n);
  out->cand_us[index] = stats_median(r.b_us, r.n);
  add_note(j->v, r.note);
  note_fast(j, index, out->base_us[index], out->cand_us[index]);
  char text[200];
  if (impossible(e, index, out->cand_us[index], text, sizeof text)) {
    fail(j, KR_STAGE_CONFIRM, KR_STATUS_IMPOSSIBLE, false, text);
    rc = FAILED;
  }
out:
  kr_time_result_release(&r);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return rc;
}

int kr_evaluator_confirm(struct kr_evaluator *e, const struct kr_candidate *cand,
                         const struct kr_confirm_options *options, struct kr_confirm_share *out)
{
  struct judgement j;
  double start = evaluator_now_ms();
  struct kr_judge_options o = {.until = KR_STAGE_CONFIRM, .seed = options->seed, .thorough = true};
  memset(out, 0, sizeof *out);
  judgement_begin(&j, e, cand, &o, &out->verdict);
  if (e->lost)
    return broke(&j, "the device was lost before");
  if (geometry_refused(&j))
    return 0;
  int rc = compile_and_check(&j);
  if (rc == PASSED && e->backend->can_time) {
    double checked = evaluator_now_ms();
    size_t n = e->c->n_cases;
    begin_stage(&j, KR_STAGE_CONFIRM);
    out->log_ratio = kr_xcalloc(n, sizeof *out->log_ratio);
    out->base_us = kr_xcalloc(n, sizeof *out->base_us);
    out->cand_us = kr_xcalloc(n, sizeof *out->cand_us);
    for (size_t k = 0; k < n && rc == PASSED; k++)
      rc = confirm_case(&j, k, options->pairs ? options->pairs : CONFIRM_PAIRS, out);
    if (rc == PASSED)
      rc = check_after_timing(&j);
    if (rc == PASSED)
      out->n_cases = n;
    out->verdict.time_ms = evaluator_now_ms() - checked;
  }
  return judgement_end(&j, rc, start);
}
