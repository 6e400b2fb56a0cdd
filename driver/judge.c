#include "judge.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "../rewriter/rewriter.h"

struct judge {
  struct judge_setup setup;
  struct kr_worker *worker;
  struct kr_reference reference;
  bool have_reference;
  enum kr_stage until;
};

// Seeds of one run must not repeat: judgement, finalist and worker each get
// their own by a mixing step (SplitMix64, Steele, Lea and Flood 2014).
static uint64_t judge_seed(uint64_t seed, uint64_t a, uint64_t b)
{
  uint64_t z = seed + 0x9e3779b97f4a7c15u * (a + 1) + 0xd1b54a32d192ed03u * b;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int judge_open(struct judge **out, const struct judge_setup *setup, struct kr_err *err)
{
  struct judge *j = kr_xcalloc(1, sizeof *j);
  j->setup = *setup;
  j->until = KR_STAGE_TIME;
  j->worker = kr_worker_new(&j->setup.worker, setup->contract, judge_seed(setup->seed, 0, 0));
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

// --- the confirmation ---

// Several processes at once, each with all finalists in turn: what is checked overlaps,
// and who times has the GPU alone (the back end sees to it). A process dies with the
// thread that started it, so each thread keeps its own from start to end.
struct confirm {
  struct judge *j;
  const struct kr_candidate *const *cands;
  size_t n;
  struct kr_confirm_share (*shares)[JUDGE_WORKERS]; // of each finalist
  bool (*done)[JUDGE_WORKERS];
  pthread_mutex_t lock;
  pthread_cond_t news;
  unsigned measuring; // processes that have shares left to measure
  size_t ended, last; // shares that ended; the finalist of the last one
  bool failed;        // nothing more is measured, for the first reason, which is `err`
  struct kr_err err;
};

struct confirm_process {
  struct confirm *c;
  unsigned index;
};

// Whether a share of finalist `f` is still worth its while: not when one found it wrong.
static bool confirm_wanted(struct confirm *c, size_t f)
{
  pthread_mutex_lock(&c->lock);
  bool wanted = !c->failed;
  for (unsigned i = 0; i < JUDGE_WORKERS; i++)
    wanted &= !c->done[f][i] || c->shares[f][i].verdict.status == KR_STATUS_OK ||
              c->shares[f][i].verdict.status == KR_STATUS_ENVIRONMENT;
  pthread_mutex_unlock(&c->lock);
  return wanted;
}

static void *confirm_process(void *arg)
{
  struct confirm *c = ((struct confirm_process *)arg)->c;
  unsigned index = ((struct confirm_process *)arg)->index;
  const struct judge_setup *setup = &c->j->setup;
  // What was found out of the original holds under the seed that it was found out by.
  struct kr_worker *w =
      kr_worker_new(&setup->worker, setup->contract, judge_seed(setup->seed, 0, 0));
  kr_worker_know(w, &c->j->reference);
  for (size_t f = 0; f < c->n; f++) {
    if (!confirm_wanted(c, f))
      continue;
    struct kr_confirm_options options = {.seed = judge_seed(setup->seed, 1000 + index, 2 + f),
                                         .share = index,
                                         .shares = JUDGE_WORKERS};
    struct kr_err err = {""};
    double start = kr_now_ms();
    struct kr_confirm_share share;
    int rc = kr_worker_confirm(w, c->cands[f], &options, &share, &err);
    kr_debug("time", "finalist %zu, process %u: %.0f ms (judged %.0f, compile %.0f, check %.0f, "
             "time %.0f)", f + 1, index + 1, kr_now_ms() - start, share.verdict.wall_ms,
             share.verdict.compile_ms, share.verdict.check_ms, share.verdict.time_ms);
    pthread_mutex_lock(&c->lock);
    c->shares[f][index] = share;
    c->done[f][index] = true;
    c->ended++;
    c->last = f;
    if (rc && !c->failed) {
      c->failed = true;
      c->err = err;
    }
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->lock);
  }
  // A process that ends gives memory back, which the CUDA driver then clears: not
  // while another one times.
  pthread_mutex_lock(&c->lock);
  c->measuring--;
  pthread_cond_broadcast(&c->news);
  while (c->measuring)
    pthread_cond_wait(&c->news, &c->lock);
  pthread_mutex_unlock(&c->lock);
  kr_worker_free(w);
  return NULL;
}

// How many processes memory allows at a time. What one holds at most, in sizes of all
// buffers of a case: on the GPU their contents, clones between guards, and for timing
// two copies with a shadow, from buffers cached since (8), beside copies that exceed L2
// twice and what flushes it (4); on the host contents, four results of the candidate,
// two of the original and three of timed launches, rounded up to whole pages (12). A
// context and a process take some 512 MiB. Others have what is left.
static unsigned confirm_at_once(const struct judge *j)
{
  enum { GPU_SIZES = 8, GPU_L2S = 4, HOST_SIZES = 12, PROCESS_BYTES = 512 << 20 };
  static const double ours = 0.6;
  const struct kr_reference *ref = &j->reference;
  double bytes = 0, host = kr_memory_available();
  for (size_t i = 0; i < ref->n_cases; i++)
    bytes = ref->case_bytes[i] > bytes ? ref->case_bytes[i] : bytes;
  double on_gpu = GPU_SIZES * bytes + GPU_L2S * (double)ref->device.l2_bytes + PROCESS_BYTES;
  double on_host = HOST_SIZES * bytes + PROCESS_BYTES;
  double most = ours * (double)ref->device.memory_bytes / on_gpu;
  if (host > 0 && ours * host / on_host < most)
    most = ours * host / on_host;
  return most < 1 ? 1 : most > JUDGE_WORKERS ? JUDGE_WORKERS : (unsigned)most;
}

// Runs `n` of them from `first` on, and tells meanwhile.
static void confirm_round(struct confirm *c, unsigned first, unsigned n,
                          void (*tell)(void *arg, size_t finalist, unsigned shares), void *arg)
{
  pthread_t threads[JUDGE_WORKERS];
  struct confirm_process processes[JUDGE_WORKERS];
  unsigned started = 0;
  c->measuring = n;
  for (; started < n; started++) {
    processes[started] = (struct confirm_process){c, first + started};
    if (pthread_create(&threads[started], NULL, confirm_process, &processes[started]))
      break;
  }
  pthread_mutex_lock(&c->lock);
  c->measuring -= n - started;
  if (started < n && !c->failed) {
    c->failed = true;
    kr_err_set(&c->err, "cannot start a thread");
  }
  pthread_cond_broadcast(&c->news);
  for (size_t told = c->ended; c->measuring || told != c->ended;) {
    if (told == c->ended) {
      pthread_cond_wait(&c->news, &c->lock);
      continue;
    }
    told = c->ended;
    size_t last = c->last;
    pthread_mutex_unlock(&c->lock);
    if (tell)
      tell(arg, last, (unsigned)told);
    pthread_mutex_lock(&c->lock);
  }
  pthread_mutex_unlock(&c->lock);
  for (unsigned i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
}

// What the shares of finalist `f` come to: one that found it wrong, one that the machine
// failed, or all of them.
static void confirm_decide(struct confirm *c, size_t f, struct kr_verdict *v)
{
  unsigned bad = JUDGE_WORKERS;
  for (unsigned i = JUDGE_WORKERS; i-- > 0;) {
    enum kr_status status = c->done[f][i] ? c->shares[f][i].verdict.status : KR_STATUS_OK;
    if (status != KR_STATUS_OK &&
        (status != KR_STATUS_ENVIRONMENT || bad == JUDGE_WORKERS ||
         c->shares[f][bad].verdict.status == KR_STATUS_ENVIRONMENT))
      bad = i;
  }
  if (bad == JUDGE_WORKERS) {
    kr_confirm_decide(c->shares[f], JUDGE_WORKERS, c->n, c->j->setup.contract, v);
    return;
  }
  kr_verdict_release(v);
  *v = c->shares[f][bad].verdict;
  kr_verdict_init(&c->shares[f][bad].verdict);
  v->stage = KR_STAGE_CONFIRM;
  v->speedup = v->lo = v->hi = 0;
}

int judge_confirm(struct judge *j, const struct kr_candidate *const *cands, size_t n,
                  struct kr_verdict *verdicts,
                  void (*tell)(void *arg, size_t finalist, unsigned shares), void *arg,
                  struct kr_err *err)
{
  struct confirm c = {.j = j, .cands = cands, .n = n};
  // The search's worker holds device memory that the fresh ones may need.
  kr_worker_free(j->worker);
  j->worker = NULL;
  if (!n)
    return 0;
  double start = kr_now_ms();
  unsigned at_once = confirm_at_once(j);
  c.shares = kr_xcalloc(n, sizeof *c.shares);
  c.done = kr_xcalloc(n, sizeof *c.done);
  pthread_mutex_init(&c.lock, NULL);
  pthread_cond_init(&c.news, NULL);
  for (unsigned i = 0; i < JUDGE_WORKERS && !c.failed; i += at_once)
    confirm_round(&c, i, at_once < JUDGE_WORKERS - i ? at_once : JUDGE_WORKERS - i, tell, arg);
  kr_debug("time", "the confirmation of %zu: %.0f ms, %u processes at once", n,
           kr_now_ms() - start, at_once);
  if (c.failed)
    kr_err_set(err, "%s", c.err.text);
  for (size_t f = 0; f < n && !c.failed; f++)
    confirm_decide(&c, f, &verdicts[f]);
  for (size_t f = 0; f < n; f++)
    for (unsigned i = 0; i < JUDGE_WORKERS; i++)
      if (c.done[f][i])
        kr_confirm_share_release(&c.shares[f][i]);
  pthread_cond_destroy(&c.news);
  pthread_mutex_destroy(&c.lock);
  free(c.shares);
  free(c.done);
  return c.failed ? -1 : 0;
}

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
