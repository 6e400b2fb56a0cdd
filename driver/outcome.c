#include "outcome.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "table.h"

void outcome_init(struct outcome *out, const struct task *task)
{
  *out = (struct outcome){.task = task, .winner = SIZE_MAX};
  kr_verdict_init(&out->decided);
}

void outcome_release(struct outcome *out)
{
  free(out->why);
  if (out->have_refined)
    refine_result_release(&out->refined);
  if (out->have_reference)
    kr_reference_release(&out->reference);
  kr_verdict_release(&out->decided);
}

void outcome_fail(struct outcome *out, enum outcome_state state, const char *why)
{
  out->state = state;
  free(out->why);
  out->why = why ? kr_xstrdup(why) : NULL;
}

struct kr_rewrite outcome_rewrite(const struct outcome *out, const char *const *provenance)
{
  const struct task *t = out->task;
  const struct kr_candidate *winner = &out->refined.turns[out->winner].variant.candidate;
  return (struct kr_rewrite){.source = &t->in->src,
                             .kernel = t->kernel,
                             .marker = t->marker,
                             .contract = &t->contract,
                             .code = winner->code,
                             .geometry = winner->has_geometry ? &winner->geometry : NULL,
                             .provenance = provenance};
}

int outcome_diff(const struct outcome *out, struct kr_bytes *diff, struct kr_err *err)
{
  static const char *const none[] = {NULL};
  const struct input *in = out->task->in;
  struct kr_rewrite rewrite = outcome_rewrite(out, none);
  struct kr_edits edits = {0};
  struct kr_bytes patched;
  kr_bytes_init(&patched, KR_SOURCE_MAX);
  int rc = kr_rewrite_edits(&rewrite, &edits, err);
  if (!rc)
    rc = kr_edits_finish(&edits, err);
  if (!rc)
    rc = kr_edits_apply(&edits, &in->src, &patched, err);
  if (!rc)
    kr_diff(in->rel, in->src.data, in->src.len, patched.data, patched.len, diff);
  kr_edits_release(&edits);
  kr_bytes_release(&patched);
  return rc ? -1 : 0;
}

void outcome_refer(struct outcome *out, const struct kr_reference *ref)
{
  struct kr_bytes json;
  struct kr_err err;
  kr_bytes_init(&json, KR_BYTES_DEFAULT_MAX);
  kr_reference_to_json(ref, &json);
  out->have_reference = !kr_reference_from_json(&out->reference, json.data, json.len, &err);
  kr_bytes_release(&json);
}

const char *outcome_word(const struct outcome *out)
{
  static const char *const words[] = {
      [OUTCOME_OPEN] = "not tried",  [OUTCOME_FRESH] = "fresh",     [OUTCOME_REWRITTEN] = "rewritten", [OUTCOME_KEPT] = "kept",
      [OUTCOME_CHECKED] = "checked", [OUTCOME_WAITING] = "waiting", [OUTCOME_REFUSED] = "refused",     [OUTCOME_FAILED] = "failed"};
  return words[out->state];
}

bool outcome_is_modelled(const struct outcome *out)
{
  for (size_t i = 0; out->have_refined && i < out->refined.n; i++)
    if (out->refined.turns[i].verdict.modelled)
      return true;
  return out->decided.modelled;
}

char *outcome_gpu(const struct outcome *out)
{
  const struct kr_verdict *v = &out->decided;
  for (size_t i = 0; !v->modelled && out->have_refined && i < out->refined.n; i++)
    if (out->refined.turns[i].verdict.modelled)
      v = &out->refined.turns[i].verdict;
  if (v->modelled)
    return kr_xasprintf("%s modelled", v->model_gpu);
  return kr_xasprintf("%s %s", out->device.name, out->device.arch);
}

// "1.26x [1.25, 1.27] on NVIDIA H200 sm_90 (64.3 -> 51.0 us at n = 4096)", and
// " unvalidated" behind a GPU that the model was never held against.
static void outcome_figures(const struct outcome *out, struct kr_bytes *b)
{
  const struct kr_verdict *v = &out->decided;
  table_ratio(v, b);
  if (v->modelled)
    kr_bytes_addf(b, " on %s%s (", v->model_gpu, v->model_validated ? "" : " unvalidated");
  else
    kr_bytes_addf(b, " on %s %s (", out->device.name, out->device.arch);
  for (size_t i = 0; i < v->n_times; i++)
    kr_bytes_addf(b, "%s%.1f -> %.1f us at %s", i ? "; " : "", v->times[i].base_us,
                  v->times[i].cand_us, v->times[i].label);
  kr_bytes_addc(b, ')');
}

void outcome_sentence(const struct outcome *out, bool written, struct kr_bytes *b)
{
  const struct kr_verdict *v = &out->decided;
  switch (out->state) {
  case OUTCOME_OPEN:
    kr_bytes_addf(b, "not tried%s%s", out->why ? ": " : "", out->why ? out->why : "");
    break;
  case OUTCOME_FRESH:
    kr_bytes_adds(b, "tried before, nothing changed (--again tries it once more)");
    break;
  case OUTCOME_REWRITTEN:
    kr_bytes_addf(b, "%s, %s", written ? "rewritten" : "verified", v->modelled ? "modelled " : "");
    outcome_figures(out, b);
    break;
  case OUTCOME_KEPT:
    kr_bytes_addf(b, "kept as it is: %s", out->why ? out->why : "nothing was faster");
    break;
  case OUTCOME_CHECKED:
    if (v->modelled) {
      kr_bytes_adds(b, "checked and modelled, not timed: ");
      outcome_figures(out, b);
      kr_bytes_addf(b, "; nothing is written%s%s", out->why ? ": " : "", out->why ? out->why : "");
    } else {
      kr_bytes_addf(b, "checked, not timed, so nothing is written%s%s", out->why ? ": " : "",
                    out->why ? out->why : "");
    }
    break;
  case OUTCOME_WAITING:
  case OUTCOME_REFUSED:
  case OUTCOME_FAILED:
    kr_bytes_addf(b, "%s: %s", outcome_word(out), out->why);
    break;
  }
}

