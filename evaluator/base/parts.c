#include "parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

// The folder of the running program, "." when the system does not say.
static char *parts_here(void)
{
  char exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(exe, '/');
  if (!slash)
    return kr_xstrdup(".");
  *slash = '\0';
  return kr_xstrdup(exe[0] ? exe : "/");
}

bool kr_is_program(const char *path)
{
  struct stat st;
  return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *kr_part_program(const char *name)
{
  // The last is for test programs, which are built two folders below.
  static const char *const folders[] = {"", KR_BIN_TO_LIBEXEC "/", "../../bin/"};
  char *here = parts_here(), *path = NULL;
  for (size_t i = 0; !path && i < sizeof folders / sizeof *folders; i++) {
    path = kr_xasprintf("%s/%s%s", here, folders[i], name);
    if (!kr_is_program(path)) {
      free(path);
      path = NULL;
    }
  }
  if (!path)
    path = kr_xasprintf("%s/%s", here, name);
  free(here);
  return path;
}

char *kr_part_headers(void)
{
  static const char *const folders[] = {KR_BIN_TO_HEADERS, KR_LIBEXEC_TO_HEADERS};
  char *here = parts_here(), *found = NULL;
  for (size_t i = 0; !found && i < sizeof folders / sizeof *folders; i++) {
    char *path = kr_xasprintf("%s/%s/kr/cuda.h", here, folders[i]);
    if (!access(path, R_OK)) {
      path[strlen(path) - strlen("/kr/cuda.h")] = '\0';
      found = realpath(path, NULL);
    }
    free(path);
  }
  free(here);
  return found ? found : realpath(KR_HEADERS_BUILT, NULL);
}
