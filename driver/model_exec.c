// Any program as a model: the prompt on its standard input, the reply on its
// standard output, status 0. The user's words are run as they are, without a
// shell (`exec:sh -c '...'` asks for one). It gets no key of our environment; one
// that needs a key reads it from a file of its own.
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "model.h"
#include "redact.h"
#include "spawn.h"
#include "../evaluator/base/utf8.h"

enum { EXEC_MAX_REPLY = 16 << 20, EXEC_MAX_ERRORS = 1 << 20, EXEC_SHOWN = 300,
       EXEC_TOTAL_MS = 30 * 60 * 1000 };

struct exec {
  char **argv;
  unsigned total_ms;
  const volatile sig_atomic_t *stop;
};

static void exec_close(void *self)
{
  struct exec *m = self;
  spawn_words_free(m->argv);
  free(m);
}

int model_exec_open(const char *command, const struct model_options *options, void **self,
                    char **where, struct kr_err *err)
{
  char **argv = spawn_words(command, err);
  if (!argv) {
    kr_err_prefix(err, "--model=exec");
    return -1;
  }
  struct exec *m = kr_xcalloc(1, sizeof *m);
  m->argv = argv;
  m->total_ms = options->total_ms ? options->total_ms : EXEC_TOTAL_MS;
  m->stop = options->stop;
  // Its arguments may hold what nobody else is to see.
  *where = kr_xasprintf("the program %s", argv[0]);
  *self = m;
  return 0;
}

// The last line of what it said to stderr, as part of a sentence.
static char *exec_last_words(const struct kr_bytes *errs)
{
  size_t end = errs->len;
  while (end && strchr(" \t\r\n", errs->data[end - 1]))
    end--;
  size_t begin = end;
  while (begin && errs->data[begin - 1] != '\n')
    begin--;
  return redact_line(errs->data + begin, end - begin, EXEC_SHOWN);
}

static int exec_complete(void *self, const struct model_request *req, struct model_reply *reply,
                         struct kr_err *err)
{
  struct exec *m = self;
  struct kr_bytes out, errs;
  char *words = NULL;
  char *env[] = {kr_xasprintf("KEVIN_KERNEL=%s", req->kernel),
                 kr_xasprintf("KEVIN_FILE=%s", req->file ? req->file : ""),
                 kr_xasprintf("KEVIN_TRAJECTORY=%u", req->trajectory),
                 kr_xasprintf("KEVIN_TURN=%u", req->turn), NULL};
  int rc = -1;
  kr_bytes_init(&out, EXEC_MAX_REPLY);
  kr_bytes_init(&errs, EXEC_MAX_ERRORS);
  struct spawn_feed feed = {.argv = (const char *const *)m->argv,
                            .input = req->prompt,
                            .input_len = strlen(req->prompt),
                            .extra_env = (const char *const *)env,
                            .timeout_ms = m->total_ms,
                            .stop = m->stop,
                            .out = &out,
                            .errs = &errs};
  int status = spawn_feed(&feed, err);
  reply->tries = 1;
  if (status < 0) {
    // What cannot be started now could not be for another kernel either.
    reply->failure = feed.stopped    ? MODEL_INTERRUPTED
                     : !feed.started ? MODEL_REFUSED
                     : out.toobig    ? MODEL_NONSENSE
                                     : MODEL_UNREACHABLE;
    goto out;
  }
  if (status) {
    reply->failure = MODEL_UNREACHABLE;
    words = exec_last_words(&errs);
    kr_err_set(err, "%s ended with status %d%s%s", m->argv[0], status, *words ? ": " : "", words);
    goto out;
  }
  reply->failure = MODEL_NONSENSE;
  redact_bytes(&out);
  size_t good = kr_utf8_check(out.data, out.len);
  if (memchr(out.data, 0, out.len)) {
    kr_err_set(err, "%s: the reply holds a NUL byte", m->argv[0]);
    goto out;
  }
  if (good < out.len) {
    kr_err_set(err, "%s: the reply is not UTF-8 at byte %zu", m->argv[0], good);
    goto out;
  }
  if (strspn(out.data, " \t\r\n") == out.len) {
    words = exec_last_words(&errs);
    kr_err_set(err, "%s: the reply is empty%s%s", m->argv[0], *words ? "; it said: " : "", words);
    goto out;
  }
  reply->failure = MODEL_FINE;
  reply->len = out.len;
  reply->text = kr_bytes_take(&out);
  rc = 0;
out:
  for (size_t i = 0; env[i]; i++)
    free(env[i]);
  free(words);
  kr_bytes_release(&out);
  kr_bytes_release(&errs);
  return rc;
}

const struct model_kind model_exec = {.complete = exec_complete, .close = exec_close};
