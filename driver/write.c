#include "write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "fresh.h"
#include "prove.h"

enum { PROVENANCE_COLUMNS = 78, PROVENANCE_CARRIER = sizeof "// kevin: " - 1 };

// The geometric mean of the cases' times, for the one pair that fits a comment.
static void mean_times(const struct kr_verdict *v, double *base_us, double *cand_us)
{
  double a = 0, b = 0;
  for (size_t i = 0; i < v->n_times; i++) {
    a += log(v->times[i].base_us);
    b += log(v->times[i].cand_us);
  }
  *base_us = v->n_times ? exp(a / (double)v->n_times) : 0;
  *cand_us = v->n_times ? exp(b / (double)v->n_times) : 0;
}

static void provenance_of(const struct outcome *out, struct kr_hash body, struct kr_provenance *p)
{
  const struct task *t = out->task;
  const struct refine_turn *turn = &out->refined.turns[out->winner];
  const struct kr_verdict *v = &out->decided;
  *p = (struct kr_provenance){.modelled = v->modelled,
                              .unvalidated = v->modelled && !v->model_validated,
                              .speedup = v->speedup,
                              .lo = v->lo,
                              .hi = v->hi,
                              .turn = (int)turn->turn,
                              .max_rel_err = v->exact ? -1 : v->max_rel_err,
                              .body = body,
                              .marker = kr_marker_hash(t->marker),
                              .have_figures = true};
  for (size_t i = 0; i < out->refined.n; i++)
    if (out->refined.turns[i].trajectory == turn->trajectory &&
        (int)out->refined.turns[i].turn > p->turns)
      p->turns = (int)out->refined.turns[i].turn;
  mean_times(v, &p->base_us, &p->cand_us);
  if (v->modelled)
    snprintf(p->device, sizeof p->device, "%s", v->model_gpu);
  else
    snprintf(p->device, sizeof p->device, "%s %s", out->device.name, out->device.arch);
  snprintf(p->model, sizeof p->model, "%s", turn->model);
  snprintf(p->tool, sizeof p->tool, "kevin-rewrite %s", KR_VERSION);
  fresh_definition(t->in, t->marker, &p->from);
}

// The edits of one outcome, finished.
static int outcome_edits(const struct outcome *out, struct kr_hash body, struct kr_edits *edits,
                         struct kr_err *err)
{
  const struct task *t = out->task;
  struct kr_provenance p;
  unsigned line, col;
  provenance_of(out, body, &p);
  kr_source_place(&t->in->src, t->kernel->at.offset, &line, &col);
  char **lines = kr_provenance_lines(&p, PROVENANCE_COLUMNS - PROVENANCE_CARRIER - (col - 1));
  struct kr_rewrite r = outcome_rewrite(out, (const char *const *)lines);
  int rc = kr_rewrite_edits(&r, edits, err);
  if (!rc)
    rc = kr_edits_finish(edits, err);
  kr_provenance_lines_free(lines);
  return rc;
}

// All winners' edits together. Those that cannot be made fail their outcome.
static int all_edits(struct file_write *w, const struct kr_hash *bodies, struct kr_edits *all,
                     struct kr_err *err)
{
  int rc = -1;
  struct kr_edits *ones = kr_xcalloc(w->n, sizeof *ones);
  w->n_put = 0;
  for (size_t i = 0; i < w->n; i++) {
    struct outcome *out = &w->outcomes[i];
    struct kr_err why = {""};
    if (out->state != OUTCOME_REWRITTEN)
      continue;
    if (outcome_edits(out, bodies[i], &ones[i], &why)) {
      outcome_fail(out, OUTCOME_FAILED, why.text);
      kr_edits_release(&ones[i]);
      continue;
    }
    for (size_t k = 0; k < ones[i].n; k++)
      kr_edits_add(all, ones[i].items[k].offset, ones[i].items[k].length, ones[i].items[k].text);
    w->n_put++;
  }
  if (kr_edits_finish(all, err))
    goto out;
  // Each kernel's way back, told from the file as all of them leave it.
  for (size_t i = 0; i < w->n; i++) {
    kr_bytes_reset(&w->undo[i]);
    if (ones[i].n && kr_undo_make_among(&ones[i], all, &w->in->src, &w->undo[i], err))
      goto out;
  }
  rc = 0;
out:
  for (size_t i = 0; i < w->n; i++)
    kr_edits_release(&ones[i]);
  free(ones);
  return rc;
}

static int apply_and_scan(struct file_write *w, const struct kr_hash *bodies, struct kr_err *err)
{
  struct kr_edits all = {0};
  int rc = all_edits(w, bodies, &all, err);
  kr_bytes_reset(&w->patched);
  if (!rc)
    rc = kr_edits_apply(&all, &w->in->src, &w->patched, err);
  kr_edits_release(&all);
  if (rc)
    return rc;
  input_forget(&w->after);
  input_like(w->in, &w->patched, &w->after);
  return 0;
}

