#include "outcome.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

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
  out->why = kr_xstrdup(why);
}

static const char *outcome_word(const struct outcome *out)
{
  static const char *const words[] = {
      [OUTCOME_FRESH] = "fresh",     [OUTCOME_REWRITTEN] = "rewritten", [OUTCOME_KEPT] = "kept",
      [OUTCOME_CHECKED] = "checked", [OUTCOME_REFUSED] = "refused",     [OUTCOME_FAILED] = "failed"};
  return words[out->state];
}

void outcome_line(const struct outcome *out, bool written, struct kr_bytes *b)
{
  const struct task *t = out->task;
  const struct kr_verdict *v = &out->decided;
  kr_bytes_addf(b, "%s:%u: %s: ", t->in->src.path, t->kernel->line, t->kernel->qualified);
  switch (out->state) {
  case OUTCOME_FRESH:
    kr_bytes_adds(b, "tried before, nothing changed (--again tries it once more)");
    break;
  case OUTCOME_REWRITTEN:
    kr_bytes_addf(b, "%s, %.2fx [%.2f, %.2f] on %s %s (", written ? "rewritten" : "verified",
                  v->speedup, v->lo, v->hi, out->device.name, out->device.arch);
    for (size_t i = 0; i < v->n_times; i++)
      kr_bytes_addf(b, "%s%.1f -> %.1f us at %s", i ? "; " : "", v->times[i].base_us,
                    v->times[i].cand_us, v->times[i].label);
    kr_bytes_addc(b, ')');
    break;
  case OUTCOME_KEPT:
    kr_bytes_addf(b, "kept as it is: %s", out->why ? out->why : "nothing was faster");
    break;
  case OUTCOME_CHECKED:
    kr_bytes_adds(b, "checked, not timed: no GPU here, so nothing is written");
    break;
  case OUTCOME_REFUSED:
  case OUTCOME_FAILED:
    kr_bytes_addf(b, "%s: %s", outcome_word(out), out->why);
    break;
  }
  kr_bytes_addc(b, '\n');
}

// The first line of a text, for a table.
static int first_line(const char *s)
{
  return s ? (int)strcspn(s, "\n") : 0;
}

void outcome_turns(const struct outcome *out, struct kr_bytes *b)
{
  for (size_t i = 0; out->have_refined && i < out->refined.n; i++) {
    const struct refine_turn *t = &out->refined.turns[i];
    const struct kr_verdict *v = &t->verdict;
    kr_bytes_addf(b, "  %u.%u  ", t->trajectory, t->turn);
    if (v->status == KR_STATUS_OK && v->speedup > 0)
      kr_bytes_addf(b, "correct, %.2fx [%.2f, %.2f]", v->speedup, v->lo, v->hi);
    else if (v->status == KR_STATUS_OK)
      kr_bytes_adds(b, "correct, not timed");
    else
      kr_bytes_addf(b, "%s at %s: %.*s", kr_status_name(v->status), kr_stage_name(v->stage),
                    first_line(v->log ? v->log : v->told), v->log ? v->log : v->told ? v->told : "");
    if (t->same_as != SIZE_MAX)
      kr_bytes_addf(b, " (the same as %u.%u)", out->refined.turns[t->same_as].trajectory,
                    out->refined.turns[t->same_as].turn);
    kr_bytes_addf(b, "%s\n", i == out->winner ? "  <- taken" : "");
  }
}

static void outcome_times_json(const struct kr_verdict *v, struct json *js)
{
  json_number(js, "speedup", v->speedup);
  json_number(js, "lo", v->lo);
  json_number(js, "hi", v->hi);
  json_open(js, "cases", '[');
  for (size_t i = 0; i < v->n_times; i++) {
    json_open(js, NULL, '{');
    json_string(js, "case", v->times[i].label);
    json_number(js, "base_us", v->times[i].base_us);
    json_number(js, "candidate_us", v->times[i].cand_us);
    json_number(js, "ratio", v->times[i].ratio);
    json_number(js, "lo", v->times[i].lo);
    json_number(js, "hi", v->times[i].hi);
    json_close(js, '}');
  }
  json_close(js, ']');
}

static void outcome_turn_json(const struct refine_turn *t, struct json *js)
{
  json_open(js, NULL, '{');
  json_integer(js, "trajectory", t->trajectory);
  json_integer(js, "turn", t->turn);
  json_string(js, "stage", kr_stage_name(t->verdict.stage));
  json_string(js, "status", kr_status_name(t->verdict.status));
  json_string(js, "log", t->verdict.log);
  json_string(js, "told", t->told);
  json_string(js, "code", t->variant.candidate.code);
  json_string(js, "summary", t->variant.summary);
  json_number(js, "score", t->score);
  if (t->verdict.speedup > 0)
    outcome_times_json(&t->verdict, js);
  json_number(js, "model_ms", t->model_ms);
  json_number(js, "judge_ms", t->judge_ms);
  json_close(js, '}');
}

void outcome_json(const struct outcome *out, struct json *js)
{
  const struct task *t = out->task;
  json_open(js, NULL, '{');
  json_string(js, "file", t->in->src.path);
  json_integer(js, "line", t->kernel->line);
  json_string(js, "kernel", t->kernel->qualified);
  json_string(js, "signature", t->kernel->signature);
  json_string(js, "outcome", outcome_word(out));
  if (out->why)
    json_string(js, "why", out->why);
  if (out->backend) {
    json_string(js, "backend", out->backend);
    json_string(js, "device", out->device.name);
    json_string(js, "arch", out->device.arch);
  }
  if (out->state == OUTCOME_REWRITTEN) {
    json_bool(js, "confirmed", out->decided.confirmed);
    outcome_times_json(&out->decided, js);
    json_integer(js, "winner", (int64_t)out->winner);
  }
  if (out->have_refined) {
    json_integer(js, "calls", out->refined.calls);
    json_integer(js, "tokens_in", (int64_t)out->refined.tokens_in);
    json_integer(js, "tokens_out", (int64_t)out->refined.tokens_out);
    json_open(js, "turns", '[');
    for (size_t i = 0; i < out->refined.n; i++)
      outcome_turn_json(&out->refined.turns[i], js);
    json_close(js, ']');
  }
  json_close(js, '}');
}
