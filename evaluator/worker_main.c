// kevin-worker: an evaluator behind a socket, in a process that may die.
//
// It is started by worker.c with a stream socket as descriptor 3 and a shared
// page as descriptor 4, an environment of a few names, and no other open file.
// It answers one message after another until the socket closes; the loss of a
// device is told in the answer, and the driver then starts another worker.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "evaluate.h"
#include "wire.h"

struct worker {
  struct kr_contract contract;
  bool has_contract;
  struct kr_evaluator *e;
  struct wire_board *board;
};

static void on_stage(void *watcher, enum kr_stage stage)
{
  struct wire_board *board = watcher;
  atomic_store(&board->stage, (unsigned)stage + 1);
}

static void on_attempt(void *watcher, const char *attempt)
{
  struct wire_board *board = watcher;
  snprintf(board->attempt, sizeof board->attempt, "%s", attempt);
}

// --- answers ---

static void answer_error(struct kr_bytes *out, const char *error, const char *lost)
{
  struct json_writer w = {out, false};
  json_open(&w, '{');
  json_bool(&w, "ok", false);
  json_words(&w, "error", error);
  json_string(&w, "lost", lost);
  json_close(&w, '}');
}

static void answer_head(struct json_writer *w, bool lost)
{
  json_open(w, '{');
  json_bool(w, "ok", true);
  json_bool(w, "lost", lost);
}

static const struct kr_backend *backend_of(struct json_reader *r, const cJSON *root)
{
  char *name = json_get_string(r, root, "backend", false);
  const struct kr_backend *backend = name ? kr_backend_find(name) : NULL;
  if (name && !backend)
    json_fail(r, "this kevin-worker was built without the back end `%s`", name);
  free(name);
  return backend;
}

static void on_wait(void *arg, bool waits)
{
  struct wire_board *board = arg;
  atomic_store(&board->waits, waits);
}

static void do_open(struct worker *wk, const cJSON *root, struct kr_bytes *out)
{
  struct kr_err err = {{0}};
  struct json_reader r = {&err, false};
  struct kr_backend_options options;
  struct kr_reference known = {0};
  char **avoid = NULL;
  size_t n_avoid = 0;
  char lost[200] = "";
  json_expect_keys(&r, root, "open", "op backend options seed avoid known brief contract");
  const struct kr_backend *backend = backend_of(&r, root);
  backend_options_read(&r, cJSON_GetObjectItemCaseSensitive(root, "options"), &options);
  options.on_wait = on_wait;
  options.on_wait_arg = wk->board;
  uint64_t seed = json_get_uint64(&r, root, "seed", 0);
  avoid = json_get_strings(&r, root, "avoid", 4096, &n_avoid);
  const cJSON *reference = cJSON_GetObjectItemCaseSensitive(root, "known");
  if (reference)
    reference_read(&r, reference, &known);
  char *contract = json_get_string(&r, root, "contract", false);
  if (wk->has_contract)
    json_fail(&r, "a worker is opened once");
  if (!r.failed && kr_contract_from_json(&wk->contract, contract, strlen(contract), &err))
    r.failed = true;
  wk->has_contract = !r.failed;
  struct evaluator_setup setup = {.backend = backend,
                                  .options = &options,
                                  .contract = &wk->contract,
                                  .seed = seed,
                                  .avoid = (const char *const *)avoid,
                                  .n_avoid = n_avoid,
                                  .known = reference ? &known : NULL,
                                  .brief = json_get_bool(&r, root, "brief", false),
                                  .on_stage = on_stage,
                                  .on_attempt = on_attempt,
                                  .watcher = wk->board};
  if (r.failed || evaluator_open(&wk->e, &setup, lost, sizeof lost, &err)) {
    answer_error(out, err.text, lost);
  } else {
    struct json_writer w = {out, false};
    answer_head(&w, false);
    json_key(&w, "reference");
    kr_reference_to_json(kr_evaluator_reference(wk->e), out);
    w.comma = true;
    json_close(&w, '}');
  }
  free(contract);
  for (size_t i = 0; i < n_avoid; i++)
    free(avoid[i]);
  free(avoid);
  kr_reference_release(&known);
}

static void do_judge(struct worker *wk, const cJSON *root, struct kr_bytes *out)
{
  struct kr_err err = {{0}};
  struct json_reader r = {&err, false};
  struct kr_candidate cand = {0};
  struct kr_judge_options options;
  json_expect_keys(&r, root, "judge", "op candidate options");
  candidate_read(&r, cJSON_GetObjectItemCaseSensitive(root, "candidate"), &cand);
  judge_options_read(&r, cJSON_GetObjectItemCaseSensitive(root, "options"), &options);
  if (!r.failed && !wk->e)
    json_fail(&r, "judge before open");
  if (r.failed) {
    answer_error(out, err.text, "");
  } else {
    struct kr_verdict v;
    bool lost = kr_evaluator_judge(wk->e, &cand, &options, &v) < 0;
    if (lost && wk->e->attempt[0]) { // to the original, not to the candidate
      answer_error(out, v.log, wk->e->attempt);
    } else {
      struct json_writer w = {out, false};
      answer_head(&w, lost);
      json_key(&w, "verdict");
      kr_verdict_to_json(&v, out);
      w.comma = true;
      json_close(&w, '}');
    }
    kr_verdict_release(&v);
  }
  kr_candidate_release(&cand);
}

