#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

// The lock must be the same file for everyone who may time on the GPU, so it
// lies in a folder that all see. KEVIN_LOCK_DIR is for those whose users share
// a GPU and no /tmp.
static const char *lock_dir(void)
{
  static const char *const names[] = {"KEVIN_LOCK_DIR", "XDG_RUNTIME_DIR", "TMPDIR"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *dir = getenv(names[i]);
    if (dir && *dir == '/' && access(dir, W_OK | X_OK) == 0)
      return dir;
  }
  return "/tmp";
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