void outcome_line(const struct outcome *out, bool written, struct kr_bytes *b)
{
  const struct task *t = out->task;
  kr_bytes_addf(b, "%s:%u: %s: ", t->in->src.path, t->kernel->line, t->kernel->qualified);
  outcome_sentence(out, written, b);
  kr_bytes_addc(b, '\n');
}

void outcome_turns(const struct outcome *out, size_t columns, struct kr_bytes *b)
{
  if (!out->have_refined || !out->refined.n)
    return;
  table_head(columns, b);
  for (size_t i = 0; i < out->refined.n; i++)
    table_row(out->refined.turns, i, i == out->winner, columns, b);
}

static void outcome_times_json(const struct kr_verdict *v, struct results *js)
{
  results_bool(js, "modelled", v->modelled);
  if (v->modelled) {
    results_bool(js, "validated", v->model_validated);
    results_string(js, "gpu", v->model_gpu);
  }
  results_number(js, "speedup", v->speedup);
  results_number(js, "lo", v->lo);
  results_number(js, "hi", v->hi);
  results_open(js, "cases", '[');
  for (size_t i = 0; i < v->n_times; i++) {
    results_open(js, NULL, '{');
    results_string(js, "case", v->times[i].label);
    results_number(js, "base_us", v->times[i].base_us);
    results_number(js, "candidate_us", v->times[i].cand_us);
    results_number(js, "ratio", v->times[i].ratio);
    results_number(js, "lo", v->times[i].lo);
    results_number(js, "hi", v->times[i].hi);
    if (v->times[i].base_bound)
      results_string(js, "base_bound", v->times[i].base_bound);
    if (v->times[i].cand_bound)
      results_string(js, "candidate_bound", v->times[i].cand_bound);
    results_close(js, '}');
  }
  results_close(js, ']');
}

static void outcome_turn_json(const struct refine_turn *t, struct results *js)
{
  results_open(js, NULL, '{');
  results_integer(js, "trajectory", t->trajectory);
  results_integer(js, "turn", t->turn);
  results_string(js, "model", t->model);
  if (t->parent != SIZE_MAX)
    results_integer(js, "parent", (int64_t)t->parent);
  results_string(js, "stage", kr_stage_name(t->verdict.stage));
  results_string(js, "status", kr_status_name(t->verdict.status));
  results_string(js, "log", t->verdict.log);
  results_string(js, "told", t->told);
  results_string(js, "note", t->verdict.note);
  results_string(js, "code", t->variant.candidate.code);
  if (t->variant.candidate.has_geometry) {
    struct kr_bytes launch;
    kr_bytes_init(&launch, 1 << 20);
    variant_geometry(&t->variant.candidate.geometry, &launch);
    results_string(js, "launch", launch.data);
    kr_bytes_release(&launch);
  }
  results_string(js, "summary", t->variant.summary);
  results_number(js, "score", t->score);
  if (t->verdict.speedup > 0)
    outcome_times_json(&t->verdict, js);
  results_number(js, "model_ms", t->model_ms);
  results_number(js, "judge_ms", t->judge_ms);
  results_close(js, '}');
}

void outcome_json(const struct outcome *out, struct results *js)
{
  const struct task *t = out->task;
  results_open(js, NULL, '{');
  results_string(js, "file", t->in->src.path);
  results_integer(js, "line", t->kernel->line);
  results_string(js, "kernel", t->kernel->qualified);
  results_string(js, "signature", t->kernel->signature);
  results_string(js, "outcome", outcome_word(out));
  if (out->why)
    results_string(js, "why", out->why);
  if (out->backend) {
    results_string(js, "backend", out->backend);
    results_string(js, "device", out->device.name);
    results_string(js, "arch", out->device.arch);
  }
  if (out->state == OUTCOME_REWRITTEN || out->state == OUTCOME_CHECKED) {
    results_bool(js, "confirmed", out->decided.confirmed);
    if (out->decided.speedup > 0)
      outcome_times_json(&out->decided, js);
    results_integer(js, "winner", (int64_t)out->winner);
  }
  if (out->have_refined) {
    results_string(js, "ended", refine_end_name(out->refined.end));
    if (out->refined.why)
      results_string(js, "ended_why", out->refined.why);
    results_integer(js, "calls", out->refined.calls);
    results_integer(js, "tokens_in", (int64_t)out->refined.tokens_in);
    results_integer(js, "tokens_out", (int64_t)out->refined.tokens_out);
    results_open(js, "turns", '[');
    for (size_t i = 0; i < out->refined.n; i++)
      outcome_turn_json(&out->refined.turns[i], js);
    results_close(js, ']');
  }
  results_close(js, '}');
}