static void do_confirm(struct worker *wk, const cJSON *root, struct kr_bytes *out)
{
  struct kr_err err = {{0}};
  struct json_reader r = {&err, false};
  struct kr_candidate cand = {0};
  struct kr_confirm_options options = {0};
  json_expect_keys(&r, root, "confirm", "op candidate seed pairs share shares");
  candidate_read(&r, cJSON_GetObjectItemCaseSensitive(root, "candidate"), &cand);
  options.seed = json_get_uint64(&r, root, "seed", 0);
  options.pairs = (unsigned)json_get_size(&r, root, "pairs", 0, 1u << 20);
  options.shares = (unsigned)json_get_size(&r, root, "shares", 0, 1000);
  options.share = (unsigned)json_get_size(&r, root, "share", 0, options.shares ? options.shares - 1 : 0);
  if (!r.failed && !wk->e)
    json_fail(&r, "confirm before open");
  if (r.failed) {
    answer_error(out, err.text, "");
  } else {
    struct kr_confirm_share share;
    bool lost = kr_evaluator_confirm(wk->e, &cand, &options, &share) < 0;
    if (lost && wk->e->attempt[0]) {
      answer_error(out, share.verdict.log, wk->e->attempt);
    } else {
      struct json_writer w = {out, false};
      answer_head(&w, lost);
      json_key(&w, "share");
      // The value writes its own separator; none is due behind a key.
      share_put(&w, &share);
      json_close(&w, '}');
    }
    kr_confirm_share_release(&share);
  }
  kr_candidate_release(&cand);
}

static void do_probe(const cJSON *root, struct kr_bytes *out)
{
  struct kr_err err = {{0}};
  struct json_reader r = {&err, false};
  struct kr_backend_options options;
  struct kr_device *dev = NULL;
  json_expect_keys(&r, root, "probe", "op backend options");
  const struct kr_backend *backend = backend_of(&r, root);
  backend_options_read(&r, cJSON_GetObjectItemCaseSensitive(root, "options"), &options);
  if (r.failed || backend->open(&options, &dev, &err)) {
    answer_error(out, err.text, "");
    return;
  }
  struct json_writer w = {out, false};
  answer_head(&w, false);
  json_key(&w, "facts");
  facts_put(&w, backend->facts(dev));
  json_close(&w, '}');
  backend->close(dev);
}

static void answer(struct worker *wk, const struct kr_bytes *message, struct kr_bytes *out)
{
  struct kr_err err = {{0}};
  cJSON *root = json_parse(message->data, message->len, &err);
  const cJSON *op = root ? cJSON_GetObjectItemCaseSensitive(root, "op") : NULL;
  const char *name = cJSON_IsString(op) ? op->valuestring : "";
  if (!root)
    answer_error(out, err.text, "");
  else if (!strcmp(name, "open"))
    do_open(wk, root, out);
  else if (!strcmp(name, "judge"))
    do_judge(wk, root, out);
  else if (!strcmp(name, "confirm"))
    do_confirm(wk, root, out);
  else if (!strcmp(name, "probe"))
    do_probe(root, out);
  else
    answer_error(out, "no such message", "");
  cJSON_Delete(root);
}

// --- the process ---

static void guard_process(void)
{
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // What it judges may never outlive the one who asked.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1)
    _exit(3);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);
}

static struct wire_board *map_board(void)
{
  static struct wire_board own;
  void *p = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, WIRE_BOARD, 0);
  return p == MAP_FAILED ? &own : p;
}

int main(int argc, char **argv)
{
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    printf("kevin-worker %s\n", KR_VERSION);
    return 0;
  }
  if (argc != 2 || strcmp(argv[1], "--serve") || fcntl(WIRE_SOCKET, F_GETFD) < 0) {
    fprintf(stderr, "kevin-worker is started by kevin-rewrite and kevin-eval\n");
    return 2;
  }
  guard_process();
  struct worker wk = {.board = map_board()};
  // Back ends start compilers; these get neither the socket nor the board.
  fcntl(WIRE_SOCKET, F_SETFD, FD_CLOEXEC);
  fcntl(WIRE_BOARD, F_SETFD, FD_CLOEXEC);
  struct kr_bytes message, out;
  kr_bytes_init(&message, WIRE_MAX);
  kr_bytes_init(&out, WIRE_MAX);
  int rc = 0;
  while (wire_receive(WIRE_SOCKET, &message, -1) == WIRE_OK) {
    struct kr_err err = {{0}};
    kr_bytes_reset(&out);
    answer(&wk, &message, &out);
    if (out.toobig) {
      kr_bytes_reset(&out);
      answer_error(&out, "the answer is too large to be sent", "");
    }
    atomic_store(&wk.board->stage, 0);
    if (wire_send(WIRE_SOCKET, out.data, out.len, -1, &err)) {
      rc = 1;
      break;
    }
  }
  kr_evaluator_close(wk.e);
  if (wk.has_contract)
    kr_contract_release(&wk.contract);
  kr_bytes_release(&message);
  kr_bytes_release(&out);
  return rc;
}
