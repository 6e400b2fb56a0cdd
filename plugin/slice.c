// A slice: the least of a file that makes one kernel a translation unit of its
// own. It is built up, not cut down. From the kernel's body the references of
// the AST are followed to the declarations of the user's files that they name;
// these are copied as spelt, in the order the compiler met them, with their
// namespaces opened again around them. Macros come in by the tokens of what was
// copied. Of other people's headers only those with device code are included,
// and only when something of them was reached; the few words that NVRTC lacks
// of the standard headers are in slice_std.c.
//
// Host code is left behind by annotation: a function that is neither __device__
// nor constexpr is never needed, and inside classes it is blanked out, since
// NVRTC refuses it even unused.
//
// The result is parsed again. When that fails, all device headers of the file
// are included instead of those that were reached; when that fails too, the
// kernel is refused with the compiler's words.

#include "slice_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// --- looking at the result ---

static bool slice_is_missing(const char *text)
{
  static const char *const words[] = {"unknown type name", "use of undeclared identifier",
                                      "file not found", "no type named", "no template named",
                                      "no member named", "expected namespace name"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(text, words[i]))
      return true;
  return false;
}

// Errors of the original inside what was kept: told, and fatal when something
// that is needed is not declared. Names in two underscores may be intrinsics
// that clang does not know and the real compiler does.
static void slice_errors(struct slice *s, struct kr_diags *out)
{
  unsigned n = clang_getNumDiagnostics(s->tu->unit);
  for (unsigned i = 0; i < n; i++) {
    CXDiagnostic diag = clang_getDiagnostic(s->tu->unit, i);
    CXFile file = NULL;
    size_t at;
    tu_place(clang_getDiagnosticLocation(diag), &file, &at);
    size_t index = file ? map_file_of(s->map, file) : MAP_NONE;
    bool inside = false;
    if (index != MAP_NONE && clang_getDiagnosticSeverity(diag) >= CXDiagnostic_Error &&
        slice_past_hole(s, index, at) == at)
      for (size_t k = 0; k < s->map->n_items && !inside; k++)
        inside = s->kept[k] && s->map->items[k].file == index && at >= s->map->items[k].begin &&
                 at < s->map->items[k].end;
    if (inside) {
      char *text = tu_take(clang_getDiagnosticSpelling(diag));
      unsigned line = 0;
      clang_getFileLocation(clang_getDiagnosticLocation(diag), NULL, &line, NULL, NULL);
      if (!s->missing && slice_is_missing(text) && !strstr(text, "'__"))
        s->missing = kr_xasprintf("%s:%u: %s", s->map->files[index].shown, line, text);
      if (index == 0)
        kr_diags_add(out, KR_SEV_ERROR, at, 0, "%s", text);
      else
        kr_diags_add(out, KR_SEV_ERROR, SIZE_MAX, 0, "%s:%u: %s", s->map->files[index].shown, line,
                     text);
      free(text);
    }
    clang_disposeDiagnostic(diag);
  }
}

static bool slice_known_error(const struct kr_diags *known, const char *text)
{
  for (size_t i = 0; i < known->n; i++)
    if (strstr(known->items[i].text, text))
      return true;
  return false;
}

// Parses the slice as its own translation unit. Returns 0 when it has no errors
// but those of the original, else 1 with the first one in `why`.
static int slice_check(struct slice *s, const char *before, const char *code, size_t code_len,
                       const char *after, const struct kr_diags *known, char **why,
                       struct kr_err *err)
{
  struct kr_bytes text;
  kr_bytes_init(&text, KR_SOURCE_MAX);
  kr_bytes_adds(&text, before);
  kr_bytes_add(&text, code, code_len);
  kr_bytes_adds(&text, after);
  int status = 0;
  struct tu *check = s->tu->slice;
  if (check)
    status = tu_reparse(check, text.data, text.len, err);
  else
    status = (check = s->tu->slice = tu_open_like(s->tu, text.data, text.len, err)) ? 0 : -1;
  kr_bytes_release(&text);
  if (status) {
    tu_close(check);
    s->tu->slice = NULL;
    return -1;
  }
  unsigned n = clang_getNumDiagnostics(check->unit);
  for (unsigned i = 0; i < n && !status; i++) {
    CXDiagnostic diag = clang_getDiagnostic(check->unit, i);
    if (clang_getDiagnosticSeverity(diag) >= CXDiagnostic_Error) {
      char *said = tu_take(clang_getDiagnosticSpelling(diag));
      if (!slice_known_error(known, said)) {
        CXString name;
        unsigned line = 0;
        clang_getPresumedLocation(clang_getDiagnosticLocation(diag), &name, &line, NULL);
        char *file = tu_take(name);
        *why = kr_xasprintf("its slice does not compile: %s:%u: %s", file, line, said);
        free(file);
        status = 1;
      }
      free(said);
    }
    clang_disposeDiagnostic(diag);
  }
  return status;
}

