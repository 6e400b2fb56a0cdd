#include "libnvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/mem.h"

// NVRTC loads its builtins by bare name at the first compilation and has no
// run path of its own, so outside the loader's folders it would not find them.
// Opened here first, from beside it, they are there when it asks.
static void *open_in(const char *dir)
{
  static const int majors[] = {13, 12};
  for (size_t i = 0; i < sizeof majors / sizeof *majors; i++) {
    char *path = kr_xasprintf("%s/libnvrtc.so.%d", dir, majors[i]);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (!handle)
      continue;
    int major, minor;
    nvrtcResult (*version)(int *, int *);
    *(void **)&version = dlsym(handle, "nvrtcVersion");
    if (version && version(&major, &minor) == NVRTC_SUCCESS) {
      path = kr_xasprintf("%s/libnvrtc-builtins.so.%d.%d", dir, major, minor);
      dlopen(path, RTLD_NOW | RTLD_GLOBAL);
      free(path);
    }
    return handle;
  }
  return NULL;
}

static void *open_library(const char *root)
{
  static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                      "targets/sbsa-linux/lib"};
  void *handle = NULL;
  const char *roots[] = {root, "/usr/local/cuda"};
  for (size_t r = 0; r < 2 && !handle; r++)
    for (size_t i = 0; roots[r] && i < sizeof below / sizeof *below && !handle; i++) {
      char *dir = kr_xasprintf("%s/%s", roots[r], below[i]);
      handle = open_in(dir);
      free(dir);
    }
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
    handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  return handle;
}

const struct libnvrtc *libnvrtc_open(const char *root, struct kr_err *err)
{
  static struct libnvrtc lib;
  if (lib.handle)
    return &lib;
  struct libnvrtc l = {.handle = open_library(root)};
  if (!l.handle) {
    kr_err_set(err, "no NVRTC here (libnvrtc.so.13 or .12): install the CUDA toolkit, or say "
                    "where it is with --cuda-path");
    return NULL;
  }
#define LOAD(name)                                                                                 \
  if (!(*(void **)&l.name = dlsym(l.handle, #name))) {                                             \
    kr_err_set(err, "NVRTC is too old: it has no " #name "; a CUDA toolkit of version 12 or 13 "   \
                    "is needed");                                                                  \
    return NULL;                                                                                   \
  }
  LIBNVRTC_CALLS(LOAD)
#undef LOAD
  if (l.nvrtcVersion(&l.major, &l.minor) != NVRTC_SUCCESS) {
    kr_err_set(err, "NVRTC does not say its version; is the CUDA toolkit whole?");
    return NULL;
  }
  lib = l;
  return &lib;
}
