// RUN: %unit/cuda_lock %t
// REQUIRES: cuda-build
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evaluator/base/mem.h"
#include "evaluator/cuda/internal.h"
#include "unit.h"

static const char uuid[] = "GPU-00000000-0000-0000-0000-000000000000";

static bool answers(int fd, int timeout_ms)
{
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, timeout_ms) == 1;
}

int main(int argc, char **argv)
{
  if (argc < 2)
    return 2;
  mkdir(argv[1], 0700);
  setenv("KEVIN_LOCK_DIR", argv[1], 1);
  char *path = kr_xasprintf("%s/kevin-rewrite-%s.lock", argv[1], uuid);
  unlink(path);

  // A second process waits until the first lets go.
  int held = lock_take(uuid), pipes[2];
  CHECK(held >= 0);
  CHECK(access(path, F_OK) == 0);
  CHECK(pipe(pipes) == 0);
  pid_t pid = fork();
  if (!pid) {
    close(held); // the lock is the parent's, which still has it
    int mine = lock_take(uuid);
    _exit(write(pipes[1], "x", 1) != 1 || mine < 0);
  }
  CHECK(!answers(pipes[0], 200));
  close(held);
  CHECK(answers(pipes[0], 5000));
  int status = -1;
  waitpid(pid, &status, 0);
  CHECK_INT(status, 0);

  // A lock whose holder died is free.
  pid = fork();
  if (!pid) {
    lock_take(uuid);
    _exit(0);
  }
  waitpid(pid, &status, 0);
  held = lock_take(uuid);
  CHECK(held >= 0);
  close(held);

  // Another GPU is another lock; a link in the lock's place is not followed.
  unlink(path);
  char *other = kr_xasprintf("%s/elsewhere", argv[1]);
  unlink(other);
  CHECK(symlink(other, path) == 0);
  CHECK_INT(lock_take(uuid), -1);
  CHECK(access(other, F_OK) != 0);
  unlink(path);
  free(path);
  free(other);
  return unit_end();
}
