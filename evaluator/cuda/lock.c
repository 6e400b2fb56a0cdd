#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

// The lock must be the same file for everyone who may time on the GPU, other
// users too, so it lies in a folder that all see, not in one's own. Where that
// cannot be written, a lock among one's own processes is better than none.
static const char *lock_dir(void)
{
  const char *chosen = getenv("KEVIN_LOCK_DIR"), *own = getenv("TMPDIR");
  if (chosen && *chosen == '/')
    return chosen;
  return access("/tmp", W_OK | X_OK) && own && *own == '/' ? own : "/tmp";
}

int lock_take(const char *uuid)
{
  char path[512];
  snprintf(path, sizeof path, "%s/kevin-rewrite-%s.lock", lock_dir(), uuid);
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
  if (fd < 0)
    return -1;
  while (flock(fd, LOCK_EX) < 0) {
    if (errno == EINTR)
      continue;
    close(fd);
    return -1;
  }
  return fd;
}
