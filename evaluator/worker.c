#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parts.h"
#include "evaluate.h"
#include "wire.h"

// The driver's half of a worker. Whatever the child does (dies, stops, answers
// nonsense), the caller gets a verdict, and the next call a fresh child. What
// the child was at when it went is read from a page shared with it: with a
// candidate in hand the candidate is to blame, before that it is tried once
// more with a fresh one.

enum {
  DEFAULT_TIMEOUT_MS = 10000, // of one launch; every limit below is a multiple of it
  OPEN_LIMIT = 60,
  COMPILE_LIMIT = 12,
  SMOKE_LIMIT = 6,
  CHECK_LIMIT = 30,
  TIME_LIMIT = 12,
  IDLE_LIMIT = 6, // between a message and the first stage
  WAIT_LIMIT = 180, // for a device that another process has to itself
  MAX_AVOID = 64
};

struct kr_worker {
  struct kr_worker_options options;
  const struct kr_contract *c; // borrowed
  uint64_t seed;
  pid_t pid; // 0: none
  int fd;
  struct wire_board *board;
  bool opened;
  bool brief; // opened for one share of a confirmation alone
  char **avoid;
  size_t n_avoid;
  struct kr_reference ref; // of the first open
  bool has_ref;
  // A judgement that was begun.
  bool busy;
  char *request; // of the judgement in flight, to be sent again
  size_t request_len;
  struct kr_judge_options judge;
};

struct kr_worker *kr_worker_new(const struct kr_worker_options *options,
                                const struct kr_contract *c, uint64_t seed)
{
  struct kr_worker *w = kr_xcalloc(1, sizeof *w);
  w->options = *options;
  w->c = c;
  w->seed = seed;
  w->fd = -1;
  return w;
}

// --- the child ---

static bool name_allowed(const char *entry)
{
  // Keys and tokens of the user's environment have no business where code of a
  // model runs, so names are let through one by one.
  static const char *const names[] = {"PATH=",          "HOME=",         "TMPDIR=",
                                      "LD_LIBRARY_PATH=", "LANG=",        "LC_ALL=",
                                      "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "CUDA_PATH=",
                                      "CUDA_HOME=",     "CUDA_CACHE_PATH=", "ASAN_OPTIONS=",
                                      "UBSAN_OPTIONS=", "TSAN_OPTIONS=", "KEVIN_LOCK_DIR="};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!strncmp(entry, names[i], strlen(names[i])))
      return true;
  }
  return false;
}

static char **scrubbed_environment(void)
{
  size_t n = 0;
  while (environ[n])
    n++;
  char **out = kr_xcalloc(n + 1, sizeof *out);
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (name_allowed(environ[i]))
      out[kept++] = environ[i];
  }
  return out;
}

// Runs between fork and exec: only calls that are safe there.
static void become_worker(const char *program, char *const argv[], char *const envp[], int socket_fd,
                          int board_fd, pid_t parent)
{
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127);
  // A group of its own: the terminal's signals go to the driver alone, and the
  // compilers that a worker starts die with it.
  setpgid(0, 0);
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  int null = open("/dev/null", O_RDWR);
  // Both are above the places they go to, or the second would cover the first.
  int s = fcntl(socket_fd, F_DUPFD, 10), b = fcntl(board_fd, F_DUPFD, 10);
  if (null < 0 || s < 0 || b < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
      dup2(s, WIRE_SOCKET) < 0 || dup2(b, WIRE_BOARD) < 0)
    _exit(127);
  syscall(SYS_close_range, WIRE_BOARD + 1, ~0u, 0);
  execve(program, argv, envp);
  _exit(127);
}

static void forget_child(struct kr_worker *w)
{
  if (w->fd >= 0)
    close(w->fd);
  w->fd = -1;
  if (w->board)
    munmap(w->board, sizeof *w->board);
  w->board = NULL;
  w->pid = 0;
  w->opened = false;
}

