#include "libcuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

// cuda.h's macros rename calls (cuMemAlloc is cuMemAlloc_v2), so the name must
// be expanded before it becomes text.
#define NAME_TEXT(name) NAME_TEXT_(name)
#define NAME_TEXT_(name) #name

// The loader's folders first, then where containers, WSL and NixOS put the driver
// without telling the loader.
void *libcuda_dlopen(const char *name)
{
  static const char *const folders[] = {"", "/usr/local/nvidia/lib64/", "/usr/lib/wsl/lib/",
                                        "/run/opengl-driver/lib/"};
  void *handle = NULL;
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !handle; i++) {
    char path[256];
    snprintf(path, sizeof path, "%s%s", folders[i], name);
    if (!*folders[i] || access(path, R_OK) == 0)
      handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return handle;
}

const struct libcuda *libcuda_open(struct kr_err *err)
{
  static struct libcuda lib;
  if (lib.handle)
    return &lib;
  struct libcuda l = {.handle = libcuda_dlopen("libcuda.so.1")};
  if (!l.handle) {
    kr_err_set(err, "no CUDA driver here (libcuda.so.1 is in none of the loader's folders): "
                    "install NVIDIA's driver for the GPU, or use --evaluator=cpu");
    return NULL;
  }
#define LOAD(name)                                                                                 \
  if (!(*(void **)&l.name = dlsym(l.handle, NAME_TEXT(name)))) {                                   \
    kr_err_set(err, "the CUDA driver is too old: libcuda.so.1 has no " NAME_TEXT(name) "; this "   \
                    "program was built for CUDA %d.%d, update the driver",                         \
               CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);                                     \
    return NULL;                                                                                   \
  }
  LIBCUDA_CALLS(LOAD)
#undef LOAD
  lib = l;
  return &lib;
}

const char *libcuda_words(const struct libcuda *lib, CUresult r)
{
  static _Thread_local char text[256];
  const char *name = NULL, *words = NULL;
  lib->cuGetErrorName(r, &name);
  lib->cuGetErrorString(r, &words);
  if (!name)
    snprintf(text, sizeof text, "CUDA driver error %d", (int)r);
  else
    snprintf(text, sizeof text, "%s (%s)", name, words ? words : "no description");
  return text;
}

int libcuda_check(const struct libcuda *lib, CUresult r, const char *what, struct kr_err *err)
{
  if (r == CUDA_SUCCESS)
    return 0;
  return kr_err_set(err, "%s: %s", what, libcuda_words(lib, r));
}
