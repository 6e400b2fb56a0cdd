#include "judge_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "../rewriter/rewriter.h"

// A mixing step (SplitMix64, Steele, Lea and Flood 2014).
uint64_t judge_seed(uint64_t seed, uint64_t a, uint64_t b)
{
  uint64_t z = seed + 0x9e3779b97f4a7c15u * (a + 1) + 0xd1b54a32d192ed03u * b;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t judge_open_seed(const struct judge_setup *setup)
{
  return judge_seed(setup->seed, 0, 0);
}

int judge_open(struct judge **out, const struct judge_setup *setup, struct kr_err *err)
{
  struct judge *j = kr_xcalloc(1, sizeof *j);
  j->setup = *setup;
  j->until = KR_STAGE_TIME;
  j->worker = kr_worker_new(&j->setup.worker, setup->contract, judge_open_seed(setup));
  double start = kr_now_ms();
  if (kr_worker_open(j->worker, &j->reference, err)) {
    judge_close(j);
    return -1;
  }
  kr_debug("time", "the original: %.1f ms", kr_now_ms() - start);
  j->have_reference = true;
  *out = j;
  return 0;
}

void judge_close(struct judge *j)
{
  if (!j)
    return;
  kr_worker_free(j->worker);
  if (j->have_reference)
    kr_reference_release(&j->reference);
  free(j);
}

const struct kr_reference *judge_reference(const struct judge *j)
{
  return &j->reference;
}

void judge_until(struct judge *j, enum kr_stage until)
{
  j->until = until < KR_STAGE_TIME ? KR_STAGE_CHECK : KR_STAGE_TIME;
}

// A screen's refusals as a verdict: all of them told, each with its line.
static void judge_refuse(struct kr_verdict *v, const struct kr_screen *screen)
{
  struct kr_bytes text;
  kr_bytes_init(&text, 1 << 16);
  for (size_t i = 0; i < screen->n; i++) {
    const struct kr_refusal *r = &screen->items[i];
    if (r->line)
      kr_bytes_addf(&text, "%svariant.cu:%u: %s", i ? "\n" : "", r->line, r->text);
    else
      kr_bytes_addf(&text, "%s%s", i ? "\n" : "", r->text);
  }
  kr_verdict_release(v);
  kr_verdict_init(v);
  v->stage = KR_STAGE_SCREEN;
  v->status = KR_STATUS_REFUSED;
  v->log = kr_xstrdup(text.data);
  v->told = kr_bytes_take(&text);
  kr_bytes_release(&text);
}

static void judge_environment(struct kr_verdict *v, enum kr_stage stage, const char *why)
{
  kr_verdict_release(v);
  kr_verdict_init(v);
  v->stage = stage;
  v->status = KR_STATUS_ENVIRONMENT;
  v->log = kr_xstrdup(why);
}

// The fact screen. Returns 0, or -1 when the parser broke, which refuses the
// candidate as well: it fails closed.
static int judge_facts(struct judge *j, const struct kr_screen_input *in, struct kr_screen *screen,
                       struct kr_err *err)
{
  struct kr_facts facts = {0};
  if (kr_parser_facts(j->setup.parser, &j->setup.request, j->setup.kernel, in->code, &facts, err))
    return -1;
  kr_screen_facts(in, &facts, screen);
  kr_facts_release(&facts);
  return 0;
}

// What the screen notes and does not refuse goes into the report.
static void judge_note(struct kr_verdict *v, const struct kr_screen_input *in)
{
  struct kr_screen notes = {0};
  kr_screen_notes(in, &notes);
  for (size_t i = 0; i < notes.n; i++) {
    char *text = kr_xasprintf("%s%sline %u: %s", v->note ? v->note : "", v->note ? "; " : "",
                              notes.items[i].line, notes.items[i].text);
    free(v->note);
    v->note = text;
  }
  kr_screen_release(&notes);
}

int judge_candidate(void *arg, const struct kr_candidate *cand, unsigned number,
                    struct kr_verdict *v, struct kr_err *err)
{
  struct judge *j = arg;
  struct kr_screen screen = {0};
  struct kr_screen_input in = {.code = cand->code,
                               .source = j->setup.source,
                               .kernel = j->setup.kernel,
                               .contract = j->setup.contract};
  struct kr_judge_options options = {.until = j->until,
                                     .seed = judge_seed(j->setup.seed, number, 1)};
  kr_screen_tokens(&in, &screen);
  if (screen.n) {
    judge_refuse(v, &screen);
    kr_screen_release(&screen);
    return 0;
  }
  int rc = kr_worker_judge_begin(j->worker, cand, &options, err);
  if (rc)
    return -1;
  struct kr_err parser_err = {""};
  double start = kr_now_ms();
  int facts = judge_facts(j, &in, &screen, &parser_err);
  double facts_ms = kr_now_ms() - start;
  rc = kr_worker_judge_end(j->worker, v, err);
  kr_debug("time", "facts %.1f ms, worker %.1f ms (compile %.1f, check %.1f, time %.1f), both %.1f ms",
           facts_ms, v->wall_ms, v->compile_ms, v->check_ms, v->time_ms, kr_now_ms() - start);
  // A text that kills the parser mostly kills the compiler as well, which has then
  // said what is to be said.
  if (facts && (v->status == KR_STATUS_OK || rc))
    judge_environment(v, KR_STAGE_SCREEN, parser_err.text);
  else if (screen.n && v->status != KR_STATUS_COMPILE_ERROR)
    judge_refuse(v, &screen); // of two that found it broken, the compiler is the one to hear
  if (v->status == KR_STATUS_OK)
    judge_note(v, &in);
  kr_screen_release(&screen);
  kr_debug("verify", "judgement %u: %s at %s%s%s", number, kr_status_name(v->status),
           kr_stage_name(v->stage), v->log ? ": " : "", v->log ? v->log : "");
  return facts || screen.n ? 0 : rc;
}

// --- the decision where times are modelled ---

int judge_confirm_modelled(struct judge *j, const struct kr_candidate *cand, size_t finalist,
                           struct kr_verdict *v, struct kr_err *err)
{
  // What a processor is busy with would be in the way of the fresh one.
  kr_worker_free(j->worker);
  j->worker = NULL;
  uint64_t seed = judge_seed(j->setup.seed, 1000, 2 + finalist);
  struct kr_judge_options options = {.until = KR_STAGE_TIME, .seed = seed, .thorough = true};
  struct kr_worker *w = kr_worker_new(&j->setup.worker, j->setup.contract, seed);
  kr_verdict_release(v);
  double start = kr_now_ms();
  int rc = kr_worker_judge(w, cand, &options, v, err);
  kr_worker_free(w);
  if (rc)
    return -1;
  kr_debug("time", "finalist %zu: %.1f ms, of it opening %.1f (compile %.1f, check %.1f, time %.1f)",
           finalist + 1, kr_now_ms() - start, kr_now_ms() - start - v->wall_ms, v->compile_ms,
           v->check_ms, v->time_ms);
  kr_debug("verify", "finalist %zu: %s at %s%s%s", finalist + 1, kr_status_name(v->status),
           kr_stage_name(v->stage), v->log ? ": " : "", v->log ? v->log : "");
  v->confirmed = v->status == KR_STATUS_OK && v->modelled;
  v->stage = KR_STAGE_CONFIRM;
  return 0;
}
