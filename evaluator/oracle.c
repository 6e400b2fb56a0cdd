#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fill.h"
#include "number.h"
#include "reference_internal.h"

// Most candidates pass at the tolerance of their type and never ask. Whoever is
// the first to ask pays for compiling it.

enum { STREAM_ORACLE = 4 << 20 };

struct oracle {
  struct kr_contract c;
  struct kr_module *m;
  bool tried; // compiled and validated, or found to be none
};

static const char attempt[] = "the original in double";

void oracle_open(struct kr_evaluator *e)
{
  struct kr_err why = {{0}};
  struct oracle *o = kr_xcalloc(1, sizeof *o);
  if (reference_avoids(e, attempt)) {
    kr_err_set(&why, "it took the device with it");
    free(o);
  } else if (oracle_contract(e->c, &o->c, &why)) {
    free(o);
  } else {
    e->oracle = o;
  }
  e->ref.oracle = e->oracle != NULL;
  if (!e->oracle)
    e->ref.oracle_why = kr_xstrdup(why.text);
}

void oracle_close(struct kr_evaluator *e)
{
  struct oracle *o = e->oracle;
  if (!o)
    return;
  if (o->m)
    e->backend->module_free(e->dev, o->m);
  kr_contract_release(&o->c);
  free(o);
  e->oracle = NULL;
}

// It is none after all.
static int give_up(struct kr_evaluator *e, const struct kr_err *why)
{
  oracle_close(e);
  e->ref.oracle = false;
  free(e->ref.oracle_why);
  e->ref.oracle_why = kr_xstrdup(why->text);
  kr_debug("verify", "no oracle for %s: %s", e->c->kernel, why->text);
  return 0;
}

// --- figures ---

// One floating leaf of one output in three hands.
struct strands {
  enum kr_kind kind, wide;
  size_t stride, wide_stride;
  const unsigned char *ref[2], *got, *oracle; // got NULL: not asked for
  int64_t count;
  bool out; // elements may be unwritten
  unsigned char poison[2];
};

static bool strands_of(const struct kr_instance *in, const struct trial *ref,
                       unsigned char *const *got, const struct oracle_run *run, size_t buffer,
                       size_t leaf, struct strands *s)
{
  const struct kr_buffer *b = &in->buffers[buffer];
  const struct kr_leaf *l = &b->type->leaves[leaf];
  if (b->null || !b->bytes || b->role == KR_IN || !kr_kind_is_float(l->kind))
    return false;
  const struct kr_buffer *w = &run->in.buffers[buffer];
  *s = (struct strands){.kind = l->kind,
                        .wide = w->type->leaves[leaf].kind,
                        .stride = b->type->size,
                        .wide_stride = w->type->size,
                        .ref = {ref->run[0].after[buffer] + l->offset,
                                ref->run[1].after[buffer] + l->offset},
                        .got = got ? got[buffer] + l->offset : NULL,
                        .oracle = run->trial.run[0].after[buffer] + w->type->leaves[leaf].offset,
                        .count = b->count,
                        .out = b->role == KR_OUT,
                        .poison = {ref->poison[0], ref->poison[1]}};
  return true;
}

static bool unwritten(const struct strands *s, int64_t i)
{
  if (!s->out)
    return false;
  for (int run = 0; run < 2; run++) {
    const unsigned char *at = s->ref[run] + (size_t)i * s->stride;
    for (size_t k = 0; k < kr_kind_size(s->kind); k++) {
      if (at[k] != s->poison[run])
        return false;
    }
  }
  return true;
}

// What the original makes of element `i`, when it is a number that it wrote.
static bool ref_value(const struct strands *s, int64_t i, double *out)
{
  *out = number_get_real(s->kind, s->ref[0] + (size_t)i * s->stride);
  return isfinite(*out) && !unwritten(s, i);
}

static double oracle_value(const struct strands *s, int64_t i)
{
  return number_get_real(s->wide, s->oracle + (size_t)i * s->wide_stride);
}

