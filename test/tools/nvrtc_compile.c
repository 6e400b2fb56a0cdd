// Compiles one file with NVRTC, so that a test can say whether a slice is a
// translation unit of its own:
//
//   nvrtc_compile [-arch=sm_NN] [-name=EXPR] [-o FILE] [-q] FILE [-- options...]
//
// The library is opened at run time. Prints the log, then the lowered name of
// EXPR. `-o` writes the PTX. Exit: 0 compiled, 1 not, 2 usage or no library.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/err.h"
#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"

#ifndef KR_CUDA_PATH
#define KR_CUDA_PATH "/usr/local/cuda"
#endif

struct rtc {
  int (*create)(void **prog, const char *src, const char *name, int n, const char *const *headers,
                const char *const *names);
  int (*destroy)(void **prog);
  int (*compile)(void *prog, int n, const char *const *options);
  int (*log_size)(void *prog, size_t *n);
  int (*log)(void *prog, char *text);
  int (*ptx_size)(void *prog, size_t *n);
  int (*ptx)(void *prog, char *text);
  int (*add_name)(void *prog, const char *expr);
  int (*lowered)(void *prog, const char *expr, const char **name);
  const char *(*text)(int status);
};

static int rtc_open(struct rtc *r)
{
  static const char *const libraries[] = {KR_CUDA_PATH "/lib64/libnvrtc.so", "libnvrtc.so",
                                          "libnvrtc.so.13", "libnvrtc.so.12"};
  void *lib = NULL;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !lib; i++)
    lib = dlopen(libraries[i], RTLD_NOW);
  if (!lib)
    return -1;
  struct {
    const char *name;
    void *at;
  } symbols[] = {
      {"nvrtcCreateProgram", &r->create},       {"nvrtcDestroyProgram", &r->destroy},
      {"nvrtcCompileProgram", &r->compile},     {"nvrtcGetProgramLogSize", &r->log_size},
      {"nvrtcGetProgramLog", &r->log},          {"nvrtcGetPTXSize", &r->ptx_size},
      {"nvrtcGetPTX", &r->ptx},                 {"nvrtcAddNameExpression", &r->add_name},
      {"nvrtcGetLoweredName", &r->lowered},     {"nvrtcGetErrorString", &r->text},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *at = dlsym(lib, symbols[i].name);
    if (!at)
      return -1;
    memcpy(symbols[i].at, &at, sizeof at);
  }
  return 0;
}

int main(int argc, char **argv)
{
  const char *path = NULL, *name = NULL, *out = NULL;
  const char *options[64];
  int n_options = 0, quiet = 0;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "-arch=", 6))
      options[n_options++] = argv[i];
    else if (!strncmp(argv[i], "-name=", 6))
      name = argv[i] + 6;
    else if (!strcmp(argv[i], "-o") && i + 1 < argc)
      out = argv[++i];
    else if (!strcmp(argv[i], "-q"))
      quiet = 1;
    else if (!strcmp(argv[i], "--"))
      for (i++; i < argc && n_options < 60; i++)
        options[n_options++] = argv[i];
    else if (!path)
      path = argv[i];
    else
      path = NULL;
  }
  if (!path) {
    fprintf(stderr, "usage: nvrtc_compile [-arch=A] [-name=EXPR] [-o FILE] [-q] FILE [-- option...]\n");
    return 2;
  }
  struct rtc r;
  if (rtc_open(&r)) {
    fprintf(stderr, "libnvrtc cannot be opened\n");
    return 2;
  }
  struct kr_source src;
  struct kr_err err = {""};
  if (kr_source_read(&src, path, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  void *prog = NULL;
  int status = r.create(&prog, src.data, path, 0, NULL, NULL);
  if (!status && name)
    status = r.add_name(prog, name);
  if (!status)
    status = r.compile(prog, n_options, options);
  size_t n = 0;
  if (prog && !r.log_size(prog, &n) && n > 1 && !(quiet && !status)) {
    char *log = kr_xmalloc(n);
    r.log(prog, log);
    fputs(log, stdout);
    free(log);
  }
  if (status) {
    fprintf(stderr, "%s: %s\n", path, r.text(status));
  } else {
    const char *lowered = NULL;
    if (name && !r.lowered(prog, name, &lowered))
      printf("%s\n", lowered);
    if (out && !r.ptx_size(prog, &n)) {
      char *ptx = kr_xmalloc(n);
      r.ptx(prog, ptx);
      FILE *f = fopen(out, "w");
      if (!f || fwrite(ptx, 1, n - 1, f) != n - 1 || fclose(f)) {
        perror(out);
        status = 1;
      }
      free(ptx);
    }
  }
  if (prog)
    r.destroy(&prog);
  kr_source_release(&src);
  return status != 0;
}