static int slice_dep_order(const void *a, const void *b)
{
  return strcmp(((const struct kr_pdep *)a)->file, ((const struct kr_pdep *)b)->file);
}

static void slice_deps(struct slice *s)
{
  bool *used = kr_xcalloc(s->map->n_files + 1, sizeof *used);
  size_t n = 0;
  for (size_t i = 0; i < s->map->n_items; i++)
    if (s->kept[i] && s->map->items[i].file != s->map->items[s->kernel].file)
      used[s->map->items[i].file] = true;
  for (size_t i = 0; i < s->map->n_files; i++) {
    used[i] |= s->pasted[i];
    n += used[i];
  }
  s->k->deps = kr_xcalloc(n + 1, sizeof *s->k->deps);
  for (size_t i = 0; i < s->map->n_files; i++)
    if (used[i]) {
      s->k->deps[s->k->n_deps].file = kr_xstrdup(s->map->files[i].shown);
      s->k->deps[s->k->n_deps++].tokens = kr_lex_hash(s->map->files[i].text, s->map->files[i].len);
    }
  qsort(s->k->deps, s->k->n_deps, sizeof *s->k->deps, slice_dep_order);
  free(used);
}

static size_t slice_find_kernel(struct slice *s, CXCursor kernel)
{
  for (size_t i = 0; i < s->map->n_items; i++)
    if (!s->map->items[i].directive && clang_equalCursors(s->map->items[i].cursor, kernel))
      return i;
  return MAP_NONE;
}

static void slice_release(struct slice *s)
{
  for (size_t i = 0; i < s->cap_words; i++)
    free(s->words[i]);
  free(s->words);
  free(s->kept);
  free(s->included);
  free(s->pasted);
  free(s->queue);
  free(s->holes);
  free(s->marks);
  free(s->missing);
  std_release(&s->std);
}

int slice_make(struct tu *tu, CXCursor kernel, struct kr_pkernel *k, struct kr_err *err)
{
  struct slice s = {.tu = tu, .k = k};
  struct kr_diags errors = {NULL, 0, 0, 0};
  char *why = NULL;
  int status = -1;
  s.map = map_of(tu);
  s.kept = kr_xcalloc(s.map->n_items + 1, sizeof *s.kept);
  s.pasted = kr_xcalloc(s.map->n_files + 1, sizeof *s.pasted);
  s.included = kr_xcalloc(s.map->n_headers + 1, sizeof *s.included);
  s.kernel = slice_find_kernel(&s, kernel);
  if (s.kernel == MAP_NONE || s.map->items[s.kernel].file != 0) {
    kr_err_set(err, "%s is not a definition at namespace scope of %s", k->name ? k->name : "kernel",
               tu->path);
    goto out;
  }
  if (!slice_is_balanced(&s.map->files[0], k->at.offset, k->at.offset + k->at.length)) {
    kr_err_set(err, "a conditional (#if) begins inside it and ends outside, or the reverse");
    goto out;
  }
  slice_keep(&s, s.kernel);
  // The head may begin with macros that left nothing in the AST.
  if (k->at.offset < s.map->items[s.kernel].begin)
    slice_tokens(&s, 0, k->at.offset, s.map->items[s.kernel].begin, false);
  if (k->is_template)
    slice_arguments(&s);
  slice_closure(&s);
  slice_usings(&s);
  slice_closure(&s);
  for (size_t i = 0; i < s.map->n_items; i++)
    if (s.map->items[i].directive && !s.map->items[i].name[0])
      s.kept[i] = true; // #pragma pack
  slice_errors(&s, &errors);
  if (s.missing) {
    kr_err_set(err, "%s", s.missing);
    goto out;
  }
  for (int all = 0; all < 2; all++) {
    struct kr_bytes before, after;
    kr_bytes_init(&before, KR_SOURCE_MAX);
    kr_bytes_init(&after, KR_SOURCE_MAX);
    slice_print(&s, all, &before, &after);
    char *first = kr_bytes_take(&before), *last = kr_bytes_take(&after);
    kr_bytes_release(&before);
    kr_bytes_release(&after);
    char *said = NULL;
    int bad = slice_check(&s, first, tu->src.data + k->at.offset, k->at.length, last, &errors,
                          &said, err);
    if (bad < 0) {
      free(first);
      free(last);
      goto out;
    }
    if (!bad) {
      k->slice_before = first;
      k->slice_after = last;
      break;
    }
    free(first);
    free(last);
    if (why)
      free(said);
    else
      why = said; // of the lean slice: the other one only adds to it
  }
  if (!k->slice_before) {
    kr_err_set(err, "%s", why);
    goto out;
  }
  slice_deps(&s);
  status = 0;
out:
  free(why);
  free(k->errors);
  k->errors = errors.items;
  k->n_errors = errors.n;
  slice_release(&s);
  return status;
}
