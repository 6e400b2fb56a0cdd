#include "reference_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "scope.h"

// A back end that does not time needs no size of the user's, only its shape: each
// extent is scaled down with its residue to the block kept.

// A run may take 200 ms; a judgement needs dozens, so less is looked for.
#define SHRINK_MS 80.0
#define SHRINK_BYTES ((size_t)8 << 20)

// v scaled down by 2^k, its residue to the block's width (and with it to every
// vector's) kept, at least one whole block where v has one.
static int64_t shrunk(int64_t v, int k, int64_t width)
{
  if (v < width)
    width = 32;
  if (v < 2 * width)
    return v;
  int64_t blocks = v / width >> k;
  return (blocks ? blocks : 1) * width + v % width;
}

static int64_t block_width(const struct kr_evaluator *e, const struct kr_instance *in)
{
  struct kr_launch launch;
  int64_t threads = 256;
  if (!kr_instance_launch(in, &e->c->geometry, e->d.facts, &launch, NULL))
    threads = (int64_t)launch.block[0] * launch.block[1] * launch.block[2];
  int64_t width = 32;
  while (width < threads || width % threads)
    width += 32;
  return width > 1 << 14 ? 1 << 14 : width; // a block of odd size and 32 may have a large multiple
}

static size_t shrink_overrides(const struct kr_contract *c, size_t case_index,
                               const struct sizes_binding *bindings, int k, int64_t width,
                               struct kr_override *out, bool *changed)
{
  size_t n = 0;
  *changed = false;
  const struct kr_case *kase = &c->cases[case_index];
  for (size_t i = 0; i < kase->n_bindings && n + 2 < SIZES_MAX_OVERRIDES; i++) {
    if (bindings[i].role != SIZES_EXTENT)
      continue;
    int64_t v = shrunk(bindings[i].value, k, width);
    if (v == bindings[i].value)
      continue;
    *changed = true;
    out[n].path = kase->bindings[i].path;
    out[n++].value = kr_value_int(v);
  }
  return n;
}

// Runs the case at scale 2^-k once; how long it took, negative when it is no
// size for the original.
static double shrink_try(struct kr_evaluator *e, size_t case_index, const struct kr_override *o,
                         size_t n, struct kr_err *err)
{
  struct kr_instance in;
  struct kr_dataset *data = NULL;
  struct trial t = {0};
  static const enum kr_placement place[2] = {KR_PLACE_ALIGN, KR_PLACE_ALIGN};
  double ms = -1, start;
  if (instance_plan(&in, e->c, case_index, o, n, err))
    return -1;
  size_t bytes = kr_instance_bytes(&in);
  kr_instance_release(&in);
  if (bytes > SHRINK_BYTES)
    return INFINITY;
  if (kr_instance_make(&in, e->c, case_index, e->seed, KR_DIST_NORMAL, o, n, err))
    return -1;
  if (e->backend->load(e->dev, &in, &data, err))
    goto out;
  start = kr_now_ms();
  if (trial_run(&t, &e->d, e->original, data, &in, &e->c->geometry, place, 1, err))
    goto out;
  if (t.status == KR_STATUS_OK)
    ms = t.cpu_ms > 0 ? t.cpu_ms : t.wall_ms > 0 ? t.wall_ms : kr_now_ms() - start;
  else if (t.status == KR_STATUS_TIMEOUT)
    ms = INFINITY;
  else
    kr_err_set(err, "%s", t.text);
out:
  trial_release(&t);
  if (data)
    e->backend->dataset_free(e->dev, data);
  kr_instance_release(&in);
  return ms;
}

// From the smallest scale up: a first try at full size could take minutes.
int reference_shrink(struct kr_evaluator *e, size_t case_index, struct kr_err *err)
{
  struct declared_case *k = &e->cases[case_index];
  struct kr_instance in;
  if (instance_plan(&in, e->c, case_index, k->overrides, k->n_overrides, err))
    return -1;
  int64_t width = block_width(e, &in);
  k->bytes = kr_instance_bytes(&in);
  kr_instance_release(&in);
  struct kr_err why = {{0}};
  bool found = false;
  double last = 0;
  struct kr_override best[SIZES_MAX_OVERRIDES] = {{0}};
  size_t n_best = 0;
  for (int scale = 30; scale >= 0; scale--) {
    struct kr_override o[SIZES_MAX_OVERRIDES];
    bool changed, same;
    size_t n = shrink_overrides(e->c, case_index, k->bindings, scale, width, o, &changed);
    o[n++] = k->overrides[0];
    same = found && n == n_best;
    for (size_t i = 0; same && i + 1 < n; i++)
      same = o[i].value.i == best[i].value.i;
    if (same)
      continue;
    double ms = shrink_try(e, case_index, o, n, &why);
    if (ms < 0 && !changed)
      found = false; // it fails as declared: smaller sizes do not mend that
    if (ms < 0)
      continue;
    if (ms > SHRINK_MS && found)
      break;
    memcpy(best, o, n * sizeof *o);
    n_best = n;
    found = true;
    // Work may grow with the third power of the scale: do not start what would
    // take seconds.
    double growth = last > 1 ? ms / last : 2;
    last = ms;
    if (!changed || ms * (growth > 2 ? growth : 2) > 2 * SHRINK_MS)
      break;
  }
  if (!found) { // what is wrong with it is told where the case is opened
    bool changed;
    struct kr_override sms = k->overrides[0];
    n_best = k->bytes <= SHRINK_BYTES ? 0
                                      : shrink_overrides(e->c, case_index, k->bindings, 30, width,
                                                         best, &changed);
    best[n_best++] = sms;
  }
  for (size_t i = 0; i < n_best; i++)
    k->overrides[i] = best[i];
  k->n_overrides = n_best;
  char *label = sizes_label(best, n_best);
  kr_debug("verify", "case %s runs as %s", e->c->cases[case_index].label,
           label[0] ? label : "declared");
  free(label);
  return 0;
}
