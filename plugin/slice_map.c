#include "slice_map.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

enum { MAP_HASH = 4096 };

static size_t map_hash(const char *s)
{
  unsigned long h = 5381;
  for (; *s; s++)
    h = h * 33 + (unsigned char)*s;
  return h % MAP_HASH;
}

// --- files ---

// Headers of device code that a program includes by name and that NVRTC reads.
// What the user included may be a host header that brings one of them, and what
// they consist of is not for others to include.
static bool map_device_header(const char *rel)
{
  static const char *const names[] = {
      "cooperative_groups.h", "math_constants.h", "cuComplex.h", "mma.h", "curand_kernel.h",
      "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h",
      "cuda_awbarrier_primitives.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h",
      "cooperative_groups/memcpy_async.h", "cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h", "cuda_fp6.h",
      "cuda_fp4.h"};
  static const char *const folders[] = {"cuda/std/", "cuda/", "cub/block/", "cub/warp/", "cub/thread/"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(rel, names[i]))
      return true;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    size_t n = strlen(folders[i]);
    if (!strncmp(rel, folders[i], n) && rel[n] != '_' && !strchr(rel + n, '/'))
      return true;
  }
  return false;
}

static const char *map_below(const char *path, const char *dir)
{
  size_t n = dir ? strlen(dir) : 0;
  return n && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

// How a header of the toolkit is written in an #include, or NULL.
static const char *map_toolkit_name(const struct tu *tu, const char *path)
{
  const char *rel = map_below(path, tu->cuda_include);
  if (!rel)
    rel = map_below(path, tu->cuda_real);
  if (!rel)
    rel = map_below(path, tu->headers_dir);
  if (rel && !strncmp(rel, "cccl/", 5))
    rel += 5;
  return rel;
}

static void map_inclusion(CXFile file, CXSourceLocation *stack, unsigned n, CXClientData data)
{
  struct map *m = data;
  if (!file || map_file_of(m, file) != MAP_NONE || map_header_of(m, file) != MAP_NONE)
    return;
  if (tu_is_users(m->tu, file)) {
    KR_GROW(m->files, m->n_files, m->cap_files);
    struct map_file *f = &m->files[m->n_files++];
    *f = (struct map_file){.file = file, .parent = MAP_NONE};
    f->shown = tu_file_shown(m->tu, file);
    f->text = tu_file_text(m->tu, file, &f->len);
    if (!f->text)
      f->text = "";
    f->toks = kr_lex_all(f->text, f->len, false, &f->n_toks);
    return;
  }
  char *name = tu_file_name(file);
  const char *rel = map_toolkit_name(m->tu, name);
  KR_GROW(m->headers, m->n_headers, m->cap_headers);
  struct map_header *h = &m->headers[m->n_headers++];
  *h = (struct map_header){.file = file, .toolkit = rel != NULL, .implicit = true};
  // The innermost header on the way to the user's file that a slice can have.
  const char *best = rel && map_device_header(rel) ? rel : NULL;
  char *kept = best ? kr_xstrdup(best) : NULL;
  for (unsigned i = 0; i < n; i++) {
    CXFile by = NULL;
    size_t at;
    tu_place(stack[i], &by, &at);
    if (!by)
      break;
    if (tu_is_users(m->tu, by)) {
      h->implicit = false;
      break;
    }
    char *outer = tu_file_name(by);
    const char *outer_rel = map_toolkit_name(m->tu, outer);
    if (!kept && outer_rel && map_device_header(outer_rel))
      kept = kr_xstrdup(outer_rel);
    free(outer);
  }
  h->include = kept;
  free(name);
}

static void map_parent(CXFile file, CXSourceLocation *stack, unsigned n, CXClientData data)
{
  struct map *m = data;
  size_t index = map_file_of(m, file);
  if (index == MAP_NONE || !n || m->files[index].parent != MAP_NONE)
    return;
  CXFile by = NULL;
  size_t at;
  tu_place(stack[0], &by, &at);
  size_t parent = by ? map_file_of(m, by) : MAP_NONE;
  if (parent == MAP_NONE || parent == index)
    return;
  m->files[index].parent = parent;
  m->files[index].at = at;
}

size_t map_file_of(struct map *m, CXFile file)
{
  if (file && file == m->last_file)
    return m->last_index;
  for (size_t i = 0; i < m->n_files; i++)
    if (m->files[i].file == file || tu_same_file(m->files[i].file, file)) {
      m->last_file = file;
      m->last_index = i;
      return i;
    }
  return MAP_NONE;
}

size_t map_header_of(struct map *m, CXFile file)
{
  for (size_t i = 0; i < m->n_headers; i++)
    if (m->headers[i].file == file || tu_same_file(m->headers[i].file, file))
      return i;
  return MAP_NONE;
}

int map_compare(const struct map *m, size_t fa, size_t a, size_t fb, size_t b)
{
  while (fa != fb) {
    if (m->files[fa].depth > m->files[fb].depth) {
      a = m->files[fa].at;
      fa = m->files[fa].parent;
    } else if (m->files[fb].depth > m->files[fa].depth) {
      b = m->files[fb].at;
      fb = m->files[fb].parent;
    } else if (m->files[fa].parent == MAP_NONE || m->files[fb].parent == MAP_NONE) {
      // Files of -include stand before the main file, which is the first known.
      return fa == 0 ? 1 : fb == 0 ? -1 : fa < fb ? -1 : 1;
    } else {
      a = m->files[fa].at, fa = m->files[fa].parent;
      b = m->files[fb].at, fb = m->files[fb].parent;
    }
  }
  return a < b ? -1 : a > b;
}

size_t map_token_at(const struct map_file *f, size_t offset)
{
  size_t low = 0, high = f->n_toks ? f->n_toks - 1 : 0;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (f->toks[mid].offset < offset)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

// --- names ---

static void map_name_add(struct map *m, const char *name, size_t item)
{
  if (!name[0])
    return;
  KR_GROW(m->names, m->n_names, m->cap_names);
  size_t h = map_hash(name);
  m->names[m->n_names] = (struct map_name){kr_xstrdup(name), item, m->heads[h]};
  m->heads[h] = m->n_names++;
}

static size_t map_chain(const struct map_name *names, size_t at, const char *name)
{
  while (at != MAP_NONE && strcmp(names[at].name, name))
    at = names[at].next;
  return at;
}

size_t map_first(const struct map *m, const char *name)
{
  return map_chain(m->names, m->heads[map_hash(name)], name);
}

size_t map_first_macro(const struct map *m, const char *name)
{
  return map_chain(m->macros, m->macro_heads[map_hash(name)], name);
}

// --- declarations ---

bool map_is_function(enum CXCursorKind kind)
{
  return kind == CXCursor_FunctionDecl || kind == CXCursor_FunctionTemplate ||
         kind == CXCursor_CXXMethod || kind == CXCursor_Constructor ||
         kind == CXCursor_Destructor || kind == CXCursor_ConversionFunction;
}

bool map_host_only(struct map *m, CXCursor fn)
{
  bool device = tu_is_device(fn) || tu_is_kernel(fn);
  if (device)
    return false;
  if (tu_is_host(fn))
    return true;
  if (clang_CXXMethod_isVirtual(fn) || clang_CXXMethod_isDefaulted(fn) ||
      clang_CXXMethod_isDeleted(fn))
    return false;
  // libclang does not tell constexpr: it stands before the name, or in a
  // redeclaration of it, as a token.
  CXFile file = NULL;
  struct kr_span at;
  if (!tu_extent(fn, &file, &at))
    return false;
  size_t index = map_file_of(m, file), name_at;
  if (index == MAP_NONE)
    return false;
  CXFile name_file = NULL;
  tu_place(clang_getCursorLocation(fn), &name_file, &name_at);
  const struct map_file *f = &m->files[index];
  for (size_t i = map_token_at(f, at.offset); i < f->n_toks && f->toks[i].offset < name_at; i++) {
    if (kr_token_is(f->text, f->toks[i], "constexpr") ||
        kr_token_is(f->text, f->toks[i], "consteval"))
      return false;
    // A macro may say it; then what the macro is decides, and the user's macros
    // for it are kept whole.
    char word[128];
    if (f->toks[i].kind != KR_TOK_IDENTIFIER ||
        kr_token_text(f->text, f->toks[i], word, sizeof word) >= sizeof word)
      continue;
    for (size_t n = map_first(m, word); n != MAP_NONE;
         n = map_chain(m->names, m->names[n].next, word)) {
      const struct map_item *it = &m->items[m->names[n].item];
      if (!it->directive)
        continue;
      const struct map_file *g = &m->files[it->file];
      for (size_t k = map_token_at(g, it->begin); k < g->n_toks && g->toks[k].offset < it->end; k++)
        if (kr_token_is(g->text, g->toks[k], "constexpr"))
          return false;
    }
  }
  return true;
}

static bool map_from_macro(CXSourceLocation at)
{
  CXFile ef = NULL, sf = NULL;
  unsigned eo = 0, so = 0;
  clang_getExpansionLocation(at, &ef, NULL, NULL, &eo);
  clang_getSpellingLocation(at, &sf, NULL, NULL, &so);
  return eo != so || (ef && sf && !tu_same_file(ef, sf));
}

// Widens [begin, end) until its parentheses match: an end in a macro's argument
// lies inside the invocation.
static void map_balance(const struct map_file *f, size_t *begin, size_t *end)
{
  size_t first = map_token_at(f, *begin), last = map_token_at(f, *end);
  long depth = 0, low = 0;
  for (size_t i = first; i < last; i++) {
    depth += kr_token_is(f->text, f->toks[i], "(");
    depth -= kr_token_is(f->text, f->toks[i], ")");
    low = depth < low ? depth : low;
  }
  long missing = -low;
  while (missing > 0 && first > 0) {
    first--;
    missing += kr_token_is(f->text, f->toks[first], ")");
    missing -= kr_token_is(f->text, f->toks[first], "(");
  }
  if (low < 0 && first > 0 && f->toks[first - 1].kind == KR_TOK_IDENTIFIER)
    first--;
  depth -= low;
  while (depth > 0 && last + 1 < f->n_toks) {
    depth += kr_token_is(f->text, f->toks[last], "(");
    depth -= kr_token_is(f->text, f->toks[last], ")");
    last++;
  }
  if (first < f->n_toks && f->toks[first].offset < *begin)
    *begin = f->toks[first].offset;
  if (last > 0 && f->toks[last - 1].offset + f->toks[last - 1].length > *end)
    *end = f->toks[last - 1].offset + f->toks[last - 1].length;
}

static bool map_extent(struct map *m, CXCursor cursor, size_t *file, size_t *begin, size_t *end)
{
  CXSourceRange range = clang_getCursorExtent(cursor);
  CXSourceLocation from = clang_getRangeStart(range), to = clang_getRangeEnd(range);
  CXFile fa = NULL, fb = NULL;
  tu_place(from, &fa, begin);
  tu_place(to, &fb, end);
  if (!fa || !fb || !tu_same_file(fa, fb))
    return false;
  *file = map_file_of(m, fa);
  if (*file == MAP_NONE || *end < *begin)
    return false;
  const struct map_file *f = &m->files[*file];
  if (map_from_macro(from) || map_from_macro(to))
    map_balance(f, begin, end);
  // Attributes in brackets stand before what clang calls the beginning.
  size_t i = map_token_at(f, *begin);
  while (i >= 2 && kr_token_is(f->text, f->toks[i - 1], "]") &&
         kr_token_is(f->text, f->toks[i - 2], "]")) {
    size_t k = i - 2;
    while (k > 1 && !(kr_token_is(f->text, f->toks[k], "[") &&
                      kr_token_is(f->text, f->toks[k - 1], "[")))
      k--;
    if (k <= 1 && !(kr_token_is(f->text, f->toks[k], "[")))
      break;
    i = k - 1;
    *begin = f->toks[i].offset;
  }
  return true;
}

static int map_enumerator(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct map *m = arg;
  if (clang_getCursorKind(cursor) == CXCursor_EnumConstantDecl) {
    char *name = tu_take(clang_getCursorSpelling(cursor));
    map_name_add(m, name, m->n_items - 1);
    free(name);
  }
  return 1;
}

struct map_walk {
  struct map *m;
  size_t scope;
  // A linkage specification without braces: its extent is the item's.
  bool linkage;
  size_t file, begin, end;
};

static void map_item_add(struct map_walk *w, CXCursor cursor, enum CXCursorKind kind)
{
  struct map *m = w->m;
  struct map_item it = {.cursor = cursor, .kind = kind, .scope = w->scope};
  if (w->linkage) {
    it.file = w->file, it.begin = w->begin, it.end = w->end;
  } else if (!map_extent(m, cursor, &it.file, &it.begin, &it.end)) {
    return;
  }
  const struct map_file *f = &m->files[it.file];
  size_t next = map_token_at(f, it.end);
  if (next < f->n_toks && kr_token_is(f->text, f->toks[next], ";")) {
    it.end = f->toks[next].offset + 1;
  } else if (!(it.end > it.begin && f->text[it.end - 1] == ';')) {
    // A function's body needs none; a macro that made the declaration has its own.
    it.semicolon = !map_is_function(kind) &&
                   !map_from_macro(clang_getRangeEnd(clang_getCursorExtent(cursor)));
  }
  it.name = tu_take(clang_getCursorSpelling(cursor));
  it.usr = tu_take(clang_getCursorUSR(cursor));
  it.out_of_line = !clang_equalCursors(clang_getCursorSemanticParent(cursor),
                                       clang_getCursorLexicalParent(cursor));
  KR_GROW(m->items, m->n_items, m->cap_items);
  m->items[m->n_items++] = it;
  map_name_add(m, it.name, m->n_items - 1);
  if (kind == CXCursor_EnumDecl)
    tu_visit(cursor, map_enumerator, m);
}

static size_t map_scope_add(struct map *m, size_t parent, enum map_scope_kind kind, char *name)
{
  KR_GROW(m->scopes, m->n_scopes, m->cap_scopes);
  m->scopes[m->n_scopes] = (struct map_scope){parent, kind, name};
  return m->n_scopes++;
}

static int map_walk_one(void *arg, CXCursor cursor, CXCursor parent);

static void map_linkage(struct map_walk *w, CXCursor cursor)
{
  struct map_walk inner = *w;
  size_t file, begin, end;
  if (!map_extent(w->m, cursor, &file, &begin, &end))
    return;
  const struct map_file *f = &w->m->files[file];
  size_t i = map_token_at(f, begin);
  bool spelt = i + 2 < f->n_toks && kr_token_is(f->text, f->toks[i], "extern") &&
               f->toks[i + 1].kind == KR_TOK_STRING;
  if (spelt && !kr_token_is(f->text, f->toks[i + 2], "{")) {
    inner.linkage = true;
    inner.file = file, inner.begin = begin, inner.end = end;
  } else {
    inner.scope = map_scope_add(w->m, w->scope, MAP_EXTERN_C, kr_xstrdup(""));
  }
  tu_visit(cursor, map_walk_one, &inner);
}

static int map_walk_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct map_walk *w = arg;
  struct map *m = w->m;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  CXFile file = NULL;
  size_t at;
  if (kind == CXCursor_MacroDefinition) {
    if (clang_Cursor_isMacroBuiltin(cursor))
      return 1;
    tu_place(clang_getCursorLocation(cursor), &file, &at);
    size_t h = file && map_file_of(m, file) == MAP_NONE ? map_header_of(m, file) : MAP_NONE;
    if (h == MAP_NONE || !m->headers[h].include)
      return 1;
    KR_GROW(m->macros, m->n_macros, m->cap_macros);
    char *name = tu_take(clang_getCursorSpelling(cursor));
    size_t bucket = map_hash(name);
    m->macros[m->n_macros] = (struct map_name){name, h, m->macro_heads[bucket]};
    m->macro_heads[bucket] = m->n_macros++;
    return 1;
  }
  if (!clang_isDeclaration(kind))
    return 1;
  tu_place(clang_getCursorLocation(cursor), &file, &at);
  if (!file || map_file_of(m, file) == MAP_NONE)
    return 1;
  if (kind == CXCursor_Namespace) {
    struct map_walk inner = *w;
    inner.linkage = false;
    enum map_scope_kind sk = clang_Cursor_isAnonymous(cursor)         ? MAP_ANONYMOUS
                             : clang_Cursor_isInlineNamespace(cursor) ? MAP_INLINE_NAMESPACE
                                                                      : MAP_NAMESPACE;
    inner.scope = map_scope_add(m, w->scope, sk, tu_take(clang_getCursorSpelling(cursor)));
    tu_visit(cursor, map_walk_one, &inner);
    return 1;
  }
  if (kind == CXCursor_LinkageSpec) {
    map_linkage(w, cursor);
    return 1;
  }
  map_item_add(w, cursor, kind);
  return 1;
}

// --- directives ---

static void map_skipped(struct map *m)
{
  CXSourceRangeList *skipped = clang_getAllSkippedRanges(m->tu->unit);
  for (unsigned i = 0; skipped && i < skipped->count; i++) {
    CXFile file = NULL;
    size_t begin, end;
    tu_place(clang_getRangeStart(skipped->ranges[i]), &file, &begin);
    size_t index = file ? map_file_of(m, file) : MAP_NONE;
    if (index == MAP_NONE)
      continue;
    tu_place(clang_getRangeEnd(skipped->ranges[i]), &file, &end);
    KR_GROW(m->skips, m->n_skips, m->cap_skips);
    m->skips[m->n_skips++] = (struct map_skip){index, begin, end};
  }
  clang_disposeSourceRangeList(skipped);
}

static void map_directives(struct map *m, size_t file)
{
  const struct map_file *f = &m->files[file];
  for (size_t i = 0; i + 2 < f->n_toks; i++) {
    if (!(f->toks[i].flags & KR_TOK_DIRECTIVE_START))
      continue;
    bool define = kr_token_is(f->text, f->toks[i + 1], "define");
    bool undef = kr_token_is(f->text, f->toks[i + 1], "undef");
    bool pack = kr_token_is(f->text, f->toks[i + 1], "pragma") &&
                kr_token_is(f->text, f->toks[i + 2], "pack");
    if ((!define && !undef && !pack) || !(f->toks[i + 2].flags & KR_TOK_DIRECTIVE) ||
        f->toks[i + 2].flags & KR_TOK_DIRECTIVE_START)
      continue;
    size_t begin = f->toks[i].offset, last = i;
    while (last + 1 < f->n_toks && f->toks[last + 1].flags & KR_TOK_DIRECTIVE &&
           !(f->toks[last + 1].flags & KR_TOK_DIRECTIVE_START))
      last++;
    size_t end = f->toks[last].offset + f->toks[last].length;
    bool dead = false;
    for (size_t k = 0; k < m->n_skips && !dead; k++)
      dead = m->skips[k].file == file && begin > m->skips[k].begin && begin < m->skips[k].end;
    if (dead)
      continue;
    struct map_item it = {.directive = true, .undef = undef, .file = file, .begin = begin,
                          .end = end, .scope = MAP_NONE};
    char word[256];
    kr_token_text(f->text, f->toks[i + 2], word, sizeof word);
    it.name = kr_xstrdup(pack ? "" : word);
    it.usr = kr_xstrdup("");
    KR_GROW(m->items, m->n_items, m->cap_items);
    m->items[m->n_items++] = it;
    map_name_add(m, it.name, m->n_items - 1);
  }
}

struct map *map_of(struct tu *tu)
{
  if (tu->map && tu->map_parse == tu->parses)
    return tu->map;
  map_forget(tu->map);
  struct map *m = tu->map = kr_xcalloc(1, sizeof *m);
  tu->map_parse = tu->parses;
  m->tu = tu;
  m->heads = kr_xmalloc(MAP_HASH * sizeof *m->heads);
  m->macro_heads = kr_xmalloc(MAP_HASH * sizeof *m->macro_heads);
  for (size_t i = 0; i < MAP_HASH; i++)
    m->heads[i] = m->macro_heads[i] = MAP_NONE;
  map_inclusion(tu->file, NULL, 0, m); // the main file is number 0
  clang_getInclusions(tu->unit, map_inclusion, m);
  clang_getInclusions(tu->unit, map_parent, m);
  for (size_t i = 0; i < m->n_files; i++) {
    size_t steps = 0;
    for (size_t k = i; m->files[k].parent != MAP_NONE && steps < m->n_files; k = m->files[k].parent)
      steps++;
    m->files[i].depth = (unsigned)steps;
  }
  struct map_walk w = {.m = m, .scope = MAP_NONE};
  map_skipped(m);
  for (size_t i = 0; i < m->n_files; i++)
    map_directives(m, i);
  tu_visit(clang_getTranslationUnitCursor(tu->unit), map_walk_one, &w);
  return m;
}

void map_forget(struct map *m)
{
  if (!m)
    return;
  for (size_t i = 0; i < m->n_files; i++) {
    free(m->files[i].shown);
    free(m->files[i].toks);
  }
  for (size_t i = 0; i < m->n_headers; i++)
    free(m->headers[i].include);
  for (size_t i = 0; i < m->n_scopes; i++)
    free(m->scopes[i].name);
  for (size_t i = 0; i < m->n_items; i++) {
    free(m->items[i].name);
    free(m->items[i].usr);
  }
  for (size_t i = 0; i < m->n_names; i++)
    free(m->names[i].name);
  for (size_t i = 0; i < m->n_macros; i++)
    free(m->macros[i].name);
  free(m->files);
  free(m->skips);
  free(m->headers);
  free(m->scopes);
  free(m->items);
  free(m->names);
  free(m->macros);
  free(m->heads);
  free(m->macro_heads);
  free(m);
}