// The patched file must hold the same kernels, and below each winner's marker
// the kernel with the signature it had.
static int write_look(struct file_write *w, struct kr_err *err)
{
  struct input *in = w->in, *after = &w->after;
  struct kr_parse_request req = {.src = &after->src,
                                 .flags = (const char *const *)in->flags.items,
                                 .n_flags = in->flags.n,
                                 .project_dir = in->root,
                                 .arch = w->options->arch};
  if (kr_parser_unit(w->project->parser, &req, &after->unit, err))
    return -1;
  after->parsed = true;
  if (after->unit.n_kernels != in->unit.n_kernels)
    return kr_err_set(err, "%s: the patched file has %zu kernels where the original has %zu",
                      in->src.path, after->unit.n_kernels, in->unit.n_kernels);
  for (size_t i = 0; i < in->unit.n_kernels; i++)
    if (strcmp(in->unit.kernels[i].usr, after->unit.kernels[i].usr))
      return kr_err_set(err, "%s: the patched file declares %s where the original has %s",
                        in->src.path, after->unit.kernels[i].qualified,
                        in->unit.kernels[i].qualified);
  for (size_t i = 0; i < w->n; i++) {
    const struct task *t = w->outcomes[i].task;
    const struct kr_marker *m = input_numbered(&after->markers, input_number(in, t->marker));
    const struct kr_pkernel *k = m ? input_kernel(after, m) : NULL;
    if (!k || strcmp(k->usr, t->kernel->usr))
      return kr_err_set(err, "%s: after the rewrite the marker of %s would stand above something else",
                        in->src.path, t->kernel->qualified);
    if (w->outcomes[i].state == OUTCOME_REWRITTEN && k->refused)
      return kr_err_set(err, "%s: after the rewrite %s would be refused: %s", in->src.path,
                        t->kernel->qualified, k->refused);
  }
  return 0;
}

int write_patch(struct file_write *w, struct kr_err *err)
{
  int rc = -1;
  struct kr_hash *bodies = kr_xcalloc(w->n, sizeof *bodies);
  const char **names = kr_xcalloc(w->n + 1, sizeof *names);
  kr_bytes_init(&w->patched, KR_SOURCE_MAX);
  w->undo = kr_xcalloc(w->n, sizeof *w->undo);
  for (size_t i = 0; i < w->n; i++)
    kr_bytes_init(&w->undo[i], KR_SOURCE_MAX);
  // Twice: the provenance names the fingerprint of the text as written, which
  // comments are no part of.
  if (apply_and_scan(w, bodies, err))
    goto out;
  for (size_t i = 0; i < w->n; i++) {
    const struct kr_marker *m =
        input_numbered(&w->after.markers, input_number(w->in, w->outcomes[i].task->marker));
    if (m)
      fresh_definition(&w->after, m, &bodies[i]);
  }
  if (apply_and_scan(w, bodies, err) || write_look(w, err))
    goto out;
  for (size_t i = 0; i < w->n; i++)
    names[i] = w->outcomes[i].task->kernel->name;
  if (w->n_put &&
      kr_prove_compiles(&w->in->src, w->patched.data, w->patched.len,
                        (const char *const *)w->in->flags.items, w->in->flags.n,
                        w->project->cuda_path, names, w->n, err))
    goto out;
  rc = 0;
out:
  for (size_t i = 0; rc && i < w->n; i++)
    if (w->outcomes[i].state == OUTCOME_REWRITTEN)
      outcome_fail(&w->outcomes[i], OUTCOME_FAILED, err->text);
  free(bodies);
  free(names);
  return rc;
}

static void entry_deps(struct kr_ledger_entry *e, const struct input *after,
                       const struct kr_pkernel *k, struct kr_hash outside)
{
  e->deps = kr_xcalloc(k->n_deps + 1, sizeof *e->deps);
  e->deps[e->n_deps++] = (struct kr_ledger_dep){kr_xstrdup(after->rel), outside};
  for (size_t i = 0; i < k->n_deps; i++)
    if (strcmp(k->deps[i].file, after->rel))
      e->deps[e->n_deps++] = (struct kr_ledger_dep){kr_xstrdup(k->deps[i].file), k->deps[i].tokens};
}

// Nothing was found that is better than what stands there: it is known as well as it
// was known best. Of a modelled rewrite that a GPU could not better only the asking is
// new.
static void entry_stays(struct kr_ledger_entry *e, const struct kr_ledger_entry *old)
{
  static const char still[] = ", rewrite modelled";
  size_t n = strlen(old->gpu), s = sizeof still - 1;
  bool was = fresh_is_modelled(old), is = fresh_is_modelled(e);
  char *gpu = NULL;
  if (is && !was) {
    free(e->backend);
    e->backend = kr_xstrdup(old->backend);
    gpu = kr_xstrdup(old->gpu);
  } else if (!is && e->outcome == KR_REWRITTEN &&
             (was || (n > s && !strcmp(old->gpu + n - s, still)))) {
    gpu = kr_xasprintf("%s%s", e->gpu, still);
  }
  if (gpu) {
    free(e->gpu);
    e->gpu = gpu;
  }
}

