#include "tu.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"
#include "../evaluator/base/parts.h"
#include "unit.h"

// What clang's CUDA wrappers lack and real kernels use. Only declarations: the
// code is never generated from here. Templates stand for the overload sets, with
// the value not deduced, so that `__stcs(float *, 0)` converts as it does for nvcc.
static const char tu_extras[] =
    "#pragma once\n"
    "namespace kr_extra {\n"
    "template <typename T> struct id { typedef T type; };\n"
    "}\n"
    "#define KR_LOAD(name) template <typename T> __device__ T name(const T *);\n"
    "#define KR_STORE(name) \\\n"
    "  template <typename T> __device__ void name(T *, typename kr_extra::id<T>::type);\n"
    "KR_LOAD(__ldcg) KR_LOAD(__ldca) KR_LOAD(__ldcs) KR_LOAD(__ldlu) KR_LOAD(__ldcv)\n"
    "KR_STORE(__stwb) KR_STORE(__stcg) KR_STORE(__stcs) KR_STORE(__stwt)\n"
    "#undef KR_LOAD\n"
    "#undef KR_STORE\n";

static const char tu_extras_name[] = "kevin_clang_extras.h";

// --- the buffer handed to clang ---

static bool tu_only_blanks(const char *text, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++)
    if (text[i] != ' ' && text[i] != '\t')
      return false;
  return true;
}

// Moves three angle brackets, found in tokens first..last, to the front of the
// bytes they take up with the blanks between them.
static bool tu_join(char *buffer, const struct kr_token *first, const struct kr_token *last, char c)
{
  size_t begin = first->offset, end = last->offset + last->length;
  for (size_t i = begin; i < end; i++)
    if (buffer[i] != c && buffer[i] != ' ' && buffer[i] != '\t')
      return false;
  for (size_t i = begin; i < end; i++)
    buffer[i] = i < begin + 3 ? c : ' ';
  return true;
}

// How many of the tokens from toks[i] on are exactly three brackets `c`, written
// apart. 0 when they are not. One token `<<<` counts too.
static size_t tu_three(const char *text, const struct kr_token *toks, size_t i, size_t n, char c)
{
  size_t have = 0, used = 0;
  for (; i + used < n && have < 3; used++) {
    const struct kr_token *t = &toks[i + used];
    if (t->kind != KR_TOK_PUNCT || t->flags & (KR_TOK_SPLICED | KR_TOK_DIGRAPH))
      return 0;
    for (size_t k = 0; k < t->length; k++)
      if (text[t->offset + k] != c)
        return 0;
    if (used && !tu_only_blanks(text, t[-1].offset + t[-1].length, t->offset))
      return 0;
    have += t->length;
  }
  return have == 3 ? used : 0;
}

// nvcc takes `k<< <g, b>> >(x)`, clang does not. `<<` directly before `<` means
// nothing else in C++ but the name of an operator template, `operator<< <T>`.
static void tu_mend_launches(char *buffer, size_t len)
{
  size_t n = 0;
  struct kr_token *toks = kr_lex_all(buffer, len, false, &n);
  for (size_t i = 0; i + 1 < n; i++) {
    size_t open = tu_three(buffer, toks, i, n, '<');
    if (!open || (i && kr_token_is(buffer, toks[i - 1], "operator")))
      continue;
    // The first `>>>` outside brackets that a `(` follows closes it.
    long depth = 0;
    for (size_t k = i + open; k + 1 < n; k++) {
      if (kr_token_is(buffer, toks[k], "(") || kr_token_is(buffer, toks[k], "[") ||
          kr_token_is(buffer, toks[k], "{"))
        depth++;
      if (kr_token_is(buffer, toks[k], ")") || kr_token_is(buffer, toks[k], "]") ||
          kr_token_is(buffer, toks[k], "}"))
        depth--;
      if (depth < 0 || kr_token_is(buffer, toks[k], ";"))
        break;
      size_t close = depth ? 0 : tu_three(buffer, toks, k, n, '>');
      if (!close || k + close >= n || !kr_token_is(buffer, toks[k + close], "("))
        continue;
      if (open > 1)
        tu_join(buffer, &toks[i], &toks[i + open - 1], '<');
      if (close > 1)
        tu_join(buffer, &toks[k], &toks[k + close - 1], '>');
      i = k + close - 1;
      break;
    }
  }
  free(toks);
}

