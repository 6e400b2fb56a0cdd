#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "../evaluator/base/parts.h"
#include "json.h"

// The driver's side of kevin-parse. One process, started by the first request; a
// request that ends with its death, with silence or with something that is no
// answer is asked once more of a fresh one, because a crash may come from what an
// earlier request left behind. After that it is the file's fault.

enum {
  CLIENT_TIMEOUT_MS = 30000,
  CLIENT_TRIES = 2,
  CLIENT_CORES = 0,
};

static const size_t client_memory = (size_t)4 << 30;
static const size_t client_reply_max = (size_t)256 << 20;

struct kr_parser {
  struct kr_parser_options options;
  pid_t pid; // 0: none
  int fd;
  size_t id;
};

struct kr_parser *kr_parser_new(const struct kr_parser_options *options)
{
  struct kr_parser *p = kr_xcalloc(1, sizeof *p);
  p->options = *options;
  p->fd = -1;
  return p;
}

// --- the process ---

static void client_stop(struct kr_parser *p)
{
  if (p->fd >= 0)
    close(p->fd);
  p->fd = -1;
  if (p->pid > 0) {
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  p->pid = 0;
}

void kr_parser_free(struct kr_parser *p)
{
  if (!p)
    return;
  client_stop(p);
  free(p);
}

static void client_limit(int what, rlim_t value)
{
  struct rlimit r = {value, value};
  setrlimit(what, &r);
}

// Long chains of operators are deep trees, which are walked by recursion.
static void client_stack(rlim_t want)
{
  struct rlimit r;
  if (getrlimit(RLIMIT_STACK, &r))
    return;
  if (r.rlim_max != RLIM_INFINITY && want > r.rlim_max)
    want = r.rlim_max;
  r.rlim_cur = want;
  setrlimit(RLIMIT_STACK, &r);
}

// Only calls that are safe after fork() in a program with threads.
static void client_child(const char *program, int fd, int null_fd, size_t memory, pid_t parent)
{
  static char *const no_args[] = {"kevin-parse", NULL};
  static char *const env[] = {"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", NULL};
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127);
  client_limit(RLIMIT_CORE, CLIENT_CORES);
  client_stack((rlim_t)256 << 20);
  if (memory)
    client_limit(RLIMIT_AS, memory);
  if (dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
      dup2(null_fd, STDERR_FILENO) < 0)
    _exit(127);
  execve(program, no_args, env);
  _exit(127);
}

static int client_start(struct kr_parser *p, struct kr_err *err)
{
  int pair[2] = {-1, -1}, null_fd = -1, rc = -1;
  char *found = p->options.program ? kr_xstrdup(p->options.program)
                                   : kr_part_program("kevin-parse");
  size_t memory = p->options.memory_bytes ? p->options.memory_bytes : client_memory;
#ifdef KR_SANITIZED
  memory = 0; // shadow memory is address space
#endif
  if (!kr_is_program(found)) {
    kr_err_set(err, p->options.program ? "cannot run %s: it is no program"
                                       : "cannot find %s; install kevin-rewrite again", found);
    goto out;
  }
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
    kr_err_errno(err, "cannot make a socket for kevin-parse");
    goto out;
  }
  // Crash reports of libclang are not for the user: the sentence of the client is.
  null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  pid_t parent = getpid();
  pid_t pid = null_fd < 0 ? -1 : fork();
  if (pid == 0)
    client_child(found, pair[1], null_fd, memory, parent);
  if (pid < 0) {
    kr_err_errno(err, "cannot start %s", found);
    goto out;
  }
  kr_debug("extract", "started %s, process %ld", found, (long)pid);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  p->pid = pid;
  p->fd = pair[0];
  pair[0] = -1;
  rc = 0;
out:
  for (int i = 0; i < 2; i++)
    if (pair[i] >= 0)
      close(pair[i]);
  if (null_fd >= 0)
    close(null_fd);
  free(found);
  return rc;
}

