#include "wall.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The rights of Landlock's first version, which every later one knows.
#define WALL_READ                                                                                  \
  (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WALL_ALL                                                                                   \
  (WALL_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                     \
   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |   \
   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |     \
   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

int wall_files(const char *const *readable)
{
  struct landlock_ruleset_attr attr = {.handled_access_fs = WALL_ALL};
  // Later members of the struct are later versions' business.
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr,
                             sizeof attr.handled_access_fs, 0);
  if (ruleset < 0)
    return -1;
  int rc = -1;
  for (; *readable; readable++) {
    int fd = open(*readable, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
      continue; // what is not there need not be opened
    struct landlock_path_beneath_attr rule = {.allowed_access = WALL_READ, .parent_fd = fd};
    if (!fstat(fd, &st) && !S_ISDIR(st.st_mode))
      rule.allowed_access &= ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
    long added = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
    if (added)
      goto out;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      syscall(SYS_landlock_restrict_self, ruleset, 0))
    goto out;
  rc = 0;
out:
  close(ruleset);
  return rc;
}