// The largest |r - o| / (|r| + rms(r)); negative where the oracle has no number
// for what the original computes.
static double largest_error(const struct strands *s)
{
  double sum = 0, worst = 0, r;
  int64_t n = 0;
  for (int64_t i = 0; i < s->count; i++) {
    if (ref_value(s, i, &r)) {
      sum += r * r;
      n++;
    }
  }
  double rms = n ? sqrt(sum / (double)n) : 0;
  for (int64_t i = 0; i < s->count; i++) {
    if (!ref_value(s, i, &r))
      continue;
    double o = oracle_value(s, i), scale = fabs(r) + rms;
    if (!isfinite(o))
      return -1;
    if (o != r)
      worst = fmax(worst, scale > 0 ? fabs(r - o) / scale : INFINITY);
  }
  return worst;
}

// Whether the oracle has a number wherever the original has one; the largest
// error over the most that is allowed, with its output.
static bool agrees(const struct kr_instance *in, const struct trial *ref,
                   const struct oracle_run *run, double *worst, const char **path)
{
  struct strands s;
  *worst = 0;
  *path = "";
  for (size_t b = 0; b < in->n_buffers; b++) {
    for (size_t l = 0; l < in->buffers[b].type->n_leaves; l++) {
      if (!strands_of(in, ref, NULL, run, b, l, &s))
        continue;
      double error = largest_error(&s), most = compare_rtol_most(s.kind);
      if (error < 0 || error / most > *worst) {
        *worst = error < 0 ? INFINITY : error / most;
        *path = in->contract->sections[in->buffers[b].section].path;
      }
      if (error < 0)
        return false;
    }
  }
  return true;
}

// --- running ---

static int run_on(struct kr_evaluator *e, const struct kr_instance *in, const struct trial *ref,
                  struct oracle_run *out, struct kr_err *err)
{
  static const enum kr_placement place[2] = {KR_PLACE_ALIGN, KR_PLACE_ALIGN};
  struct kr_dataset *data = NULL;
  double worst;
  const char *path;
  memset(out, 0, sizeof *out);
  if (oracle_instance(in, &e->oracle->c, &out->in, err))
    return 0;
  out->there = true;
  // Larger than what was loaded before, it may just not fit.
  if (e->backend->load(e->dev, &out->in, &data, err))
    return 0;
  reference_attempt(e, attempt);
  int rc = trial_run(&out->trial, &e->d, e->oracle->m, data, &out->in, &e->oracle->c.geometry,
                     place, 1, err);
  e->backend->dataset_free(e->dev, data);
  e->lost |= out->trial.device_lost;
  if (e->lost) // the attempt stays, for whoever watches
    return kr_err_set(err, "the device was lost to %s: %s", attempt, out->trial.text);
  reference_attempt(e, "");
  if (rc)
    return 0;
  if (out->trial.status != KR_STATUS_OK) {
    kr_err_set(err, "in double it ends in %s: %.300s", kr_status_name(out->trial.status),
               out->trial.text);
    return 0;
  }
  if (!agrees(in, ref, out, &worst, &path)) {
    kr_err_set(err, "in double `%s` is not finite where the original's is", path);
    return 0;
  }
  return 1;
}

static int compile_oracle(struct kr_evaluator *e, struct kr_err *err)
{
  struct kr_bytes log;
  kr_bytes_init(&log, 1 << 20);
  const struct kr_contract *c = &e->oracle->c;
  int rc = e->backend->compile(e->dev, c, c->code, strlen(c->code), &e->oracle->m, &log, err);
  if (rc > 0)
    kr_err_set(err, "in double it does not compile: %.400s", log.data);
  kr_bytes_release(&log);
  return rc;
}

// On the smallest declared case, with contents that no candidate gets: what the
// original leaves on the device is nobody's answer. Returns 1, 0, -1 as
// oracle_run() does.
static int validate(struct kr_evaluator *e, struct kr_err *err)
{
  size_t least = 0;
  for (size_t k = 1; k < e->c->n_cases; k++) {
    if (e->cases[k].bytes < e->cases[least].bytes)
      least = k;
  }
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct trial ref = {0};
  struct oracle_run run = {0};
  double worst;
  const char *path;
  int rc = 0;
  if (evaluator_instance(e, least, fill_bits(e->seed, STREAM_ORACLE, 0), KR_DIST_NORMAL, NULL, 0,
                         &in, err))
    return 0;
  if (e->backend->load(e->dev, &in, &data, err) || evaluator_original(e, &in, data, &ref, err) ||
      e->lost) {
    rc = e->lost ? kr_err_set(err, "%s", ref.text) : 0;
    goto out;
  }
  if (ref.status != KR_STATUS_OK) {
    kr_err_set(err, "the original ends in %s", kr_status_name(ref.status));
    goto out;
  }
  rc = run_on(e, &in, &ref, &run, err);
  if (rc == 1 && agrees(&in, &ref, &run, &worst, &path) && worst > 1) {
    kr_err_set(err, "in double `%s` is another result: off by %.2g times what is allowed", path,
               worst);
    rc = 0;
  }
out:
  oracle_run_release(&run);
  trial_release(&ref);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return rc;
}

