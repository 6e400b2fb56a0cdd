#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"

static void spawn_say(const char *const *argv)
{
  struct kr_bytes line;
  kr_bytes_init(&line, 1 << 16);
  for (size_t i = 0; argv[i]; i++)
    kr_bytes_addf(&line, "%s%s", i ? " " : "", argv[i]);
  kr_debug("compile", "%s", line.data);
  kr_bytes_release(&line);
}

// The user's environment without what looks like a key: git and compilers need
// the rest, and none of them needs that. The strings are borrowed.
static char **spawn_environment(void)
{
  static const char *const words[] = {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", NULL};
  size_t n = 0, kept = 0;
  while (environ[n])
    n++;
  char **out = kr_xcalloc(n + 1, sizeof *out);
  for (size_t i = 0; i < n; i++) {
    const char *equals = strchr(environ[i], '=');
    bool secret = false;
    for (size_t k = 0; equals && words[k]; k++) {
      const char *found = strcasestr(environ[i], words[k]);
      secret |= found && found < equals;
    }
    if (!secret)
      out[kept++] = environ[i];
  }
  return out;
}

// In the child: only calls that are safe after fork(). A program that runs closes
// `failed`; otherwise the reason goes there, since 127 may be a program's own.
static void spawn_child(const char *const *argv, char *const *env, const char *dir, int out,
                        int errs, int failed)
{
  int null = open("/dev/null", O_RDWR);
  if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(errs, 2) >= 0 && (!dir || !chdir(dir)))
    execvpe(argv[0], (char *const *)(void *)(size_t)argv, env);
  int why = errno;
  ssize_t told = write(failed, &why, sizeof why);
  _exit(told == sizeof why ? 127 : 126);
}

int spawn_run(const char *const *argv, const char *dir, unsigned timeout_ms, struct kr_bytes *out,
              struct kr_bytes *errs, struct kr_err *err)
{
  int rc = -1, status = 0, why = 0;
  int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  pid_t pid = -1;
  char **env = spawn_environment();
  spawn_say(argv);
  double end_ms = kr_now_ms() + timeout_ms;
  if (pipe2(pipes[0], O_CLOEXEC) || pipe2(pipes[1], O_CLOEXEC) || pipe2(pipes[2], O_CLOEXEC)) {
    kr_err_errno(err, "cannot make a pipe for %s", argv[0]);
    goto end;
  }
  pid = fork();
  if (pid < 0) {
    kr_err_errno(err, "cannot start %s", argv[0]);
    goto end;
  }
  if (!pid)
    spawn_child(argv, env, dir, pipes[0][1], pipes[1][1], pipes[2][1]);
  for (int i = 0; i < 3; i++) {
    close(pipes[i][1]);
    pipes[i][1] = -1;
  }
  struct kr_bytes *sinks[2] = {out, errs};
  struct pollfd fds[2] = {{pipes[0][0], POLLIN, 0}, {pipes[1][0], POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    double left = end_ms - kr_now_ms();
    int n = left > 0 ? poll(fds, 2, left < INT_MAX ? (int)left + 1 : INT_MAX) : 0;
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      kill(pid, SIGKILL);
      waitpid(pid, NULL, 0);
      kr_err_set(err, "%s took longer than %u ms and was stopped", argv[0], timeout_ms);
      goto end;
    }
    for (int i = 0; i < 2; i++) {
      char chunk[16384];
      if (fds[i].fd < 0 || !fds[i].revents)
        continue;
      ssize_t got = read(fds[i].fd, chunk, sizeof chunk);
      if (got > 0 && sinks[i])
        kr_bytes_add(sinks[i], chunk, (size_t)got);
      if (got == 0 || (got < 0 && errno != EINTR))
        fds[i].fd = -1;
    }
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    continue;
  rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (read(pipes[2][0], &why, sizeof why) == sizeof why)
    rc = kr_err_set(err, "%s could not be run: %s", argv[0], strerror(why));
end:
  free(env);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++)
      if (pipes[i][k] >= 0)
        close(pipes[i][k]);
  return rc;
}

// --- a program that is fed ---

enum { FEED_TICK_MS = 50, FEED_LINGER_MS = 250 };

static void feed_child(const struct spawn_feed *f, char *const *env, int in, int out, int errs,
                       int failed)
{
  // Both sides make the group, so that it is there whoever comes first.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL); // we ignore it, and what is ignored is inherited
  if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(errs, 2) >= 0)
    execvpe(f->argv[0], (char *const *)(void *)(size_t)f->argv, env);
  int why = errno;
  ssize_t told = write(failed, &why, sizeof why);
  _exit(told == sizeof why ? 127 : 126);
}

// Reads what is there. Closes the entry at its end.
static void feed_read(struct pollfd *p, struct kr_bytes *sink)
{
  char chunk[16384];
  if (p->fd < 0 || !p->revents)
    return;
  ssize_t got = read(p->fd, chunk, sizeof chunk);
  if (got > 0 && sink)
    kr_bytes_add(sink, chunk, (size_t)got);
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
    p->fd = -1;
}

