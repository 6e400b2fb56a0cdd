#include "git.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "spawn.h"

enum { GIT_TIMEOUT_MS = 20000 };

// The folder of a path; the caller frees it.
static char *git_folder(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return kr_xstrdup(".");
  return slash == path ? kr_xstrdup("/") : kr_xstrndup(path, (size_t)(slash - path));
}

enum git_state git_file_state(const char *path, struct kr_err *err)
{
  enum git_state state = GIT_UNKNOWN;
  char *real = realpath(path, NULL); // of a link, the file that would be written
  char *dir = git_folder(real ? real : path);
  const char *base = real ? real : path;
  base = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 20);

  const char *inside[] = {"git", "-C", dir, "-c", "core.fsmonitor=false", "rev-parse",
                          "--is-inside-work-tree", NULL};
  struct kr_err ignored = {""};
  if (spawn_run(inside, NULL, GIT_TIMEOUT_MS, &out, NULL, &ignored) != 0 ||
      strncmp(out.data, "true", 4)) {
    state = GIT_OUTSIDE;
    goto end;
  }
  const char *filters[] = {"git", "-C", dir, "config", "--local", "--get-regexp",
                           "^filter\\..*\\.(clean|process)$", NULL};
  kr_bytes_reset(&out);
  if (spawn_run(filters, NULL, GIT_TIMEOUT_MS, &out, NULL, &ignored) != 1) {
    kr_err_set(err, "%s: the repository's own configuration defines filters, commands that git "
                    "would run, so git was not asked whether the file is clean",
               path);
    goto end;
  }
  char *spec = kr_xasprintf(":(literal)%s", base);
  const char *status[] = {"git", "-C", dir, "--no-optional-locks", "-c", "core.fsmonitor=false",
                          "-c", "core.hooksPath=/dev/null", "status", "--porcelain=v1", "-z",
                          "--untracked-files=all", "--ignored=matching", "--", spec, NULL};
  kr_bytes_reset(&out);
  int rc = spawn_run(status, NULL, GIT_TIMEOUT_MS, &out, NULL, err);
  free(spec);
  if (rc > 0)
    kr_err_set(err, "%s: git status failed with exit status %d", path, rc);
  if (rc)
    goto end;
  // "XY name": Y is the work tree against the index.
  if (out.len < 3)
    state = GIT_CLEAN;
  else if (!strncmp(out.data, "??", 2) || !strncmp(out.data, "!!", 2))
    state = GIT_UNTRACKED;
  else
    state = out.data[1] == ' ' ? GIT_CLEAN : GIT_DIRTY;
end:
  kr_bytes_release(&out);
  free(dir);
  free(real);
  return state;
}