int oracle_run(struct kr_evaluator *e, const struct kr_instance *in, const struct trial *ref,
               struct oracle_run *out, struct kr_err *err)
{
  struct kr_err why = {{0}};
  memset(out, 0, sizeof *out);
  if (e->oracle && !e->oracle->tried) {
    e->oracle->tried = true;
    if (compile_oracle(e, &why))
      give_up(e, &why);
    else if (!validate(e, &why) && !e->lost)
      give_up(e, &why);
    if (e->lost)
      return kr_err_set(err, "%s", why.text);
  }
  if (!e->oracle) {
    kr_err_set(err, "%s", e->ref.oracle_why ? e->ref.oracle_why : "");
    return 0;
  }
  int rc = run_on(e, in, ref, out, err);
  if (!rc)
    kr_debug("verify", "no oracle for %s with %s: %s", e->c->kernel, in->label, err->text);
  return rc;
}

void oracle_run_release(struct oracle_run *r)
{
  if (!r->there)
    return;
  trial_release(&r->trial);
  kr_instance_release(&r->in);
  memset(r, 0, sizeof *r);
}

// --- what follows from it ---

double **oracle_tolerances(const struct kr_instance *in, const struct trial *ref,
                           const struct oracle_run *run)
{
  double **t = kr_xcalloc(in->n_buffers + 1, sizeof *t);
  struct strands s;
  for (size_t b = 0; b < in->n_buffers; b++) {
    size_t n = in->buffers[b].type->n_leaves;
    t[b] = kr_xcalloc(n + 1, sizeof **t);
    for (size_t l = 0; l < n; l++) {
      double most = compare_rtol_most(in->buffers[b].type->leaves[l].kind);
      if (!run)
        t[b][l] = most;
      else if (strands_of(in, ref, NULL, run, b, l, &s))
        t[b][l] = fmin(most, 2 * fmax(0, largest_error(&s)));
    }
  }
  return t;
}

void oracle_tolerances_free(const struct kr_instance *in, double **t)
{
  for (size_t b = 0; t && b < in->n_buffers; b++)
    free(t[b]);
  free(t);
}

bool oracle_finds_worse(const struct kr_instance *in, const struct trial *ref,
                        unsigned char *const *got, const struct oracle_run *run,
                        struct oracle_worse *out)
{
  struct strands s;
  for (size_t b = 0; b < in->n_buffers; b++) {
    for (size_t l = 0; l < in->buffers[b].type->n_leaves; l++) {
      // What the user allows is allowed.
      if (in->contract->sections[in->buffers[b].section].compare != KR_CMP_DEFAULT ||
          !strands_of(in, ref, got, run, b, l, &s))
        continue;
      double theirs = 0, mine = 0, all = 0, r;
      for (int64_t i = 0; i < s.count; i++) {
        double c = number_get_real(s.kind, s.got + (size_t)i * s.stride);
        if (!ref_value(&s, i, &r) || !isfinite(c))
          continue;
        double o = oracle_value(&s, i);
        all += o * o;
        theirs += (r - o) * (r - o);
        mine += (c - o) * (c - o);
      }
      double scale = sqrt(all);
      if (!(scale > 0) || !isfinite(scale))
        continue;
      *out = (struct oracle_worse){b, l, sqrt(mine) / scale, sqrt(theirs) / scale};
      if (out->got > 2 * out->original + ORACLE_FLOOR * compare_rtol(s.kind))
        return true;
    }
  }
  return false;
}
