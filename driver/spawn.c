#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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