// How the process that just went away ended, in words.
static void client_epitaph(struct kr_parser *p, char *out, size_t size)
{
  int status = 0;
  pid_t got = 0;
  // Its end of the socket closes a moment before it can be waited for.
  for (int i = 0; i < 100 && !(got = waitpid(p->pid, &status, WNOHANG)); i++)
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  if (got == p->pid)
    p->pid = 0;
  if (got > 0 && WIFSIGNALED(status))
    snprintf(out, size, "it was ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 4)
    snprintf(out, size, "it ran out of memory");
  else if (got > 0 && WIFEXITED(status))
    snprintf(out, size, "it ended with status %d", WEXITSTATUS(status));
  else
    snprintf(out, size, "it closed its output");
}

// --- one exchange ---

// Waits for the socket. 0 ready, 1 out of time.
static int client_wait(struct kr_parser *p, short events, int64_t deadline)
{
  for (;;) {
    int64_t left = deadline - (int64_t)kr_now_ms();
    struct pollfd poll_fd = {p->fd, events, 0};
    int n = left <= 0 ? 0 : poll(&poll_fd, 1, left > INT_MAX ? INT_MAX : (int)left);
    if (n > 0)
      return 0;
    if (n == 0)
      return 1;
    if (errno != EINTR)
      return 1;
  }
}

// Sends a line and reads one. 0, or -1 with `why`; the process is gone then.
static int client_exchange(struct kr_parser *p, const struct kr_bytes *request,
                           struct kr_bytes *reply, char *why, size_t why_size)
{
  unsigned timeout = p->options.timeout_ms ? p->options.timeout_ms : CLIENT_TIMEOUT_MS;
  int64_t deadline = (int64_t)kr_now_ms() + timeout;
  size_t sent = 0;
  while (sent < request->len) {
    if (client_wait(p, POLLOUT, deadline))
      goto late;
    ssize_t n = send(p->fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (n < 0)
      goto dead;
    sent += (size_t)n;
  }
  static const size_t chunk = 1 << 16;
  char *buffer = kr_xmalloc(chunk);
  for (;;) {
    if (client_wait(p, POLLIN, deadline)) {
      free(buffer);
      goto late;
    }
    ssize_t n = recv(p->fd, buffer, chunk, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (n <= 0) {
      free(buffer);
      goto dead;
    }
    const char *end = memchr(buffer, '\n', (size_t)n);
    size_t take = end ? (size_t)(end - buffer) : (size_t)n;
    if (kr_bytes_add(reply, buffer, take)) {
      free(buffer);
      snprintf(why, why_size, "its answer is longer than %zu MiB", client_reply_max >> 20);
      client_stop(p);
      return -1;
    }
    if (end) {
      bool more = end + 1 != buffer + n;
      free(buffer);
      if (!more)
        return 0;
      snprintf(why, why_size, "it answered more than it was asked");
      client_stop(p);
      return -1;
    }
  }
late:
  snprintf(why, why_size, "it gave no answer in %u ms", timeout);
  client_stop(p);
  return -1;
dead:
  client_epitaph(p, why, why_size);
  client_stop(p);
  return -1;
}

typedef int client_read(void *out, size_t id, size_t text_len, const char *line, size_t len,
                        char **why);

struct client_what {
  client_read *read;
  void (*release)(void *out);
  void *out;
  size_t out_size, text_len;
};

static int client_ask(struct kr_parser *p, struct json_ask *ask, const struct client_what *what,
                      struct kr_err *err)
{
  char why[256] = "";
  struct kr_bytes request, reply;
  kr_bytes_init(&request, SIZE_MAX / 4);
  kr_bytes_init(&reply, client_reply_max);
  int rc = -1;
  ask->id = ++p->id;
  json_ask_write(ask, &request);
  memset(what->out, 0, what->out_size);
  for (int try = 0; try < CLIENT_TRIES && rc < 0; try++) {
    kr_bytes_reset(&reply);
    if (p->pid <= 0 && client_start(p, err))
      goto out;
    if (client_exchange(p, &request, &reply, why, sizeof why))
      continue;
    char *said = NULL;
    int got = what->read(what->out, ask->id, what->text_len, reply.data, reply.len, &said);
    if (got == 0) {
      rc = 0;
    } else if (got > 0) {
      kr_err_set(err, "%s: %s", ask->path, said);
      free(said);
      goto out;
    } else {
      what->release(what->out);
      snprintf(why, sizeof why, "its answer is not of the known form");
      client_stop(p);
    }
  }
  if (rc)
    kr_err_set(err, "%s: kevin-parse failed on it twice: %s", ask->path, why);
out:
  kr_bytes_release(&request);
  kr_bytes_release(&reply);
  return rc;
}

// --- requests ---

static int client_fill(const struct kr_parser *p, const struct kr_parse_request *req,
                       struct json_ask *ask, struct kr_err *err)
{
  const struct kr_source *src = req->src;
  const char *nul = memchr(src->data, '\0', src->len);
  if (nul) {
    unsigned line, col;
    kr_source_place(src, (size_t)(nul - src->data), &line, &col);
    return kr_err_set(err, "%s:%u:%u: a NUL byte; is it a source file?", src->path, line, col);
  }
  *ask = (struct json_ask){.path = src->path,
                           .text = src->data,
                           .project_dir = (char *)req->project_dir,
                           .arch = (char *)req->arch,
                           .cuda_path = (char *)p->options.cuda_path,
                           .resource_dir = (char *)p->options.resource_dir,
                           .headers_dir = (char *)p->options.headers_dir,
                           .flags = (char **)req->flags,
                           .n_flags = req->n_flags,
                           .wants = (struct kr_parse_wants *)req->wants,
                           .n_wants = req->n_wants,
                           .some_slices = req->slices != NULL,
                           .slices = (size_t *)req->slices,
                           .n_slices = req->n_slices,
                           .words = (char **)(uintptr_t)req->words,
                           .n_words = req->n_words};
  return 0;
}

static int client_unit_read(void *out, size_t id, size_t text_len, const char *line, size_t len,
                            char **why)
{
  return json_unit_read(out, id, text_len, line, len, why);
}

static void client_unit_release(void *out)
{
  kr_unit_release(out);
}

int kr_parser_unit(struct kr_parser *p, const struct kr_parse_request *req, struct kr_unit *out,
                   struct kr_err *err)
{
  struct json_ask ask;
  memset(out, 0, sizeof *out);
  if (client_fill(p, req, &ask, err))
    return -1;
  ask.op = JSON_UNIT;
  struct client_what what = {client_unit_read, client_unit_release, out, sizeof *out,
                             req->src->len};
  return client_ask(p, &ask, &what, err);
}

static int client_facts_read(void *out, size_t id, size_t text_len, const char *line, size_t len,
                             char **why)
{
  return json_facts_read(out, id, text_len, line, len, why);
}

static void client_facts_release(void *out)
{
  kr_facts_release(out);
}

int kr_parser_facts(struct kr_parser *p, const struct kr_parse_request *req,
                    const struct kr_pkernel *kernel, const char *code, struct kr_facts *out,
                    struct kr_err *err)
{
  struct json_ask ask;
  memset(out, 0, sizeof *out);
  if (!kernel->slice_before || !kernel->slice_after)
    return kr_err_set(err, "%s: %s has no slice", req->src->path, kernel->qualified);
  if (client_fill(p, req, &ask, err))
    return -1;
  char *original = kr_xstrndup(req->src->data + kernel->at.offset, kernel->at.length);
  ask.op = JSON_FACTS;
  ask.text = "";
  ask.before = kernel->slice_before;
  ask.original = original;
  ask.code = (char *)code;
  ask.after = kernel->slice_after;
  ask.kernel_name = kernel->name;
  ask.kernel_usr = kernel->usr;
  struct client_what what = {client_facts_read, client_facts_release, out, sizeof *out,
                             strlen(code)};
  int rc = client_ask(p, &ask, &what, err);
  free(original);
  return rc;
}
