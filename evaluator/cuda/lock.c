#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

// Who times on a GPU must be alone on it, and who checks there need not. So there is
// a lock per GPU, taken whole for timing and shared for every other piece of work
// that reaches the GPU (a launch, a transfer, a module's loading: milliseconds).
//
// Checks of several processes would together never let go of a lock that each takes
// again and again. A gate stands before it: who wants to time shuts it and waits
// inside, and nobody else gets past until it has the lock.

// Both must be the same files for everyone who may time on the GPU, other
// users too, so they lie in a folder that all see, not in one's own. Where that
// cannot be written, a lock among one's own processes is better than none.
static const char *lock_dir(void)
{
  const char *chosen = getenv("KEVIN_LOCK_DIR"), *own = getenv("TMPDIR");
  if (chosen && *chosen == '/')
    return chosen;
  return access("/tmp", W_OK | X_OK) && own && *own == '/' ? own : "/tmp";
}

static int lock_file(const char *uuid, const char *ending)
{
  char path[512];
  snprintf(path, sizeof path, "%s/kevin-rewrite-%s.%s", lock_dir(), uuid, ending);
  // Read access is enough for a lock, and a file of somebody else in a sticky
  // folder may not be opened with O_CREAT.
  int fd = -1;
  for (int attempt = 0; attempt < 3 && fd < 0; attempt++) {
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
      fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 && errno != EEXIST && errno != ENOENT)
      break;
  }
  return fd;
}

void lock_open(struct gpu_lock *l, const char *uuid)
{
  l->gate = lock_file(uuid, "gate");
  l->gpu = lock_file(uuid, "lock");
}

void lock_close(struct gpu_lock *l)
{
  if (l->gate >= 0)
    close(l->gate);
  if (l->gpu >= 0)
    close(l->gpu);
  l->gate = l->gpu = -1;
  l->held = false;
}

static bool lock_wait(int fd, int how)
{
  while (flock(fd, how) < 0)
    if (errno != EINTR)
      return false;
  return true;
}

static bool lock_take(struct gpu_lock *l, int how)
{
  assert(!l->held); // one that waits inside the gate would wait for us
  if (l->gate < 0 || l->gpu < 0)
    return false;
  // What is free is not waited for, and nobody hears of it.
  bool through = !flock(l->gate, how | LOCK_NB);
  l->held = through && !flock(l->gpu, how | LOCK_NB);
  if (!l->held) {
    if (l->on_wait)
      l->on_wait(l->on_wait_arg, true);
    l->held = (through || lock_wait(l->gate, how)) && lock_wait(l->gpu, how);
    if (l->on_wait)
      l->on_wait(l->on_wait_arg, false);
  }
  lock_wait(l->gate, LOCK_UN);
  return l->held;
}

bool lock_alone(struct gpu_lock *l)
{
  return lock_take(l, LOCK_EX);
}

bool lock_shared(struct gpu_lock *l)
{
  return lock_take(l, LOCK_SH);
}

void lock_leave(struct gpu_lock *l)
{
  if (l->held)
    lock_wait(l->gpu, LOCK_UN);
  l->held = false;
}