// --- parsing ---

static const char *tu_below(const char *path, const char *dir)
{
  size_t n = dir ? strlen(dir) : 0;
  return n && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static void tu_arg(struct tu *tu, size_t *cap, char *arg)
{
  KR_GROW(tu->args, tu->n_args, *cap);
  tu->args[tu->n_args++] = arg;
}

static char *tu_absolute(const char *path)
{
  char real[PATH_MAX];
  if (realpath(path, real))
    return kr_xstrdup(real);
  if (path[0] == '/' || !getcwd(real, sizeof real))
    return kr_xstrdup(path);
  return kr_xasprintf("%s/%s", real, path);
}

// Flags that mean something to clang's front end; the others (-arch,
// -use_fast_math, ...) are for those who generate code.
static bool tu_flag_passes(const char *flag)
{
  return !strncmp(flag, "-I", 2) || !strncmp(flag, "-D", 2) || !strncmp(flag, "-U", 2) ||
         !strncmp(flag, "-std=", 5);
}

// The nearest architecture that clang knows: it refuses the whole command line for
// one that came after it.
static const char *tu_arch(const char *arch)
{
  static const char *const known[] = {"sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62",
                                      "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87",
                                      "sm_89", "sm_90"};
  const char *digits = arch ? strchr(arch, '_') : NULL;
  int want = digits ? atoi(digits + 1) : 0;
  const char *best = known[sizeof known / sizeof *known - 1];
  if (want <= 0)
    return best;
  best = known[0];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (atoi(known[i] + 3) <= want)
      best = known[i];
  return best;
}

static void tu_first_header(struct tu *tu, const struct tu_setup *setup);

static void tu_command_line(struct tu *tu, const struct tu_setup *setup)
{
  size_t cap = 0;
  tu_first_header(tu, setup);
  tu_arg(tu, &cap, kr_xstrdup("-xcuda"));
  tu_arg(tu, &cap, kr_xstrdup("--cuda-device-only"));
  tu_arg(tu, &cap, kr_xasprintf("--cuda-gpu-arch=%s", tu_arch(setup->arch)));
  tu_arg(tu, &cap, kr_xasprintf("-resource-dir=%s", tu->resource_dir));
  tu_arg(tu, &cap, kr_xstrdup("-nocudalib"));
  // Without a library clang does not know the toolkit's version, and takes the
  // launch interface of CUDA 9 for what `<<<` calls; every launch is an error then.
  tu_arg(tu, &cap, kr_xstrdup("-Xclang"));
  tu_arg(tu, &cap, kr_xstrdup("-target-sdk-version=12.5"));
  tu_arg(tu, &cap, kr_xstrdup("-ferror-limit=0"));
  tu_arg(tu, &cap, kr_xstrdup("-Wno-everything"));
  if (tu->cuda_include) {
    tu_arg(tu, &cap, kr_xasprintf("--cuda-path=%s", setup->cuda_path));
    tu_arg(tu, &cap, kr_xasprintf("-isystem%s/cccl", tu->cuda_include));
    tu_arg(tu, &cap, kr_xstrdup("-include"));
    tu_arg(tu, &cap, kr_xasprintf("%s/%s", tu->cuda_include, tu_extras_name));
  } else {
    tu_arg(tu, &cap, kr_xstrdup("-nocudainc"));
    tu_arg(tu, &cap, kr_xasprintf("-isystem%s", tu->headers_dir));
    tu_arg(tu, &cap, kr_xstrdup("-include"));
    tu_arg(tu, &cap, kr_xasprintf("%s/cuda_runtime.h", tu->headers_dir));
  }
  bool std_given = false;
  for (size_t i = 0; i < setup->n_flags; i++)
    std_given |= !strncmp(setup->flags[i], "-std=", 5);
  if (!std_given)
    tu_arg(tu, &cap, kr_xstrdup("-std=c++17"));
  for (size_t i = 0; i < setup->n_flags; i++) {
    const char *flag = setup->flags[i];
    if (!strcmp(flag, "-include") && i + 1 < setup->n_flags) {
      i++;
      // A slice has what it needs of such a file in its own text.
      if (!setup->slice) {
        tu_arg(tu, &cap, kr_xstrdup(flag));
        tu_arg(tu, &cap, kr_xstrdup(setup->flags[i]));
      }
    } else if (tu_flag_passes(flag)) {
      tu_arg(tu, &cap, kr_xstrdup(flag));
    }
  }
}

// Names that configure the toolkit's headers and must be seen by them.
static bool tu_macro_is_for_headers(const char *name)
{
  static const char *const heads[] = {"_", "CUDA", "CUB", "THRUST", "CCCL", "NDEBUG"};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (!strncmp(name, heads[i], strlen(heads[i])))
      return true;
  return false;
}

// Macros of the command line reach clang's own first header, where nvcc reads no header
// at all; one called N or T breaks it. They are put aside while it is read.
static void tu_first_header(struct tu *tu, const struct tu_setup *setup)
{
  struct kr_bytes push, pop;
  struct kr_source src = {0};
  kr_bytes_init(&push, KR_SOURCE_MAX);
  kr_bytes_init(&pop, 1 << 20);
  for (size_t i = 0; i < setup->n_flags; i++) {
    const char *name = setup->flags[i] + 2;
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (strncmp(setup->flags[i], "-D", 2) || !len || tu_macro_is_for_headers(name))
      continue;
    kr_bytes_addf(&push, "#pragma push_macro(\"%.*s\")\n#undef %.*s\n", (int)len, name, (int)len,
                  name);
    kr_bytes_addf(&pop, "#pragma pop_macro(\"%.*s\")\n", (int)len, name);
  }
  if (push.len) {
    tu->first_path = tu->cuda_include
                         ? kr_xasprintf("%s/include/__clang_cuda_runtime_wrapper.h", tu->resource_dir)
                         : kr_xasprintf("%s/cuda_runtime.h", tu->headers_dir);
    if (!kr_source_read(&src, tu->first_path, NULL)) {
      kr_bytes_add(&push, src.data, src.len);
      kr_bytes_addc(&push, '\n');
      if (tu->cuda_include)
        tu->extras = kr_xasprintf("%s%s", tu_extras, pop.data); // the last one of ours
      else
        kr_bytes_add(&push, pop.data, pop.len);
      tu->first = kr_bytes_take(&push);
      kr_source_release(&src);
    }
  }
  kr_bytes_release(&push);
  kr_bytes_release(&pop);
}

// The main text and what is read in place of files of the toolkit.
static unsigned tu_unsaved(const struct tu *tu, struct CXUnsavedFile files[4], char *names[2])
{
  unsigned n = 0;
  names[0] = names[1] = NULL;
  if (tu->first) {
    files[n].Filename = tu->first_path;
    files[n].Contents = tu->first;
    files[n++].Length = strlen(tu->first);
  }
  files[n].Filename = tu->path;
  files[n].Contents = tu->buffer;
  files[n++].Length = tu->src.len;
  if (tu->cuda_include) {
    names[0] = kr_xasprintf("%s/%s", tu->cuda_include, tu_extras_name);
    files[n].Filename = names[0];
    files[n].Contents = tu->extras ? tu->extras : tu_extras;
    files[n].Length = strlen(files[n].Contents);
    n++;
    // Gone from the toolkit since 12.0, asked for by clang's wrapper.
    names[1] = kr_xasprintf("%s/texture_fetch_functions.h", tu->cuda_include);
    if (access(names[1], F_OK)) {
      files[n].Filename = names[1];
      files[n].Contents = "";
      files[n++].Length = 0;
    }
  }
  return n;
}

static void tu_take_text(struct tu *tu, const char *text, size_t len)
{
  if (tu->buffer)
    kr_source_release(&tu->src);
  free(tu->buffer);
  kr_source_from_text(&tu->src, tu->path, text, len);
  tu->buffer = kr_xmalloc(len + 1);
  memcpy(tu->buffer, text, len);
  tu->buffer[len] = '\0';
  tu_mend_launches(tu->buffer, len);
}

// One translator for libclang's status codes.
static const char *tu_code_text(int code)
{
  switch (code) {
  case CXError_Crashed:
    return "libclang crashed";
  case CXError_InvalidArguments:
    return "libclang refused the arguments";
  case CXError_ASTReadError:
    return "libclang could not read its own precompiled text";
  default:
    return "libclang failed";
  }
}

// The first parse of a unit whose text and command line are set.
static int tu_start(struct tu *tu, unsigned options, struct kr_err *err)
{
  // Preambles in memory: a killed process leaves no files behind.
  CXIndexOptions index = {.Size = sizeof index, .StorePreamblesInMemory = 1};
  tu->index = clang_createIndexWithOptions(&index);
  if (!tu->index)
    return kr_err_set(err, "libclang is older than 17");
  struct CXUnsavedFile files[4];
  char *names[2];
  unsigned n = tu_unsaved(tu, files, names);
  enum CXErrorCode code = clang_parseTranslationUnit2(
      tu->index, tu->path, (const char *const *)tu->args, (int)tu->n_args, files, n,
      CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing |
          CXTranslationUnit_PrecompiledPreamble | options,
      &tu->unit);
  free(names[0]);
  free(names[1]);
  if (code != CXError_Success || !tu->unit)
    return kr_err_set(err, "cannot parse %s: %s", tu->path, tu_code_text(code));
  tu->parses = 1;
  tu->file = clang_getFile(tu->unit, tu->path);
  return 0;
}

struct tu *tu_open(const struct tu_setup *setup, const char *path, const char *text, size_t len,
                   struct kr_err *err)
{
  struct tu *tu = kr_xcalloc(1, sizeof *tu);
  tu->given = kr_xstrdup(path);
  tu->path = tu_absolute(path);
  tu->project_dir = tu_absolute(setup->project_dir ? setup->project_dir : ".");
  const char *resource_dir = setup->resource_dir ? setup->resource_dir : KR_CLANG_RESOURCE_DIR;
  // Without links, as libclang gives the names of the headers in it.
  tu->resource_dir = realpath(resource_dir, NULL);
  if (!tu->resource_dir)
    tu->resource_dir = kr_xstrdup(resource_dir);
  tu->headers_dir = setup->headers_dir ? tu_absolute(setup->headers_dir) : kr_part_headers();
  if (!tu->headers_dir) {
    kr_err_set(err, "the device headers of kevin-rewrite are not there; install it again");
    tu_close(tu);
    return NULL;
  }
  if (setup->cuda_path) {
    // As clang builds it from --cuda-path, links and all: buffers that stand in
    // for its files are found by name.
    tu->cuda_include = kr_xasprintf("%s/include", setup->cuda_path);
    tu->cuda_real = tu_absolute(tu->cuda_include);
  }
  tu_command_line(tu, setup);
  tu_take_text(tu, text, len);
  if (tu_start(tu, setup->slice ? CXTranslationUnit_CreatePreambleOnFirstParse : 0, err)) {
    tu_close(tu);
    return NULL;
  }
  return tu;
}

struct tu *tu_open_like(const struct tu *like, const char *text, size_t len, struct kr_err *err)
{
  struct tu *tu = kr_xcalloc(1, sizeof *tu);
  tu->given = kr_xstrdup(like->given);
  tu->path = kr_xstrdup(like->path);
  tu->project_dir = kr_xstrdup(like->project_dir);
  tu->resource_dir = kr_xstrdup(like->resource_dir);
  tu->headers_dir = kr_xstrdup(like->headers_dir);
  tu->cuda_include = like->cuda_include ? kr_xstrdup(like->cuda_include) : NULL;
  tu->cuda_real = like->cuda_real ? kr_xstrdup(like->cuda_real) : NULL;
  tu->first = like->first ? kr_xstrdup(like->first) : NULL;
  tu->first_path = like->first_path ? kr_xstrdup(like->first_path) : NULL;
  tu->extras = like->extras ? kr_xstrdup(like->extras) : NULL;
  size_t cap = 0;
  for (size_t i = 0; i < like->n_args; i++) {
    bool file = !strcmp(like->args[i], "-include") && i + 1 < like->n_args;
    if (file && !tu_below(like->args[i + 1], like->cuda_include) &&
        !tu_below(like->args[i + 1], like->headers_dir))
      i++; // the user's: a slice has what it needs of it in its own text
    else
      tu_arg(tu, &cap, kr_xstrdup(like->args[i]));
  }
  tu_take_text(tu, text, len);
  if (tu_start(tu, CXTranslationUnit_CreatePreambleOnFirstParse, err)) {
    tu_close(tu);
    return NULL;
  }
  return tu;
}

int tu_reparse(struct tu *tu, const char *text, size_t len, struct kr_err *err)
{
  macros_free(tu->macros);
  tu->macros = NULL;
  tu->asked = NULL;
  tu_take_text(tu, text, len);
  struct CXUnsavedFile files[4];
  char *names[2];
  unsigned n = tu_unsaved(tu, files, names);
  int code = clang_reparseTranslationUnit(tu->unit, n, files, CXReparse_None);
  free(names[0]);
  free(names[1]);
  if (code) {
    // libclang allows nothing but disposal after this.
    clang_disposeTranslationUnit(tu->unit);
    tu->unit = NULL;
    return kr_err_set(err, "cannot parse %s again: %s", tu->path, tu_code_text(code));
  }
  tu->parses++;
  tu->file = clang_getFile(tu->unit, tu->path);
  return 0;
}

void tu_close(struct tu *tu)
{
  if (!tu)
    return;
  tu_close(tu->slice);
  facts_forget(tu->known);
  map_forget(tu->map);
  macros_free(tu->macros);
  if (tu->unit)
    clang_disposeTranslationUnit(tu->unit);
  if (tu->index)
    clang_disposeIndex(tu->index);
  if (tu->buffer)
    kr_source_release(&tu->src);
  for (size_t i = 0; i < tu->n_args; i++)
    free(tu->args[i]);
  free(tu->args);
  free(tu->buffer);
  free(tu->extras);
  free(tu->first);
  free(tu->first_path);
  free(tu->given);
  free(tu->path);
  free(tu->project_dir);
  free(tu->cuda_include);
  free(tu->cuda_real);
  free(tu->headers_dir);
  free(tu->resource_dir);
  free(tu);
}

// --- places ---

void tu_place(CXSourceLocation at, CXFile *file, size_t *offset)
{
  unsigned o = 0;
  clang_getFileLocation(at, file, NULL, NULL, &o);
  *offset = o;
}

bool tu_same_file(CXFile a, CXFile b)
{
  CXFileUniqueID id;
  if (a && a == b)
    return true;
  if (!a || !b || !clang_File_isEqual(a, b))
    return false;
  // Buffers that stand for files which do not exist all have the same identity, none.
  if (!clang_getFileUniqueID(a, &id) && (id.data[0] || id.data[1]))
    return true;
  char *x = tu_take(clang_getFileName(a)), *y = tu_take(clang_getFileName(b));
  bool same = !strcmp(x, y);
  free(x);
  free(y);
  return same;
}

bool tu_is_main(const struct tu *tu, CXFile file)
{
  return tu_same_file(file, tu->file);
}

bool tu_in_main(const struct tu *tu, CXCursor cursor)
{
  CXFile file = NULL;
  size_t offset;
  tu_place(clang_getCursorLocation(cursor), &file, &offset);
  return tu_is_main(tu, file);
}

bool tu_extent(CXCursor cursor, CXFile *file, struct kr_span *out)
{
  CXSourceRange range = clang_getCursorExtent(cursor);
  CXFile first = NULL, last = NULL;
  size_t begin, end;
  tu_place(clang_getRangeStart(range), &first, &begin);
  tu_place(clang_getRangeEnd(range), &last, &end);
  if (!first || !last || !tu_same_file(first, last) || end < begin)
    return false;
  *file = first;
  out->offset = begin;
  out->length = end - begin;
  return true;
}

bool tu_span(const struct tu *tu, CXCursor cursor, struct kr_span *out)
{
  CXFile file = NULL;
  return tu_extent(cursor, &file, out) && tu_is_main(tu, file);
}

char *tu_file_name(CXFile file)
{
  if (!file)
    return kr_xstrdup("");
  char *real = tu_take(clang_File_tryGetRealPathName(file));
  if (real[0])
    return real;
  free(real);
  return tu_take(clang_getFileName(file));
}

char *tu_file_shown(const struct tu *tu, CXFile file)
{
  char *name = tu_file_name(file);
  const char *below = tu_below(name, tu->project_dir);
  if (!below)
    return name;
  char *shown = kr_xstrdup(below);
  free(name);
  return shown;
}

bool tu_is_users(struct tu *tu, CXFile file)
{
  if (tu_is_main(tu, file))
    return true;
  if (!file)
    return false;
  if (file == tu->asked)
    return tu->asked_is_users;
  char *name = tu_file_name(file);
  bool others = tu_below(name, tu->cuda_include) || tu_below(name, tu->cuda_real) ||
                tu_below(name, tu->headers_dir) || tu_below(name, tu->resource_dir);
  if (!others) {
    CXSourceLocation at = clang_getLocationForOffset(tu->unit, file, 0);
    others = clang_Location_isInSystemHeader(at);
  }
  free(name);
  tu->asked = file;
  tu->asked_is_users = !others;
  return !others;
}

bool tu_in_users(struct tu *tu, CXCursor cursor)
{
  CXFile file = NULL;
  size_t offset;
  tu_place(clang_getCursorLocation(cursor), &file, &offset);
  return tu_is_users(tu, file);
}

const char *tu_file_text(const struct tu *tu, CXFile file, size_t *len)
{
  if (tu_is_main(tu, file)) {
    *len = tu->src.len;
    return tu->src.data;
  }
  *len = 0;
  return file ? clang_getFileContents(tu->unit, file, len) : NULL;
}

// --- cursors ---

char *tu_take(CXString s)
{
  const char *text = clang_getCString(s);
  char *copy = kr_xstrdup(text ? text : "");
  clang_disposeString(s);
  return copy;
}

char *tu_qualified(CXCursor c)
{
  char *name = tu_take(clang_getCursorSpelling(c));
  for (CXCursor up = clang_getCursorSemanticParent(c);
       !clang_Cursor_isNull(up) && !clang_isTranslationUnit(clang_getCursorKind(up)) &&
       !clang_isInvalid(clang_getCursorKind(up));
       up = clang_getCursorSemanticParent(up)) {
    if (clang_getCursorKind(up) == CXCursor_LinkageSpec || clang_Cursor_isAnonymous(up))
      continue;
    char *outer = tu_take(clang_getCursorSpelling(up));
    if (outer[0]) {
      char *joined = kr_xasprintf("%s::%s", outer, name);
      free(name);
      name = joined;
    }
    free(outer);
  }
  return name;
}

struct tu_visit {
  tu_visitor *visit;
  void *arg;
};

static enum CXChildVisitResult tu_visit_one(CXCursor cursor, CXCursor parent, CXClientData data)
{
  struct tu_visit *v = data;
  switch (v->visit(v->arg, cursor, parent)) {
  case 0:
    return CXChildVisit_Recurse;
  case 1:
    return CXChildVisit_Continue;
  default:
    return CXChildVisit_Break;
  }
}

bool tu_visit(CXCursor root, tu_visitor *visit, void *arg)
{
  struct tu_visit v = {visit, arg};
  return clang_visitChildren(root, tu_visit_one, &v) != 0;
}

struct tu_list {
  CXCursor *items;
  size_t n, cap;
};

static int tu_collect(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct tu_list *list = arg;
  KR_GROW(list->items, list->n, list->cap);
  list->items[list->n++] = cursor;
  return 1;
}

CXCursor *tu_children(CXCursor cursor, size_t *n)
{
  struct tu_list list = {NULL, 0, 0};
  tu_visit(cursor, tu_collect, &list);
  *n = list.n;
  return list.items;
}

static int tu_match_kind(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  return clang_getCursorKind(cursor) == *(enum CXCursorKind *)arg ? 2 : 1;
}

CXCursor *tu_params(CXCursor function, size_t *n)
{
  // libclang counts arguments of functions alone, not of templates.
  size_t all;
  CXCursor *kids = tu_children(function, &all);
  *n = 0;
  for (size_t i = 0; i < all; i++)
    if (clang_getCursorKind(kids[i]) == CXCursor_ParmDecl)
      kids[(*n)++] = kids[i];
  return kids;
}

bool tu_has_child(CXCursor cursor, enum CXCursorKind kind)
{
  return tu_visit(cursor, tu_match_kind, &kind);
}

bool tu_is_kernel(CXCursor function)
{
  return tu_has_child(function, CXCursor_CUDAGlobalAttr);
}

bool tu_is_device(CXCursor function)
{
  return tu_has_child(function, CXCursor_CUDADeviceAttr);
}

bool tu_is_host(CXCursor function)
{
  return tu_has_child(function, CXCursor_CUDAHostAttr);
}

// --- diagnostics ---

static void tu_diag(const struct tu *tu, CXDiagnostic diag, struct kr_diags *out)
{
  if (clang_getDiagnosticSeverity(diag) < CXDiagnostic_Error)
    return;
  char *text = tu_take(clang_getDiagnosticSpelling(diag));
  CXFile file = NULL;
  size_t offset;
  tu_place(clang_getDiagnosticLocation(diag), &file, &offset);
  if (tu_is_main(tu, file)) {
    size_t length = 0;
    if (clang_getDiagnosticNumRanges(diag)) {
      CXSourceRange range = clang_getDiagnosticRange(diag, 0);
      CXFile first = NULL, last = NULL;
      size_t begin, end;
      tu_place(clang_getRangeStart(range), &first, &begin);
      tu_place(clang_getRangeEnd(range), &last, &end);
      if (tu_is_main(tu, first) && tu_is_main(tu, last) && begin == offset && end > begin)
        length = end - begin;
    }
    kr_diags_add(out, KR_SEV_ERROR, offset, length, "%s", text);
  } else {
    char *name = tu_file_shown(tu, file);
    unsigned line = 0;
    clang_getFileLocation(clang_getDiagnosticLocation(diag), NULL, &line, NULL, NULL);
    if (file)
      kr_diags_add(out, KR_SEV_ERROR, SIZE_MAX, 0, "%s:%u: %s", name, line, text);
    else
      kr_diags_add(out, KR_SEV_ERROR, SIZE_MAX, 0, "%s", text);
    free(name);
  }
  free(text);
}

void tu_diags(const struct tu *tu, struct kr_diags *out)
{
  unsigned n = clang_getNumDiagnostics(tu->unit);
  for (unsigned i = 0; i < n; i++) {
    CXDiagnostic diag = clang_getDiagnostic(tu->unit, i);
    tu_diag(tu, diag, out);
    clang_disposeDiagnostic(diag);
  }
}
