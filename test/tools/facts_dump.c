// Prints the facts of a variant:
//
//   facts_dump [--cuda=DIR] [--time] FILE.cu KERNEL VARIANT
//
// VARIANT is a file, or "-" for standard input. Exit: 0, 1 refused, 2 usage.

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
  CXCursor found;
};

static int dump_find(void *arg, CXCursor c, CXCursor parent)
{
  (void)parent;
  struct dump *d = arg;
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec)
    return 0;
  if (kind != CXCursor_FunctionDecl || !clang_isCursorDefinition(c) || !tu_in_main(d->tu, c))
    return 1;
  char *name = tu_take(clang_getCursorSpelling(c));
  if (!strcmp(name, d->name))
    d->found = c;
  free(name);
  return 1;
}

static char *dump_stdin(void)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, stdin)) > 0;)
    kr_bytes_add(&b, buffer, n);
  char *text = kr_bytes_take(&b);
  kr_bytes_release(&b);
  return text;
}

static void dump_facts(const struct kr_facts *f)
{
  static const char *const kinds[] = {"function", "variable", "type", "constant", "other"};
  for (size_t i = 0; i < f->n_decls; i++) {
    const struct kr_fact_decl *d = &f->decls[i];
    printf("decl %s %s line %u type \"%s\"%s%s%s%s%s%s%s%s%s%s%s%s attributes \"%s\"\n", kinds[d->kind],
           d->qualified, d->line, d->type_name, d->is_kernel ? " kernel" : "",
           d->is_device ? " device" : "", d->is_host ? " host" : "",
           d->is_constexpr ? " constexpr" : "", d->is_static ? " static" : "",
           d->is_extern_c ? " extern-c" : "", d->has_initialiser ? " initialised" : "",
           d->is_template ? " template" : "", d->is_mutable ? " mutable" : "",
           d->is_shared ? " shared" : "", d->is_constant ? " constant-memory" : "",
           d->hides ? " hides" : "", d->attributes);
  }
  for (size_t i = 0; i < f->n_uses; i++)
    printf("use %s line %u%s\n", f->uses[i].name, f->uses[i].line,
           f->uses[i].in_variant ? " own" : "");
  for (size_t i = 0; i < f->n_errors; i++)
    printf("error %lld %s\n", f->errors[i].offset == SIZE_MAX ? -1LL : (long long)f->errors[i].offset,
           f->errors[i].text);
  if (f->kernel_usr) {
    printf("kernel %s %s %s restrict", f->kernel_usr, f->kernel_signature,
           f->kernel_linkage == KR_LINKAGE_INTERNAL ? "internal" : "external");
    for (size_t i = 0; i < f->n_params; i++)
      printf(" %d", f->param_restrict[i]);
    printf("\n");
  }
  if (f->has_static_local)
    printf("static-local\n");
  if (f->has_asm)
    printf("asm\n");
  if (f->has_goto_computed)
    printf("computed-goto\n");
  printf("suffix %s\n", f->suffix_intact ? "intact" : "changed");
}

int main(int argc, char **argv)
{
  const char *cuda = KR_CUDA_PATH, *args[3] = {NULL, NULL, NULL};
  size_t n = 0;
  int time_it = 0;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "--cuda=", 7))
      cuda = argv[i][7] ? argv[i] + 7 : NULL; // empty: our own headers
    else if (!strcmp(argv[i], "--time"))
      time_it = 1;
    else if (n < 3)
      args[n++] = argv[i];
  }
  if (n != 3) {
    fprintf(stderr, "usage: facts_dump [--cuda=DIR] [--time] FILE.cu KERNEL VARIANT\n");
    return 2;
  }
  struct tu_setup setup = {.cuda_path = cuda};
  struct kr_err err = {""};
  struct kr_source src, variant;
  if (kr_source_read(&src, args[0], &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  if (strcmp(args[2], "-")) {
    if (kr_source_read(&variant, args[2], &err)) {
      fprintf(stderr, "%s\n", err.text);
      return 2;
    }
  } else {
    char *text = dump_stdin();
    kr_source_from_text(&variant, "variant", text, strlen(text));
    free(text);
  }
  int status = 1;
  struct tu *tu = tu_open(&setup, args[0], src.data, src.len, &err), *warm = NULL;
  struct dump d = {tu, args[1], clang_getNullCursor()};
  if (tu)
    tu_visit(clang_getTranslationUnitCursor(tu->unit), dump_find, &d);
  if (!tu || clang_Cursor_isNull(d.found)) {
    fprintf(stderr, "%s: %s\n", args[0], tu ? "no such kernel" : err.text);
    goto out;
  }
  struct kr_pkernel k;
  memset(&k, 0, sizeof k);
  k.name = (char *)args[1];
  tu_span(tu, d.found, &k.at);
  char *usr = tu_take(clang_getCursorUSR(d.found));
  if (slice_make(tu, d.found, &k, &err)) {
    fprintf(stderr, "%s: %s: %s\n", args[0], args[1], err.text);
    free(usr);
    goto out;
  }
  char *original = kr_xstrndup(src.data + k.at.offset, k.at.length);
  char *first = kr_xasprintf("%s%s%s", k.slice_before, original, k.slice_after);
  warm = tu_open_like(tu, first, strlen(first), &err);
  struct facts_ask ask = {k.slice_before, original, variant.data, k.slice_after, args[1], usr};
  struct kr_facts facts;
  status = !warm || facts_make(warm, &ask, &facts, &err);
  if (status)
    fprintf(stderr, "%s\n", err.text);
  else
    dump_facts(&facts);
  for (int i = 0; time_it && !status && i < 10; i++) {
    struct kr_facts again;
    double t0 = kr_now_ms();
    status = facts_make(warm, &ask, &again, &err);
    fprintf(stderr, "facts %.1f ms\n", kr_now_ms() - t0);
    if (!status)
      kr_facts_release(&again);
  }
  if (!status)
    kr_facts_release(&facts);
  for (size_t i = 0; i < k.n_deps; i++)
    free(k.deps[i].file);
  free(k.deps);
  for (size_t i = 0; i < k.n_errors; i++)
    free(k.errors[i].text);
  free(k.errors);
  free(k.slice_before);
  free(k.slice_after);
  free(original);
  free(first);
  free(usr);
out:
  tu_close(warm);
  tu_close(tu);
  kr_source_release(&src);
  kr_source_release(&variant);
  return status;
}
