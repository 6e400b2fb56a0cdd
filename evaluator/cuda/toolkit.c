#include "toolkit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/mem.h"

#ifndef KR_CUDA_INCLUDE_DIR
#define KR_CUDA_INCLUDE_DIR "/usr/local/cuda/include"
#endif

static bool has_headers(const char *include)
{
  char *probe = kr_xasprintf("%s/cuda_fp16.h", include);
  bool there = access(probe, R_OK) == 0;
  free(probe);
  return there;
}

static void take_includes(struct toolkit *t, char *include)
{
  char *cccl = kr_xasprintf("%s/cccl", include);
  t->includes[0] = include;
  if (access(cccl, X_OK) == 0)
    t->includes[1] = cccl;
  else
    free(cccl);
}

static bool try_root(struct toolkit *t, const char *root)
{
  if (!root || !*root)
    return false;
  static const char *const below[] = {"include", "targets/x86_64-linux/include",
                                      "targets/sbsa-linux/include"};
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    char *include = kr_xasprintf("%s/%s", root, below[i]);
    if (has_headers(include)) {
      t->root = kr_xstrdup(root);
      take_includes(t, include);
      return true;
    }
    free(include);
  }
  return false;
}

static bool try_path(struct toolkit *t)
{
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t len = strcspn(path, ":");
    char *nvcc = kr_xasprintf("%.*s/nvcc", (int)len, path);
    char *real = *path == '/' ? realpath(nvcc, NULL) : NULL;
    free(nvcc);
    bool found = false;
    if (real) { // root/bin/nvcc
      for (int up = 0; up < 2; up++) {
        char *slash = strrchr(real, '/');
        if (slash)
          *slash = 0;
      }
      found = try_root(t, real);
      free(real);
    }
    if (found)
      return true;
    path += len + (path[len] == ':');
  }
  return false;
}

int toolkit_find(struct toolkit *t, const char *hint, struct kr_err *err)
{
  memset(t, 0, sizeof *t);
  if (hint && *hint) {
    if (try_root(t, hint))
      return 0;
    return kr_err_set(err, "%s is no CUDA toolkit: it has no include/cuda_fp16.h", hint);
  }
  if (try_root(t, getenv("CUDA_PATH")) || try_root(t, getenv("CUDA_HOME")) || try_path(t) ||
      try_root(t, "/usr/local/cuda") || try_root(t, "/opt/cuda"))
    return 0;
  if (has_headers(KR_CUDA_INCLUDE_DIR))
    take_includes(t, kr_xstrdup(KR_CUDA_INCLUDE_DIR));
  return 0;
}

void toolkit_release(struct toolkit *t)
{
  free(t->root);
  free(t->includes[0]);
  free(t->includes[1]);
  memset(t, 0, sizeof *t);
}