// Ends the child and says how it had ended if it already had: "killed by signal
// 11 (Segmentation fault)".
static void end_child(struct kr_worker *w, char *how, size_t size)
{
  if (how)
    snprintf(how, size, "ended");
  if (!w->pid)
    return;
  int status = 0;
  pid_t dead = waitpid(w->pid, &status, WNOHANG);
  // One whose socket closed may take a moment until it can be waited for.
  for (int i = 0; how && dead == 0 && i < 50; i++) {
    poll(NULL, 0, 2);
    dead = waitpid(w->pid, &status, WNOHANG);
  }
  if (dead == 0) {
    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
      ;
    if (how)
      snprintf(how, size, "had to be killed");
  } else if (dead > 0) {
    kill(-w->pid, SIGKILL); // what it left behind
    if (how && WIFSIGNALED(status))
      snprintf(how, size, "was killed by signal %d (%s)", WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else if (how)
      snprintf(how, size, "ended with status %d", WEXITSTATUS(status));
  }
  forget_child(w);
}

static int start_child(struct kr_worker *w, struct kr_err *err)
{
  int pair[2] = {-1, -1}, board = -1, rc = -1;
  char *program = w->options.program ? kr_xstrdup(w->options.program)
                                     : kr_part_program("kevin-worker");
  char **envp = scrubbed_environment();
  char *argv[] = {program, "--serve", NULL};
  if (access(program, X_OK)) {
    kr_err_errno(err, "cannot start %s", program);
    goto out;
  }
  board = memfd_create("kevin-worker", MFD_CLOEXEC);
  if (board < 0 || ftruncate(board, sizeof *w->board) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
    kr_err_errno(err, "cannot start %s", program);
    goto out;
  }
  w->board = mmap(NULL, sizeof *w->board, PROT_READ | PROT_WRITE, MAP_SHARED, board, 0);
  if (w->board == MAP_FAILED) {
    w->board = NULL;
    kr_err_errno(err, "cannot start %s", program);
    goto out;
  }
  pid_t parent = getpid(), pid = fork();
  if (pid == 0)
    become_worker(program, argv, envp, pair[1], board, parent);
  if (pid < 0) {
    kr_err_errno(err, "cannot start %s", program);
    forget_child(w);
    goto out;
  }
  setpgid(pid, pid); // here as well, so that it holds whoever comes first
  w->pid = pid;
  w->fd = pair[0];
  pair[0] = -1;
  rc = 0;
out:
  if (pair[0] >= 0)
    close(pair[0]);
  if (pair[1] >= 0)
    close(pair[1]);
  if (board >= 0)
    close(board);
  free(envp);
  free(program);
  return rc;
}

// --- asking ---

static int unit_ms(const struct kr_worker *w)
{
  unsigned t = w->options.device.timeout_ms ? w->options.device.timeout_ms : DEFAULT_TIMEOUT_MS;
  return t > 1000000 ? 1000000 : (int)t;
}

static unsigned board_stage(const struct kr_worker *w)
{
  unsigned stage = w->board ? atomic_load(&w->board->stage) : 0;
  return stage <= KR_STAGE_CONFIRM + 1 ? stage : 0;
}

// How long the child may stay silent where it stands.
static double stage_limit_ms(const struct kr_worker *w, unsigned stage)
{
  double unit = unit_ms(w);
  switch (stage) {
  case KR_STAGE_COMPILE + 1:
    return COMPILE_LIMIT * unit;
  case KR_STAGE_SMOKE + 1:
    return SMOKE_LIMIT * unit;
  case KR_STAGE_CHECK + 1:
    return CHECK_LIMIT * unit + w->judge.check_budget_ms;
  case KR_STAGE_TIME + 1:
  case KR_STAGE_CONFIRM + 1:
    return TIME_LIMIT * unit + w->judge.time_budget_ms;
  default:
    return IDLE_LIMIT * unit;
  }
}

// Waits for an answer while the stages go by, each with a limit of its own.
// `fixed_ms` > 0 is a limit over all instead (open, probe). While another process has
// the device to itself no limit runs but one for that; it is nobody's fault here.
static enum wire_result await(struct kr_worker *w, struct kr_bytes *out, double fixed_ms,
                              unsigned *stage)
{
  double since = kr_now_ms(), looked = since, waited = 0;
  *stage = board_stage(w);
  for (;;) {
    double limit = fixed_ms > 0 ? fixed_ms : stage_limit_ms(w, *stage);
    double now_ms = kr_now_ms();
    if (w->board && atomic_load(&w->board->waits)) {
      since += now_ms - looked;
      waited += now_ms - looked;
    }
    looked = now_ms;
    double left = since + limit - now_ms;
    if (waited > WAIT_LIMIT * (double)unit_ms(w)) {
      *stage = 0;
      return WIRE_LATE;
    }
    if (left <= 0)
      return WIRE_LATE;
    struct pollfd p = {w->fd, POLLIN, 0};
    int n = poll(&p, 1, left < 50 ? (int)left + 1 : 50);
    unsigned now = board_stage(w);
    if (n > 0) {
      // An answer that has begun comes whole: it was made before it was sent.
      enum wire_result r = wire_receive(w->fd, out, unit_ms(w));
      // The board is cleared before an answer is sent; who died did not clear it.
      if (r != WIRE_OK && now)
        *stage = now;
      return r;
    }
    if (now && now != *stage) {
      *stage = now;
      since = kr_now_ms();
    }
  }
}

static void put_op(struct json_writer *jw, const char *op)
{
  json_open(jw, '{');
  json_string(jw, "op", op);
}

static void put_device(struct json_writer *jw, const struct kr_worker_options *o)
{
  json_string(jw, "backend", o->backend);
  json_key(jw, "options");
  backend_options_put(jw, &o->device);
}

static void open_request(const struct kr_worker *w, struct kr_bytes *out)
{
  struct json_writer jw = {out, false};
  struct kr_bytes contract;
  kr_bytes_init(&contract, WIRE_MAX);
  kr_contract_to_json(w->c, &contract);
  put_op(&jw, "open");
  put_device(&jw, &w->options);
  json_uint64(&jw, "seed", w->seed);
  json_bool(&jw, "brief", w->brief);
  json_key(&jw, "avoid");
  json_open(&jw, '[');
  for (size_t i = 0; i < w->n_avoid; i++)
    json_put_string(&jw, w->avoid[i]);
  json_close(&jw, ']');
  if (w->has_ref) {
    json_key(&jw, "known");
    kr_reference_to_json(&w->ref, out);
    jw.comma = true;
  }
  json_string(&jw, "contract", contract.data);
  json_close(&jw, '}');
  kr_bytes_release(&contract);
}

static const char *const wire_words[] = {"", "", "did not answer in time", "answered nonsense"};

// The parsed answer to a request, or NULL with a sentence. `error` is set (owned)
// when the child answered that it failed; `lost` is what it says was lost.
static cJSON *read_answer(const struct kr_bytes *text, char **error, char **lost,
                          struct kr_err *err)
{
  *error = *lost = NULL;
  cJSON *root = json_parse(text->data, text->len, err);
  struct json_reader r = {err, !root};
  bool ok = json_get_bool(&r, root, "ok", false);
  if (!r.failed && !ok) {
    *error = json_get_string(&r, root, "error", false);
    *lost = json_get_string(&r, root, "lost", true);
  }
  if (!r.failed)
    return root;
  free(*error);
  free(*lost);
  *error = *lost = NULL;
  cJSON_Delete(root);
  return NULL;
}

static bool avoid_next_time(struct kr_worker *w, const char *attempt)
{
  if (!attempt || !attempt[0] || w->n_avoid >= MAX_AVOID)
    return false;
  for (size_t i = 0; i < w->n_avoid; i++) {
    if (!strcmp(w->avoid[i], attempt))
      return false; // it went at the same place again
  }
  w->avoid = kr_xreallocarray(w->avoid, w->n_avoid + 1, sizeof *w->avoid);
  w->avoid[w->n_avoid++] = kr_xstrdup(attempt);
  kr_debug("verify", "the original took a worker with it at %s", attempt);
  return true;
}

// One try at an open child. 0; 1 when the original took it along at something
// that a next one will avoid; -1 otherwise.
static int open_once(struct kr_worker *w, struct kr_reference *ref, struct kr_err *err)
{
  struct kr_bytes request, reply;
  kr_bytes_init(&request, WIRE_MAX);
  kr_bytes_init(&reply, WIRE_MAX);
  int rc = -1;
  unsigned stage;
  char how[128];
  if (start_child(w, err))
    goto out;
  open_request(w, &request);
  if (request.toobig) {
    kr_err_set(err, "the contract of %s is too large for a worker", w->c->kernel);
    goto out;
  }
  struct kr_err ignored;
  enum wire_result got = WIRE_GONE;
  if (!wire_send(w->fd, request.data, request.len, unit_ms(w), &ignored))
    got = await(w, &reply, OPEN_LIMIT * (double)unit_ms(w), &stage);
  if (got != WIRE_OK) {
    char attempt[sizeof w->board->attempt];
    memcpy(attempt, w->board->attempt, sizeof attempt);
    attempt[sizeof attempt - 1] = '\0';
    end_child(w, how, sizeof how);
    if (avoid_next_time(w, attempt))
      rc = 1;
    else
      kr_err_set(err, "kevin-worker %s while it ran the original%s%s",
                 got == WIRE_GONE ? how : wire_words[got], attempt[0] ? " at " : "", attempt);
    goto out;
  }
  char *error, *lost;
  cJSON *root = read_answer(&reply, &error, &lost, err);
  if (!root) {
    kr_err_prefix(err, "kevin-worker answered nonsense");
  } else if (error) {
    if (avoid_next_time(w, lost))
      rc = 1;
    else
      kr_err_set(err, "%s", error);
  } else {
    struct json_reader r = {err, false};
    reference_read(&r, cJSON_GetObjectItemCaseSensitive(root, "reference"), ref);
    rc = r.failed ? -1 : 0;
    if (r.failed) {
      kr_reference_release(ref);
      kr_err_prefix(err, "kevin-worker answered nonsense");
    }
  }
  free(error);
  free(lost);
  cJSON_Delete(root);
out:
  kr_bytes_release(&request);
  kr_bytes_release(&reply);
  if (rc)
    end_child(w, NULL, 0);
  w->opened = !rc;
  return rc;
}

static int open_child(struct kr_worker *w, struct kr_reference *ref, struct kr_err *err)
{
  int rc;
  do
    rc = open_once(w, ref, err);
  while (rc > 0);
  return rc;
}

// What the caller gets and what restarts need are two copies.
void kr_worker_know(struct kr_worker *w, const struct kr_reference *ref)
{
  struct kr_bytes text;
  kr_bytes_init(&text, WIRE_MAX);
  kr_reference_to_json(ref, &text);
  kr_reference_release(&w->ref);
  w->has_ref = !kr_reference_from_json(&w->ref, text.data, text.len, NULL);
  kr_bytes_release(&text);
}

int kr_worker_open(struct kr_worker *w, struct kr_reference *ref, struct kr_err *err)
{
  memset(ref, 0, sizeof *ref);
  end_child(w, NULL, 0);
  if (open_child(w, ref, err))
    return -1;
  kr_worker_know(w, ref);
  return 0;
}

// A child that is open, whatever happened before.
static int ensure_open(struct kr_worker *w, struct kr_err *err)
{
  if (w->opened && w->pid)
    return 0;
  struct kr_reference ref = {0};
  end_child(w, NULL, 0);
  if (open_child(w, &ref, err))
    return -1;
  if (!w->has_ref)
    kr_worker_know(w, &ref);
  kr_reference_release(&ref);
  return 0;
}

void kr_worker_free(struct kr_worker *w)
{
  if (!w)
    return;
  end_child(w, NULL, 0);
  for (size_t i = 0; i < w->n_avoid; i++)
    free(w->avoid[i]);
  free(w->avoid);
  free(w->request);
  kr_reference_release(&w->ref);
  free(w);
}

// --- judging ---

// A verdict on a child that went with the candidate in hand, or on the environment.
static void blame(struct kr_verdict *v, unsigned stage, enum wire_result got, const char *how)
{
  kr_verdict_release(v);
  if (!stage) {
    v->stage = KR_STAGE_COMPILE;
    v->status = KR_STATUS_ENVIRONMENT;
    v->log = kr_xasprintf("kevin-worker %s before it touched the candidate", how);
    return;
  }
  v->stage = (enum kr_stage)(stage - 1);
  v->status = got == WIRE_LATE ? KR_STATUS_TIMEOUT : KR_STATUS_FAULT;
  v->log = kr_xasprintf("kevin-worker %s in the stage %s", how, kr_stage_name(v->stage));
  v->told = kr_xasprintf(got == WIRE_LATE ? "it does not end in time (%s)"
                                          : "it ended the process that ran it (%s)",
                         kr_stage_name(v->stage));
}

// Sends the request in hand to an open child. -1 when none can be had.
static int dispatch(struct kr_worker *w, struct kr_err *err)
{
  struct kr_err ignored;
  for (int tries = 0; tries < 2; tries++) {
    if (ensure_open(w, err))
      return -1;
    atomic_store(&w->board->stage, 0);
    if (!wire_send(w->fd, w->request, w->request_len, unit_ms(w), &ignored))
      return 0;
    end_child(w, NULL, 0); // it went since the last answer
  }
  return kr_err_set(err, "kevin-worker takes no messages");
}

// Waits for the answer to the request in hand; a child that goes before it
// touched the candidate is replaced once, and so is one that went with the
// original in hand, with what that was at avoided. Returns the parsed answer, or NULL
// with the verdict made.
static cJSON *conclude(struct kr_worker *w, struct kr_verdict *v, struct kr_err *err, int *rc)
{
  struct kr_bytes reply;
  cJSON *root = NULL;
  kr_bytes_init(&reply, WIRE_MAX);
  *rc = 0;
  for (int tries = 0; tries < 2; tries++) {
    unsigned stage;
    char how[160];
    enum wire_result got = await(w, &reply, 0, &stage);
    char *error = NULL, *lost = NULL;
    struct kr_err nonsense = {{0}};
    if (got == WIRE_OK) {
      root = read_answer(&reply, &error, &lost, &nonsense);
      if (root && !error) {
        kr_verdict_release(v); // of a first worker, if one was lost
        break;
      }
      // An answer that is none came from a process that a candidate has run in.
      got = WIRE_GARBAGE;
      stage = stage ? stage : error ? 0 : KR_STAGE_CHECK + 1;
      cJSON_Delete(root);
      root = NULL;
    }
    char attempt[sizeof w->board->attempt] = "";
    if (w->board)
      memcpy(attempt, w->board->attempt, sizeof attempt - 1);
    bool originals = avoid_next_time(w, lost && lost[0] ? lost : attempt);
    end_child(w, how, sizeof how);
    if (got != WIRE_GONE)
      snprintf(how, sizeof how, "%s%s%.100s", wire_words[got], error ? ": " : "", error ? error : "");
    free(error);
    free(lost);
    blame(v, stage, got, how);
    if (!originals && (stage || tries))
      break;
    tries -= originals;
    if (dispatch(w, err)) {
      *rc = -1;
      break;
    }
  }
  kr_bytes_release(&reply);
  return root;
}

static void take_request(struct kr_worker *w, struct kr_bytes *request)
{
  free(w->request);
  w->request_len = request->len;
  w->request = kr_bytes_take(request);
  kr_bytes_release(request);
}

int kr_worker_judge_begin(struct kr_worker *w, const struct kr_candidate *cand,
                          const struct kr_judge_options *options, struct kr_err *err)
{
  struct kr_bytes request;
  kr_bytes_init(&request, WIRE_MAX);
  struct json_writer jw = {&request, false};
  put_op(&jw, "judge");
  json_key(&jw, "candidate");
  candidate_put(&jw, cand);
  json_key(&jw, "options");
  judge_options_put(&jw, options);
  json_close(&jw, '}');
  take_request(w, &request);
  w->judge = *options;
  w->busy = !dispatch(w, err);
  return w->busy ? 0 : -1;
}

int kr_worker_judge_end(struct kr_worker *w, struct kr_verdict *v, struct kr_err *err)
{
  int rc;
  kr_verdict_init(v);
  if (!w->busy)
    return kr_err_set(err, "no judgement was begun");
  w->busy = false;
  cJSON *root = conclude(w, v, err, &rc);
  if (!root)
    return rc;
  struct kr_err nonsense = {{0}};
  struct json_reader r = {&nonsense, false};
  bool lost = json_get_bool(&r, root, "lost", false);
  if (r.failed)
    json_fail(&r, "no verdict");
  else
    verdict_read(&r, cJSON_GetObjectItemCaseSensitive(root, "verdict"), v);
  cJSON_Delete(root);
  if (r.failed)
    blame(v, KR_STAGE_CHECK + 1, WIRE_GARBAGE, wire_words[WIRE_GARBAGE]);
  if (r.failed || lost)
    end_child(w, NULL, 0);
  return 0;
}

int kr_worker_judge(struct kr_worker *w, const struct kr_candidate *cand,
                    const struct kr_judge_options *options, struct kr_verdict *v,
                    struct kr_err *err)
{
  kr_verdict_init(v);
  if (kr_worker_judge_begin(w, cand, options, err))
    return -1;
  return kr_worker_judge_end(w, v, err);
}

int kr_worker_confirm(struct kr_worker *w, const struct kr_candidate *cand,
                      const struct kr_confirm_options *options, struct kr_confirm_share *out,
                      struct kr_err *err)
{
  struct kr_bytes request;
  int rc;
  memset(out, 0, sizeof *out);
  kr_verdict_init(&out->verdict);
  kr_bytes_init(&request, WIRE_MAX);
  struct json_writer jw = {&request, false};
  put_op(&jw, "confirm");
  json_key(&jw, "candidate");
  candidate_put(&jw, cand);
  json_uint64(&jw, "seed", options->seed);
  json_number(&jw, "pairs", options->pairs);
  json_number(&jw, "share", options->share);
  json_number(&jw, "shares", options->shares);
  json_close(&jw, '}');
  take_request(w, &request);
  // A thorough check has no budget of its own; what it may take is bounded here.
  w->judge = (struct kr_judge_options){.check_budget_ms = 300000, .time_budget_ms = 120000};
  w->brief = true; // whatever is opened now is opened for this share
  if (dispatch(w, err))
    return -1;
  cJSON *root = conclude(w, &out->verdict, err, &rc);
  if (!root)
    return rc;
  struct kr_err nonsense = {{0}};
  struct json_reader r = {&nonsense, false};
  bool lost = json_get_bool(&r, root, "lost", false);
  share_read(&r, cJSON_GetObjectItemCaseSensitive(root, "share"), out);
  cJSON_Delete(root);
  if (r.failed) {
    kr_confirm_share_release(out);
    kr_verdict_init(&out->verdict);
    blame(&out->verdict, KR_STAGE_CHECK + 1, WIRE_GARBAGE, wire_words[WIRE_GARBAGE]);
  }
  if (r.failed || lost)
    end_child(w, NULL, 0);
  return 0;
}

int kr_worker_probe(const struct kr_worker_options *options, struct kr_device_facts *facts,
                    struct kr_err *err)
{
  struct kr_worker w = {.options = *options, .fd = -1};
  struct kr_bytes text;
  struct kr_err ignored;
  unsigned stage;
  char how[128];
  int rc = -1;
  memset(facts, 0, sizeof *facts);
  if (start_child(&w, err))
    return -1;
  kr_bytes_init(&text, WIRE_MAX);
  struct json_writer jw = {&text, false};
  put_op(&jw, "probe");
  put_device(&jw, options);
  json_close(&jw, '}');
  enum wire_result got = WIRE_GONE;
  if (!wire_send(w.fd, text.data, text.len, unit_ms(&w), &ignored))
    got = await(&w, &text, OPEN_LIMIT * (double)unit_ms(&w), &stage);
  if (got != WIRE_OK) {
    end_child(&w, how, sizeof how);
    kr_err_set(err, "kevin-worker %s when asked for the back end `%s`",
               got == WIRE_GONE ? how : wire_words[got], options->backend);
  } else {
    char *error, *lost;
    cJSON *root = read_answer(&text, &error, &lost, err);
    if (error) {
      kr_err_set(err, "%s", error);
    } else if (root) {
      struct json_reader r = {err, false};
      facts_read(&r, cJSON_GetObjectItemCaseSensitive(root, "facts"), facts);
      rc = r.failed ? kr_err_prefix(err, "kevin-worker answered nonsense") : 0;
    } else {
      kr_err_prefix(err, "kevin-worker answered nonsense");
    }
    free(error);
    free(lost);
    cJSON_Delete(root);
  }
  end_child(&w, NULL, 0);
  kr_bytes_release(&text);
  return rc;
}
