// Prints the slice of a kernel, as kevin-parse would make it:
//
//   slice_dump [--cuda=DIR] [--project=DIR] [--replace=FILE] [--deps] FILE.cu KERNEL [-- flags...]
//
// --deps prints the files that it took declarations from instead. --replace puts
// the text of FILE in the kernel's place. `--all` as the kernel takes each in turn
// and prints its name and "ok" or the refusal. Exit: 0, 1 refused, 2 usage.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/clock.h"
#include "evaluator/base/mem.h"
#include "plugin/tu.h"

#ifndef KR_CUDA_PATH
#define KR_CUDA_PATH NULL
#endif

struct dump {
  struct tu *tu;
  const char *name;
  CXCursor *found;
  size_t n, cap;
};

static int dump_find(void *arg, CXCursor c, CXCursor parent)
{
  (void)parent;
  struct dump *d = arg;
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec)
    return 0;
  if ((kind != CXCursor_FunctionDecl && kind != CXCursor_FunctionTemplate) ||
      !clang_isCursorDefinition(c) || !tu_in_main(d->tu, c) || !tu_is_kernel(c))
    return 1;
  char *name = tu_take(clang_getCursorSpelling(c));
  if (!d->name || !strcmp(name, d->name)) {
    KR_GROW(d->found, d->n, d->cap);
    d->found[d->n++] = c;
  }
  free(name);
  return 1;
}

int main(int argc, char **argv)
{
  const char *cuda = KR_CUDA_PATH, *project = NULL, *path = NULL, *kernel = NULL;
  const char *replace = NULL, *out_dir = NULL;
  int deps = 0, all = 0, time_it = 0;
  struct tu_setup setup = {0};
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "--cuda=", 7))
      cuda = argv[i][7] ? argv[i] + 7 : NULL; // empty: our own headers
    else if (!strncmp(argv[i], "--project=", 10))
      project = argv[i] + 10;
    else if (!strncmp(argv[i], "--replace=", 10))
      replace = argv[i] + 10;
    else if (!strncmp(argv[i], "--out=", 6))
      out_dir = argv[i] + 6;
    else if (!strcmp(argv[i], "--deps"))
      deps = 1;
    else if (!strcmp(argv[i], "--time"))
      time_it = 1;
    else if (!strcmp(argv[i], "--all"))
      all = 1;
    else if (!strcmp(argv[i], "--")) {
      setup.flags = (const char *const *)argv + i + 1;
      setup.n_flags = (size_t)(argc - i - 1);
      break;
    } else if (!path)
      path = argv[i];
    else
      kernel = argv[i];
  }
  if (!path || (!kernel && !all)) {
    fprintf(stderr, "usage: slice_dump [options] FILE.cu KERNEL|--all [-- flags...]\n");
    return 2;
  }
  setup.cuda_path = cuda;
  setup.project_dir = project;
  struct kr_err err = {""};
  struct kr_source src, other;
  if (kr_source_read(&src, path, &err) || (replace && kr_source_read(&other, replace, &err))) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  double t0 = kr_now_ms();
  struct tu *tu = tu_open(&setup, path, src.data, src.len, &err);
  if (!tu) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  double t1 = kr_now_ms();
  if (time_it)
    fprintf(stderr, "parse %.0f ms\n", t1 - t0);
  struct dump d = {.tu = tu, .name = kernel};
  tu_visit(clang_getTranslationUnitCursor(tu->unit), dump_find, &d);
  int bad = d.n == 0;
  if (bad)
    fprintf(stderr, "%s: no kernel %s\n", path, kernel ? kernel : "");
  for (size_t i = 0; i < d.n; i++) {
    struct kr_pkernel k;
    char *expression = tu_qualified(d.found[i]);
    memset(&k, 0, sizeof k);
    char *name = k.name = tu_take(clang_getCursorSpelling(d.found[i]));
    tu_span(tu, d.found[i], &k.at);
    t0 = kr_now_ms();
    err.text[0] = '\0';
    int refused = slice_make(tu, d.found[i], &k, &err);
    t1 = kr_now_ms();
    if (time_it)
      fprintf(stderr, "slice %.0f ms\n", t1 - t0);
    if (all)
      printf("%s: %s\n", expression, refused ? err.text : "ok");
    else if (refused)
      fprintf(stderr, "%s: %s: %s\n", path, name, err.text);
    for (size_t e = 0; e < k.n_errors && !all; e++)
      fprintf(stderr, "%s: %s: error inside: %s\n", path, name, k.errors[e].text);
    bad |= refused != 0;
    if (!refused && deps) {
      for (size_t n = 0; n < k.n_deps; n++)
        printf("%s\n", k.deps[n].file);
    } else if (!refused) {
      FILE *f = all ? NULL : stdout;
      if (out_dir) {
        char *to = kr_xasprintf("%s/%s.cu", out_dir, expression);
        f = fopen(to, "w");
        free(to);
      }
      if (f) {
        fputs(k.slice_before, f);
        if (replace)
          fwrite(other.data, 1, other.len, f);
        else
          fwrite(src.data + k.at.offset, 1, k.at.length, f);
        fputs(k.slice_after, f);
        if (f != stdout)
          fclose(f);
      }
    }
    free(k.slice_before);
    free(k.slice_after);
    for (size_t n = 0; n < k.n_deps; n++)
      free(k.deps[n].file);
    free(k.deps);
    for (size_t n = 0; n < k.n_errors; n++) {
      free(k.errors[n].text);
      free(k.errors[n].fix);
    }
    free(k.errors);
    free(name);
    free(expression);
  }
  free(d.found);
  tu_close(tu);
  kr_source_release(&src);
  if (replace)
    kr_source_release(&other);
  return bad;
}