// Puts one outcome's entry into the ledger.
static int commit_entry(struct file_write *w, size_t i, struct kr_ledger *l, struct kr_hash outside,
                        struct kr_err *err)
{
  const struct outcome *out = &w->outcomes[i];
  const struct task *t = out->task;
  const struct kr_marker *m =
      input_numbered(&w->after.markers, input_number(w->in, t->marker));
  const struct kr_pkernel *k = input_kernel(&w->after, m);
  const struct kr_ledger_entry *old =
      kr_ledger_find(l, w->in->rel, t->kernel->qualified, t->kernel->signature);
  struct kr_ledger_entry e = {.file = kr_xstrdup(w->in->rel),
                              .kernel = kr_xstrdup(t->kernel->qualified),
                              .signature = kr_xstrdup(t->kernel->signature),
                              .marker = kr_marker_hash(m),
                              .slice = fresh_slice(k)};
  entry_deps(&e, &w->after, k, outside);
  fresh_definition(&w->after, m, &e.current);
  if (out->state == OUTCOME_FRESH) {
    // Its file changed around it; what was found of it still holds.
    e.original = old->original;
    e.baseline = old->baseline;
    e.outcome = old->outcome;
    e.tool = kr_xstrdup(old->tool);
    e.backend = kr_xstrdup(old->backend);
    e.gpu = kr_xstrdup(old->gpu);
    kr_ledger_put(l, &e);
    return 0;
  }
  fresh_definition(w->in, t->marker, &e.original);
  e.outcome = out->state == OUTCOME_REWRITTEN ? KR_REWRITTEN : KR_KEPT;
  e.tool = kr_xasprintf("kevin-rewrite %s", KR_VERSION);
  e.backend = kr_xstrdup(out->backend);
  e.gpu = outcome_gpu(out);
  // What was kept while it is an earlier rewrite stays one: text, provenance and
  // the way back are as they were.
  bool same = e.outcome == KR_KEPT && old && kr_hash_equal(old->current, e.current);
  if (same && old->outcome == KR_REWRITTEN) {
    e.outcome = KR_REWRITTEN;
    e.original = old->original;
    e.baseline = old->baseline;
    entry_stays(&e, old);
  } else if (same && kr_hash_equal(old->marker, e.marker) && kr_hash_equal(old->slice, e.slice)) {
    entry_stays(&e, old);
  }
  int rc = 0;
  // A rewrite of a rewrite: the way back leads over the first one's baseline.
  if (out->state == OUTCOME_REWRITTEN && old && old->outcome == KR_REWRITTEN &&
      kr_hash_equal(old->current, e.original))
    kr_undo_add_earlier(&w->undo[i], old->baseline);
  if (out->state == OUTCOME_REWRITTEN)
    rc = kr_baseline_store(w->in->root, w->undo[i].data, w->undo[i].len, &e.baseline, err);
  kr_ledger_put(l, &e);
  return rc;
}

int write_commit(struct file_write *w, struct kr_err *err)
{
  struct kr_ledger l, before;
  if (kr_ledger_load(&l, w->in->root, err))
    return -1;
  int rc = kr_ledger_load(&before, w->in->root, err);
  if (rc) {
    kr_ledger_release(&l);
    return -1;
  }
  struct kr_hash outside = fresh_outside(&w->after);
  for (size_t i = 0; !rc && i < w->n; i++) {
    enum outcome_state s = w->outcomes[i].state;
    if (s == OUTCOME_REWRITTEN || s == OUTCOME_KEPT || s == OUTCOME_FRESH)
      rc = commit_entry(w, i, &l, outside, err);
  }
  if (!rc)
    rc = kr_ledger_save(&l, err);
  if (!rc && w->n_put && kr_replace(&w->in->src, w->patched.data, w->patched.len, err) < 0) {
    rc = -1;
    // The source is as it was, so the ledger must be as well.
    for (size_t i = 0; i < w->n; i++) {
      const struct kr_pkernel *k = w->outcomes[i].task->kernel;
      kr_ledger_remove(&l, w->in->rel, k->qualified, k->signature);
    }
    for (size_t i = 0; i < before.n; i++)
      if (!strcmp(before.entries[i].file, w->in->rel)) {
        struct kr_ledger_entry e = before.entries[i];
        before.entries[i] = (struct kr_ledger_entry){0};
        kr_ledger_put(&l, &e);
      }
    struct kr_err ignored = {""};
    if (kr_ledger_save(&l, &ignored))
      kr_warn("%s; --check will call its kernels stale", ignored.text);
  }
  kr_ledger_release(&l);
  kr_ledger_release(&before);
  return rc;
}

void write_release(struct file_write *w)
{
  for (size_t i = 0; w->undo && i < w->n; i++)
    kr_bytes_release(&w->undo[i]);
  free(w->undo);
  input_forget(&w->after);
  kr_bytes_release(&w->patched);
}
