#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/clock.h"

// Descriptors are given their places from copies above all of them, so that no
// place is overwritten before it was copied.
static int child_high(int fd)
{
  return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
}

static void child_drain(struct pollfd *p, struct kr_bytes *into)
{
  char chunk[64 << 10];
  ssize_t n = read(p->fd, chunk, sizeof chunk);
  if (n < 0 && errno == EINTR)
    return;
  if (n <= 0)
    p->fd = -1;
  else
    kr_bytes_add(into, chunk, (size_t)n);
}

// Until it has ended and its pipes are empty. What a grandchild keeps open is
// not waited for.
static void child_watch(struct child *c, pid_t pid, int pidfd, int out, int log)
{
  long long start = (long long)kr_now_ms();
  struct pollfd p[3] = {{.fd = pidfd, .events = POLLIN},
                        {.fd = out, .events = POLLIN},
                        {.fd = log, .events = POLLIN}};
  bool ended = false;
  while (!ended || p[1].fd >= 0 || p[2].fd >= 0) {
    unsigned limit = c->timeout_ms, shorter = c->shorter_ms ? atomic_load(c->shorter_ms) : 0;
    if (shorter && shorter < limit)
      limit = shorter;
    long long left = start + limit - (long long)kr_now_ms();
    if (left <= 0 && !ended && !c->late) {
      c->late = true;
      kill(pid, SIGKILL);
    }
    if (c->shorter_ms && !shorter && left > 50)
      left = 50; // look again
    int n = poll(p, 3, ended ? 0 : c->late ? 1000 : (int)left);
    if (n == 0 && ended)
      return;
    if (n <= 0)
      continue;
    if (p[1].revents)
      child_drain(&p[1], c->out);
    if (p[2].revents)
      child_drain(&p[2], c->log);
    if (p[0].revents) {
      ended = true;
      p[0].fd = -1;
    }
  }
}

int child_run(struct child *c, struct kr_err *err)
{
  static char *no_environment[] = {NULL};
  int out[2] = {-1, -1}, log[2] = {-1, -1}, high[5], pidfd = -1, rc = -1;
  for (int i = 0; i < 5; i++)
    high[i] = -1;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attr);
  c->late = false;
  c->status = 0;
  if ((c->out && pipe2(out, O_CLOEXEC)) || (c->log && pipe2(log, O_CLOEXEC)))
    goto failed;
  const int wanted[5] = {c->in, out[1], log[1], c->fd3, c->fd4};
  for (int i = 0; i < 5; i++) {
    high[i] = child_high(wanted[i]);
    if (wanted[i] >= 0 && high[i] < 0)
      goto failed;
    if (high[i] >= 0)
      posix_spawn_file_actions_adddup2(&files, high[i], i);
    else if (i < 3)
      posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
  }
  // Signals as they come, whatever the parent ignores or blocks.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid;
  int failed = posix_spawn(&pid, c->program, &files, &attr, c->argv, no_environment);
  if (failed) {
    errno = failed;
    goto failed;
  }
  for (int i = 0; i < 5; i++) {
    if (high[i] >= 0)
      close(high[i]);
    high[i] = -1;
  }
  if (out[1] >= 0)
    close(out[1]);
  if (log[1] >= 0)
    close(log[1]);
  out[1] = log[1] = -1;
  pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (pidfd < 0) {
    kr_err_errno(err, "cannot watch %s", c->program);
    kill(pid, SIGKILL);
  } else {
    child_watch(c, pid, pidfd, out[0], log[0]);
    rc = 0;
  }
  struct rusage used = {0};
  while (wait4(pid, &c->status, 0, &used) < 0 && errno == EINTR)
    ;
  c->cpu_ms = 1e3 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
              1e-3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  goto out;
failed:
  kr_err_errno(err, "cannot start %s", c->program);
out:
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  for (int i = 0; i < 5; i++)
    if (high[i] >= 0)
      close(high[i]);
  for (int i = 0; i < 2; i++) {
    if (out[i] >= 0)
      close(out[i]);
    if (log[i] >= 0)
      close(log[i]);
  }
  if (pidfd >= 0)
    close(pidfd);
  return rc;
}
