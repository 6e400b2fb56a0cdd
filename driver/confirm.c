#include "judge_internal.h"

#include <pthread.h>
#include <stdlib.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"

// The confirmation: which of the finalists is faster, over processes.

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
      kr_worker_new(&setup->worker, setup->contract, judge_open_seed(setup));
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