// Feeds and reads until the program has ended and nothing comes any more.
// Returns 0, or -1 when it is to be killed.
static int feed_drive(struct spawn_feed *f, pid_t pid, int in, struct pollfd fds[3],
                      struct kr_err *err)
{
  double end_ms = kr_now_ms() + f->timeout_ms, gone_ms = 0;
  size_t written = 0;
  fds[2].fd = f->input_len ? in : -1;
  while (fds[0].fd >= 0 || fds[1].fd >= 0 || !gone_ms) {
    double now = kr_now_ms();
    int n = poll(fds, 3, FEED_TICK_MS);
    if (n < 0 && errno != EINTR)
      return kr_err_errno(err, "%s: poll", f->argv[0]);
    if (f->stop && *f->stop) {
      f->stopped = true;
      return kr_err_set(err, "%s was stopped", f->argv[0]);
    }
    if (now >= end_ms)
      return kr_err_set(err, "%s took longer than %u ms and was stopped", f->argv[0],
                        f->timeout_ms);
    if (n > 0) {
      feed_read(&fds[0], f->out);
      feed_read(&fds[1], f->errs);
      if (fds[2].fd >= 0 && fds[2].revents) {
        ssize_t put = write(in, f->input + written, f->input_len - written);
        if (put > 0)
          written += (size_t)put;
        // A program that does not want to read more may still have an answer.
        if (written == f->input_len || (put < 0 && errno != EAGAIN && errno != EINTR))
          fds[2].fd = -1;
      }
      if (f->out && f->out->toobig)
        return kr_err_set(err, "%s said more than %zu MiB and was stopped", f->argv[0],
                          f->out->max >> 20);
    }
    if (fds[2].fd < 0 && f->input_len) {
      close(in); // the end of what it reads
      f->input_len = 0;
    }
    siginfo_t info = {0};
    if (!gone_ms && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
      gone_ms = now;
    // What it left behind may hold the pipes open for ever.
    if (gone_ms && n <= 0 && now - gone_ms > FEED_LINGER_MS)
      break;
  }
  return 0;
}

int spawn_feed(struct spawn_feed *f, struct kr_err *err)
{
  int rc = -1, status = 0, why = 0;
  int pipes[4][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
  size_t n_env = 0, n_extra = 0, input_len = f->input_len;
  char **env = spawn_environment();
  pid_t pid = -1;
  sigset_t pipe_set, old_set;
  f->started = f->stopped = false;
  while (env[n_env])
    n_env++;
  while (f->extra_env && f->extra_env[n_extra])
    n_extra++;
  env = kr_xreallocarray(env, n_env + n_extra + 1, sizeof *env);
  for (size_t i = 0; i < n_extra; i++)
    env[n_env + i] = (char *)(size_t)f->extra_env[i];
  env[n_env + n_extra] = NULL;
  spawn_say(f->argv);
  for (int i = 0; i < 4; i++)
    if (pipe2(pipes[i], O_CLOEXEC)) {
      kr_err_errno(err, "cannot make a pipe for %s", f->argv[0]);
      goto end;
    }
  pid = fork();
  if (pid < 0) {
    kr_err_errno(err, "cannot start %s", f->argv[0]);
    goto end;
  }
  if (!pid)
    feed_child(f, env, pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]);
  setpgid(pid, pid);
  close(pipes[0][0]);
  pipes[0][0] = -1;
  for (int i = 1; i < 4; i++) {
    close(pipes[i][1]);
    pipes[i][1] = -1;
  }
  // A program that does not read what it is given must not kill us.
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
  fcntl(pipes[0][1], F_SETFL, O_NONBLOCK);
  fcntl(pipes[1][0], F_SETFL, O_NONBLOCK);
  fcntl(pipes[2][0], F_SETFL, O_NONBLOCK);
  struct pollfd fds[3] = {{pipes[1][0], POLLIN, 0}, {pipes[2][0], POLLIN, 0}, {-1, POLLOUT, 0}};
  if (!input_len) {
    close(pipes[0][1]);
    pipes[0][1] = -1;
  }
  int failed = feed_drive(f, pid, pipes[0][1], fds, err);
  if (input_len && !f->input_len)
    pipes[0][1] = -1; // closed when all was written
  f->input_len = input_len;
  kill(-pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    continue;
  struct timespec none = {0};
  while (sigtimedwait(&pipe_set, NULL, &none) == SIGPIPE) {
  }
  pthread_sigmask(SIG_SETMASK, &old_set, NULL);
  if (read(pipes[3][0], &why, sizeof why) == sizeof why) {
    kr_err_set(err, "%s could not be run: %s", f->argv[0], strerror(why));
    goto end;
  }
  f->started = true;
  if (!failed)
    rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
end:
  free(env);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 2; k++)
      if (pipes[i][k] >= 0)
        close(pipes[i][k]);
  return rc;
}

// --- words ---

void spawn_words_free(char **words)
{
  for (size_t i = 0; words && words[i]; i++)
    free(words[i]);
  free(words);
}

char **spawn_words(const char *text, struct kr_err *err)
{
  char **words = kr_xcalloc(1, sizeof *words);
  size_t n = 0;
  struct kr_bytes word;
  kr_bytes_init(&word, 1 << 20);
  for (const char *p = text;;) {
    p += strspn(p, " \t\n");
    if (!*p)
      break;
    char quote = 0;
    kr_bytes_reset(&word);
    for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
      if (quote != '\'' && *p == '\\' && p[1] && (!quote || strchr("\\\"$`", p[1])))
        kr_bytes_addc(&word, *++p);
      else if (*p == quote)
        quote = 0;
      else if (!quote && (*p == '\'' || *p == '"'))
        quote = *p;
      else
        kr_bytes_addc(&word, *p);
    }
    if (quote) {
      kr_err_set(err, "a %c in `%s` is not closed", quote, text);
      goto bad;
    }
    words = kr_xreallocarray(words, n + 2, sizeof *words);
    words[n++] = kr_xstrdup(word.data);
    words[n] = NULL;
  }
  kr_bytes_release(&word);
  if (n)
    return words;
  kr_err_set(err, "`%s` names no program", text);
  goto free;
bad:
  kr_bytes_release(&word);
free:
  spawn_words_free(words);
  return NULL;
}
