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

#include "tu.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "slice_map.h"
#include "slice_std.h"

// Text of a kept piece that is left out, or for `begin == end` a place where the
// slice says what the file leaves to the compiler.
struct slice_hole {
  size_t file, begin, end;
};

struct slice {
  struct tu *tu;
  struct map *map; // the unit's
  struct kr_pkernel *k;
  size_t kernel;  // its item
  bool *kept;     // by item
  bool *included; // by header
  size_t *queue, n_queue, cap_queue;
  struct slice_hole *holes;
  size_t n_holes, cap_holes;
  struct slice_hole *marks; // functions for no side in particular
  size_t n_marks, cap_marks;
  struct std_use std;
  char **words; // identifiers of what was kept, for using-declarations; a hash set
  size_t n_words, cap_words;
  bool all_macros, templates;
  bool *pasted; // by file: included in the middle of a kept piece
  char *missing; // the first thing that no slice can have; owned
};

// --- words ---

static size_t slice_hash(const char *s)
{
  size_t h = 5381;
  for (; *s; s++)
    h = h * 33 + (unsigned char)*s;
  return h;
}

static bool slice_has_word(const struct slice *s, const char *word)
{
  if (!s->cap_words)
    return false;
  for (size_t i = slice_hash(word) % s->cap_words; s->words[i]; i = (i + 1) % s->cap_words)
    if (!strcmp(s->words[i], word))
      return true;
  return false;
}

static void slice_put_word(char **table, size_t cap, char *word)
{
  size_t i = slice_hash(word) % cap;
  while (table[i])
    i = (i + 1) % cap;
  table[i] = word;
}

// Returns false when the word was there already.
static bool slice_add_word(struct slice *s, const char *word)
{
  if (slice_has_word(s, word))
    return false;
  if (2 * (s->n_words + 1) > s->cap_words) {
    size_t cap = s->cap_words ? 2 * s->cap_words : 512;
    char **table = kr_xcalloc(cap, sizeof *table);
    for (size_t i = 0; i < s->cap_words; i++)
      if (s->words[i])
        slice_put_word(table, cap, s->words[i]);
    free(s->words);
    s->words = table;
    s->cap_words = cap;
  }
  slice_put_word(s->words, s->cap_words, kr_xstrdup(word));
  s->n_words++;
  return true;
}

// --- the closure ---

static void slice_keep(struct slice *s, size_t item)
{
  const struct map_item *it = &s->map->items[item];
  if (s->kept[item])
    return;
  if (!it->directive && map_is_function(it->kind) && item != s->kernel &&
      map_host_only(s->map, it->cursor))
    return;
  s->kept[item] = true;
  KR_GROW(s->queue, s->n_queue, s->cap_queue);
  s->queue[s->n_queue++] = item;
}

static void slice_miss(struct slice *s, const char *what, const char *where)
{
  if (!s->missing)
    s->missing = kr_xasprintf("needs `%s` of %s, which device code of its own cannot have", what, where);
}

// The outermost declaration around `d` below the translation unit and
// namespaces; `in_std` tells whether that is a member of namespace std.
static CXCursor slice_outermost(CXCursor d, bool *in_std)
{
  *in_std = false;
  CXCursor top = d;
  for (CXCursor c = d; !clang_Cursor_isNull(c);) {
    CXCursor up = clang_getCursorSemanticParent(c);
    enum CXCursorKind kind = clang_getCursorKind(up);
    if (clang_Cursor_isNull(up) || clang_isTranslationUnit(kind) || clang_isInvalid(kind))
      break;
    if (kind == CXCursor_Namespace) {
      char *name = tu_take(clang_getCursorSpelling(up));
      *in_std |= !strcmp(name, "std");
      free(name);
    } else if (kind != CXCursor_LinkageSpec) {
      top = up;
    }
    c = up;
  }
  return top;
}

// Something of a header that is not the user's. False when no slice can have it.
static bool slice_reach_header(struct slice *s, CXCursor d, CXFile file)
{
  size_t h = map_header_of(s->map, file);
  if (h == MAP_NONE)
    return true; // built in
  struct map_header *header = &s->map->headers[h];
  bool in_std;
  CXCursor top = slice_outermost(d, &in_std);
  if (header->include) {
    s->included[h] = true;
    return true;
  }
  char *name = tu_take(clang_getCursorSpelling(top));
  char *path = tu_file_name(file);
  const char *base = strrchr(path, '/');
  bool ok = true;
  // What the compiler brings by itself NVRTC has as well, but for namespace std.
  bool clang_own = !strncmp(path, s->tu->resource_dir, strlen(s->tu->resource_dir));
  if (!name[0] || name[0] == '(' || !strncmp(name, "operator", 8))
    ok = true;
  else if (in_std && base && !strcmp(base, "/type_traits"))
    std_add_trait(&s->std, name);
  else if (in_std || !header->toolkit)
    ok = std_add(&s->std, name, in_std) || !strncmp(name, "__", 2) || (clang_own && !in_std);
  else if (header->toolkit && !header->implicit)
    ok = false;
  if (!ok) {
    char *full = kr_xstrdup(name);
    for (CXCursor up = clang_getCursorSemanticParent(top);
         clang_getCursorKind(up) == CXCursor_Namespace; up = clang_getCursorSemanticParent(up)) {
      char *outer = tu_take(clang_getCursorSpelling(up));
      char *longer = kr_xasprintf("%s::%s", outer, full);
      // Inline namespaces of libraries are not what a user would write.
      if (!clang_Cursor_isInlineNamespace(up)) {
        free(full);
        full = kr_xstrdup(longer);
      }
      free(longer);
      free(outer);
    }
    char *shown = kr_xasprintf("<%s>", base ? base + 1 : path);
    slice_miss(s, full, shown);
    free(full);
    free(shown);
  }
  free(name);
  free(path);
  return ok;
}

// Keeps the items of a file that hold a place.
static void slice_keep_at(struct slice *s, size_t file, size_t at)
{
  for (size_t i = 0; i < s->map->n_items; i++) {
    const struct map_item *it = &s->map->items[i];
    if (!it->directive && it->file == file && at >= it->begin && at < it->end)
      slice_keep(s, i);
  }
}

static void slice_reach(struct slice *s, CXCursor d)
{
  enum CXCursorKind kind = clang_getCursorKind(d);
  if (clang_Cursor_isNull(d) || clang_isInvalid(kind) || kind == CXCursor_Namespace ||
      kind == CXCursor_ParmDecl || kind == CXCursor_TemplateTypeParameter ||
      kind == CXCursor_NonTypeTemplateParameter)
    return;
  if (kind == CXCursor_OverloadedDeclRef) {
    unsigned n = clang_getNumOverloadedDecls(d);
    for (unsigned i = 0; i < n; i++) {
      // Operators of other people's types are found with the types, if at all.
      CXCursor one = clang_getOverloadedDecl(d, i);
      char *name = tu_take(clang_getCursorSpelling(one));
      CXFile home = NULL;
      size_t home_at;
      tu_place(clang_getCursorLocation(one), &home, &home_at);
      if (strncmp(name, "operator", 8) || (home && map_file_of(s->map, home) != MAP_NONE))
        slice_reach(s, one);
      free(name);
    }
    return;
  }
  CXFile file = NULL;
  size_t at;
  tu_place(clang_getCursorLocation(d), &file, &at);
  if (!file)
    return;
  size_t index = map_file_of(s->map, file);
  if (index == MAP_NONE)
    slice_reach_header(s, d, file);
  else
    slice_keep_at(s, index, at);
}

// Everything of that name, where the AST does not say which.
static void slice_reach_name(struct slice *s, const char *name)
{
  for (size_t n = map_first(s->map, name); n != MAP_NONE; n = s->map->names[n].next)
    if (!strcmp(s->map->names[n].name, name) && !s->map->items[s->map->names[n].item].out_of_line)
      slice_keep(s, s->map->names[n].item);
}

static bool slice_is_conditional(const struct map_file *f, size_t token)
{
  static const char *const words[] = {"if", "ifdef", "ifndef", "elif", "else", "endif"};
  if (!(f->toks[token].flags & KR_TOK_DIRECTIVE_START) || token + 1 >= f->n_toks)
    return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (kr_token_is(f->text, f->toks[token + 1], words[i]))
      return true;
  return false;
}

static void slice_hole_add(struct slice *s, size_t file, size_t begin, size_t end)
{
  if (begin >= end)
    return;
  KR_GROW(s->holes, s->n_holes, s->cap_holes);
  s->holes[s->n_holes++] = (struct slice_hole){file, begin, end};
}

// Whether every conditional of a text begins and ends in it.
static bool slice_is_balanced(const struct map_file *f, size_t begin, size_t end)
{
  long depth = 0;
  for (size_t i = map_token_at(f, begin); i < f->n_toks && f->toks[i].offset < end; i++) {
    if (!slice_is_conditional(f, i))
      continue;
    bool opens = !kr_token_is(f->text, f->toks[i + 1], "endif");
    bool goes_on = kr_token_is(f->text, f->toks[i + 1], "else") ||
                   kr_token_is(f->text, f->toks[i + 1], "elif");
    if (goes_on ? depth == 0 : !opens && depth-- == 0)
      return false;
    depth += opens && !goes_on;
  }
  return depth == 0;
}

// A piece that begins or ends inside a conditional: the branch that was taken is
// written, without the directives.
static void slice_resolve(struct slice *s, size_t file, size_t begin, size_t end)
{
  const struct map_file *f = &s->map->files[file];
  if (slice_is_balanced(f, begin, end))
    return;
  for (size_t i = map_token_at(f, begin); i < f->n_toks && f->toks[i].offset < end; i++) {
    if (!slice_is_conditional(f, i))
      continue;
    size_t from = f->toks[i].offset;
    while (i + 1 < f->n_toks && f->toks[i + 1].flags & KR_TOK_DIRECTIVE &&
           !(f->toks[i + 1].flags & KR_TOK_DIRECTIVE_START))
      i++;
    slice_hole_add(s, file, from, f->toks[i].offset + f->toks[i].length);
  }
  for (size_t i = 0; i < s->map->n_skips; i++) {
    const struct map_skip *k = &s->map->skips[i];
    if (k->file == file && k->begin < end && begin < k->end)
      slice_hole_add(s, file, k->begin > begin ? k->begin : begin, k->end < end ? k->end : end);
  }
}

static void slice_hole(struct slice *s, CXCursor member)
{
  CXFile file = NULL;
  struct kr_span at;
  if (!tu_extent(member, &file, &at))
    return;
  size_t index = map_file_of(s->map, file);
  if (index == MAP_NONE)
    return;
  const struct map_file *f = &s->map->files[index];
  size_t end = at.offset + at.length;
  size_t next = map_token_at(f, end);
  // A declaration, or `= 0`: up to its semicolon. A body ends at its brace.
  if (next < f->n_toks && kr_token_is(f->text, f->toks[next], ";"))
    end = f->toks[next].offset + 1;
  // Conditionals stay: one may begin before the member or end after it.
  size_t begin = at.offset;
  for (size_t i = map_token_at(f, begin); i < f->n_toks && f->toks[i].offset < end; i++) {
    if (!slice_is_conditional(f, i))
      continue;
    slice_hole_add(s, index, begin, f->toks[i].offset);
    while (i + 1 < f->n_toks && f->toks[i + 1].flags & KR_TOK_DIRECTIVE &&
           !(f->toks[i + 1].flags & KR_TOK_DIRECTIVE_START))
      i++;
    begin = f->toks[i].offset + f->toks[i].length;
  }
  slice_hole_add(s, index, begin, end);
}

// NVRTC takes a function without a side for host code and refuses it, constexpr
// and virtual ones too; these are kept, and get both sides.
static void slice_mark(struct slice *s, CXCursor fn)
{
  CXFile file = NULL;
  struct kr_span at;
  if (tu_is_device(fn) || tu_is_host(fn) || tu_is_kernel(fn) || !tu_extent(fn, &file, &at))
    return;
  size_t index = map_file_of(s->map, file), name_at;
  if (index == MAP_NONE)
    return;
  const struct map_file *f = &s->map->files[index];
  tu_place(clang_getCursorLocation(fn), &file, &name_at);
  for (size_t i = map_token_at(f, at.offset); i < f->n_toks && f->toks[i].offset < name_at; i++)
    if (kr_token_is(f->text, f->toks[i], "constexpr") ||
        kr_token_is(f->text, f->toks[i], "consteval") || kr_token_is(f->text, f->toks[i], "virtual")) {
      KR_GROW(s->marks, s->n_marks, s->cap_marks);
      s->marks[s->n_marks++] = (struct slice_hole){index, f->toks[i].offset, f->toks[i].offset};
      return;
    }
}

static int slice_see(void *arg, CXCursor cursor, CXCursor parent)
{
  struct slice *s = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  enum CXCursorKind around = clang_getCursorKind(parent);
  bool in_class = around == CXCursor_ClassDecl || around == CXCursor_StructDecl ||
                  around == CXCursor_UnionDecl || around == CXCursor_ClassTemplate ||
                  around == CXCursor_ClassTemplatePartialSpecialization;
  if (in_class && map_is_function(kind) && map_host_only(s->map, cursor)) {
    slice_hole(s, cursor);
    return 1;
  }
  if (in_class && map_is_function(kind))
    slice_mark(s, cursor);
  if (kind == CXCursor_FriendDecl) {
    size_t n = 0;
    CXCursor *friends = tu_children(cursor, &n);
    bool host = n && map_is_function(clang_getCursorKind(friends[0])) &&
                map_host_only(s->map, friends[0]);
    free(friends);
    if (host) {
      slice_hole(s, cursor);
      return 1;
    }
  }
  if (kind == CXCursor_EnumDecl)
    slice_reach(s, clang_getTypeDeclaration(clang_getEnumDeclIntegerType(cursor)));
  if (kind == CXCursor_OverloadedDeclRef) {
    slice_reach(s, cursor);
    return 0;
  }
  if (!clang_isDeclaration(kind)) {
    CXCursor ref = clang_getCursorReferenced(cursor);
    if (!clang_Cursor_isNull(ref)) {
      slice_reach(s, ref);
    } else if (kind == CXCursor_DeclRefExpr || kind == CXCursor_CallExpr) {
      char *name = tu_take(clang_getCursorSpelling(cursor));
      if (name[0])
        slice_reach_name(s, name);
      free(name);
    }
  }
  return 0;
}

// Expressions of attributes are not in libclang's tree.
static bool slice_is_attribute(const char *word)
{
  static const char *const words[] = {"__launch_bounds__", "__align__",     "alignas",
                                      "__attribute__",     "__cluster_dims__", "__maxnreg__",
                                      "__block_size__"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], word))
      return true;
  return false;
}

static void slice_keep_macros(struct slice *s, const char *name)
{
  for (size_t n = map_first(s->map, name); n != MAP_NONE; n = s->map->names[n].next)
    if (!strcmp(s->map->names[n].name, name) && s->map->items[s->map->names[n].item].directive)
      slice_keep(s, s->map->names[n].item);
  for (size_t n = map_first_macro(s->map, name); n != MAP_NONE; n = s->map->macros[n].next)
    if (!strcmp(s->map->macros[n].name, name))
      s->included[s->map->macros[n].item] = true;
}

static size_t slice_past_hole(const struct slice *s, size_t file, size_t offset)
{
  for (size_t i = 0; i < s->n_holes; i++)
    if (s->holes[i].file == file && offset >= s->holes[i].begin && offset < s->holes[i].end)
      return s->holes[i].end;
  return offset;
}

// The user's file that the directive of a token includes, MAP_NONE when it is no
// #include or one of somebody else's.
static size_t slice_included_file(const struct map *m, size_t file, size_t token)
{
  const struct map_file *f = &m->files[file];
  if (!(f->toks[token].flags & KR_TOK_DIRECTIVE_START) || token + 2 >= f->n_toks ||
      !kr_token_is(f->text, f->toks[token + 1], "include"))
    return MAP_NONE;
  size_t end = f->toks[token + 2].offset + f->toks[token + 2].length;
  for (size_t i = 0; i < m->n_files; i++)
    if (m->files[i].parent == file && m->files[i].at >= f->toks[token].offset && m->files[i].at <= end)
      return i;
  return MAP_NONE;
}

// What the tokens of a kept piece name that the AST does not show.
static void slice_tokens(struct slice *s, size_t file, size_t begin, size_t end, bool directive)
{
  const struct map_file *f = &s->map->files[file];
  long attribute = 0; // depth of brackets of an attribute
  bool expect = false;
  for (size_t i = map_token_at(f, begin); i < f->n_toks && f->toks[i].offset < end; i++) {
    struct kr_token t = f->toks[i];
    if (slice_past_hole(s, file, t.offset) != t.offset)
      continue;
    size_t pasted = slice_included_file(s->map, file, i);
    if (pasted != MAP_NONE && !s->pasted[pasted]) {
      s->pasted[pasted] = true;
      slice_tokens(s, pasted, 0, s->map->files[pasted].len, false);
    }
    if (directive && t.kind == KR_TOK_PUNCT &&
        (kr_token_is(f->text, t, "##") || kr_token_is(f->text, t, "%:%:")))
      s->all_macros = true;
    if (expect || attribute) {
      attribute += kr_token_is(f->text, t, "(") - kr_token_is(f->text, t, ")");
      expect = false;
    }
    if (t.kind != KR_TOK_IDENTIFIER)
      continue;
    char word[256];
    if (kr_token_text(f->text, t, word, sizeof word) >= sizeof word)
      continue;
    expect = expect || slice_is_attribute(word);
    // The AST looks through the using-declarations that fill namespace std.
    if (i > 1 && kr_token_is(f->text, f->toks[i - 1], "::") &&
        kr_token_is(f->text, f->toks[i - 2], "std"))
      std_add(&s->std, word, true);
    if (attribute > 0)
      slice_reach_name(s, word);
    if (!slice_add_word(s, word))
      continue;
    slice_keep_macros(s, word);
    if (map_first(s->map, word) == MAP_NONE)
      std_add_macro(&s->std, word);
  }
}

// Declarations that belong to a kept one.
static void slice_mates(struct slice *s, size_t item)
{
  const struct map_item *it = &s->map->items[item];
  for (size_t i = 0; i < s->map->n_items; i++) {
    const struct map_item *o = &s->map->items[i];
    if (i == item || o->directive || s->kept[i])
      continue;
    // Declared again, or in one text with it.
    if (it->usr[0] && !strcmp(it->usr, o->usr)) {
      slice_keep(s, i);
      continue;
    }
    if (it->file == o->file && it->begin < o->end && o->begin < it->end) {
      slice_keep(s, i);
      continue;
    }
    CXCursor of = clang_getNullCursor();
    if (o->out_of_line)
      of = clang_getCursorSemanticParent(o->cursor);
    else
      of = clang_getSpecializedCursorTemplate(o->cursor);
    if (clang_Cursor_isNull(of))
      continue;
    CXFile file = NULL;
    size_t at;
    tu_place(clang_getCursorLocation(of), &file, &at);
    if (file && map_file_of(s->map, file) == it->file && at >= it->begin && at < it->end)
      slice_keep(s, i);
  }
}

static bool slice_is_template(enum CXCursorKind kind)
{
  return kind == CXCursor_FunctionTemplate || kind == CXCursor_ClassTemplate ||
         kind == CXCursor_ClassTemplatePartialSpecialization;
}

static void slice_closure(struct slice *s)
{
  while (s->n_queue) {
    size_t item = s->queue[--s->n_queue];
    // Copied: keeping others may not move it, but its file's tokens are wanted.
    struct map_item it = s->map->items[item];
    if (!it.directive) {
      if (item != s->kernel)
        slice_resolve(s, it.file, it.begin, it.end);
      if (map_is_function(it.kind))
        slice_mark(s, it.cursor);
      tu_visit(it.cursor, slice_see, s);
      slice_mates(s, item);
      if (it.kind == CXCursor_EnumDecl)
        slice_reach(s, clang_getTypeDeclaration(clang_getEnumDeclIntegerType(it.cursor)));
      // Operators of templates are found when these are instantiated.
      if (slice_is_template(it.kind) && !s->templates) {
        s->templates = true;
        for (size_t i = 0; i < s->map->n_items; i++)
          if (!s->map->items[i].directive && map_is_function(s->map->items[i].kind) &&
              !strncmp(s->map->items[i].name, "operator", 8) && !s->map->items[i].out_of_line &&
              tu_is_device(s->map->items[i].cursor))
            slice_keep(s, i);
      }
    }
    slice_tokens(s, it.file, it.begin, it.end, it.directive);
    if (s->all_macros) {
      s->all_macros = false;
      for (size_t i = 0; i < s->map->n_items; i++)
        if (s->map->items[i].directive)
          slice_keep(s, i);
    }
  }
}

// Whether a namespace has something in the slice.
static bool slice_namespace_is_there(struct slice *s, const char *name)
{
  for (size_t i = 0; i < s->map->n_items; i++) {
    if (!s->kept[i] || s->map->items[i].directive)
      continue;
    for (size_t k = s->map->items[i].scope; k != MAP_NONE; k = s->map->scopes[k].parent)
      if (!strcmp(s->map->scopes[k].name, name))
        return true;
  }
  return false;
}

static bool slice_header_is_there(struct slice *s, CXFile file)
{
  size_t h = map_header_of(s->map, file);
  if (h == MAP_NONE || !s->map->headers[h].include)
    return false;
  for (size_t i = 0; i < s->map->n_headers; i++)
    if (s->included[i] && !strcmp(s->map->headers[i].include, s->map->headers[h].include))
      return true;
  return false;
}

// using-directives and using-declarations are nobody's referents: they stay when
// what they name is there.
static void slice_usings(struct slice *s)
{
  for (size_t i = 0; i < s->map->n_items; i++) {
    const struct map_item *it = &s->map->items[i];
    if (it->directive || s->kept[i] ||
        (it->kind != CXCursor_UsingDirective && it->kind != CXCursor_UsingDeclaration))
      continue;
    if (it->kind == CXCursor_UsingDeclaration && !slice_has_word(s, it->name))
      continue;
    size_t n = 0;
    CXCursor *parts = tu_children(it->cursor, &n);
    bool keep = false;
    for (size_t k = 0; k < n && !keep; k++) {
      enum CXCursorKind kind = clang_getCursorKind(parts[k]);
      CXCursor ref = clang_getCursorReferenced(parts[k]);
      if (kind == CXCursor_OverloadedDeclRef && clang_getNumOverloadedDecls(parts[k]))
        ref = clang_getOverloadedDecl(parts[k], 0);
      if (clang_Cursor_isNull(ref))
        continue;
      CXFile file = NULL;
      size_t at;
      tu_place(clang_getCursorLocation(ref), &file, &at);
      char *name = tu_take(clang_getCursorSpelling(ref));
      if (it->kind == CXCursor_UsingDirective) {
        bool std_there = false;
        for (size_t w = 0; w < s->std.n; w++)
          std_there |= !strncmp(s->std.items[w], "std::", 5);
        keep = !strcmp(name, "std") ? std_there
                                    : slice_namespace_is_there(s, name) || slice_header_is_there(s, file);
      } else if (clang_getCursorKind(ref) != CXCursor_Namespace) {
        size_t index = file ? map_file_of(s->map, file) : MAP_NONE;
        bool in_std;
        slice_outermost(ref, &in_std);
        keep = index != MAP_NONE || slice_header_is_there(s, file) ||
               (in_std && std_add(&s->std, name, true));
        if (keep && index != MAP_NONE)
          slice_keep_at(s, index, at);
      }
      free(name);
    }
    free(parts);
    if (keep)
      slice_keep(s, i);
  }
}

// --- printing ---

static const struct map *slice_order_map; // for qsort

static int slice_order(const void *a, const void *b)
{
  const struct map_item *x = &slice_order_map->items[*(const size_t *)a];
  const struct map_item *y = &slice_order_map->items[*(const size_t *)b];
  int c = map_compare(slice_order_map, x->file, x->begin, y->file, y->begin);
  return c ? c : x->end < y->end ? 1 : x->end > y->end ? -1 : 0;
}

struct slice_print {
  struct slice *s;
  struct kr_bytes *out;
  size_t scope; // open now
  size_t file;
  unsigned line; // that the next line of the output has, in `file`; 0: unknown
};

static size_t slice_depth(const struct map *m, size_t scope)
{
  size_t n = 0;
  for (; scope != MAP_NONE; scope = m->scopes[scope].parent)
    n++;
  return n;
}

static bool slice_same_scope(const struct map *m, size_t a, size_t b)
{
  while (a != b) {
    if (a == MAP_NONE || b == MAP_NONE)
      return false;
    if (m->scopes[a].kind != m->scopes[b].kind || strcmp(m->scopes[a].name, m->scopes[b].name))
      return false;
    a = m->scopes[a].parent;
    b = m->scopes[b].parent;
  }
  return true;
}

static void slice_open(struct slice_print *p, size_t scope)
{
  const struct map_scope *sc = &p->s->map->scopes[scope];
  switch (sc->kind) {
  case MAP_NAMESPACE:
    kr_bytes_addf(p->out, "namespace %s {\n", sc->name);
    break;
  case MAP_INLINE_NAMESPACE:
    kr_bytes_addf(p->out, "inline namespace %s {\n", sc->name);
    break;
  case MAP_ANONYMOUS:
    kr_bytes_adds(p->out, "namespace {\n");
    break;
  case MAP_EXTERN_C:
    kr_bytes_adds(p->out, "extern \"C\" {\n");
    break;
  }
}

static void slice_enter(struct slice_print *p, size_t scope)
{
  const struct map *m = p->s->map;
  size_t have = slice_depth(m, p->scope), want = slice_depth(m, scope);
  // The deepest scope that both have.
  size_t common = scope, n = want, at = p->scope, closed = 0;
  for (; n > have; n--)
    common = m->scopes[common].parent;
  for (; have > n; have--, closed++)
    at = m->scopes[at].parent;
  while (!slice_same_scope(m, common, at)) {
    common = m->scopes[common].parent;
    at = m->scopes[at].parent;
    n--, closed++;
  }
  if (!closed && n == want)
    return;
  p->line = 0;
  for (size_t i = 0; i < closed; i++)
    kr_bytes_adds(p->out, "}\n");
  for (; n < want; n++) {
    size_t k = scope;
    for (size_t i = want; i > n + 1; i--)
      k = m->scopes[k].parent;
    slice_open(p, k);
  }
  p->scope = scope;
}

static unsigned slice_line_of(const struct map_file *f, size_t offset)
{
  unsigned line = 1;
  for (size_t i = 0; i < offset && i < f->len; i++)
    line += f->text[i] == '\n';
  return line;
}

static void slice_mark_line(struct slice_print *p, size_t file, size_t begin)
{
  const struct map_file *f = &p->s->map->files[file];
  unsigned line = slice_line_of(f, begin);
  if (p->file != file || p->line != line) {
    kr_bytes_addf(p->out, "#line %u \"", line);
    for (const char *c = f->shown; *c; c++) {
      if (*c == '"' || *c == '\\')
        kr_bytes_addc(p->out, '\\');
      kr_bytes_addc(p->out, *c);
    }
    kr_bytes_adds(p->out, "\"\n");
  }
  p->file = file;
  p->line = line;
}

static void slice_copy(struct slice_print *p, size_t file, size_t begin, size_t end)
{
  const struct map_file *f = &p->s->map->files[file];
  size_t token = map_token_at(f, begin);
  for (size_t i = begin; i < end; i++) {
    while (token + 1 < f->n_toks && f->toks[token].offset < i)
      token++;
    // A file that is included in the middle of a declaration (a table of numbers)
    // stands here itself.
    size_t pasted = f->toks[token].offset == i ? slice_included_file(p->s->map, file, token) : MAP_NONE;
    if (pasted != MAP_NONE) {
      slice_mark_line(p, pasted, 0);
      slice_copy(p, pasted, 0, p->s->map->files[pasted].len);
      kr_bytes_addc(p->out, '\n');
      i = f->toks[token + 2].offset + f->toks[token + 2].length;
      while (i < end && f->text[i] != '\n')
        i++;
      if (i + 1 < end)
        slice_mark_line(p, file, i + 1);
      continue;
    }
    char c = f->text[i];
    bool hole = slice_past_hole(p->s, file, i) != i;
    for (size_t k = 0; k < p->s->n_marks && (c == 'c' || c == 'v'); k++)
      if (p->s->marks[k].file == file && p->s->marks[k].begin == i && !hole) {
        kr_bytes_adds(p->out, "__host__ __device__ ");
        break;
      }
    // Comments may be in any encoding; the slice goes where bytes have to be text.
    bool in_token = f->toks[token].offset == i ||
                    (token && f->toks[token - 1].offset + f->toks[token - 1].length > i);
    if ((unsigned char)c >= 0x80 && !in_token)
      c = '?';
    kr_bytes_addc(p->out, hole && c != '\n' && c != '\r' ? ' ' : c);
    p->line += c == '\n';
  }
}

// A local of the shape `namespace x {}` must stand before `using namespace x`.
static void slice_print_using(struct slice_print *p, const struct map_item *it)
{
  if (it->kind != CXCursor_UsingDirective)
    return;
  size_t n = 0;
  CXCursor *parts = tu_children(it->cursor, &n);
  if (n == 1) {
    CXCursor ref = clang_getCursorReferenced(parts[0]);
    CXFile file = NULL;
    size_t at;
    tu_place(clang_getCursorLocation(ref), &file, &at);
    char *name = tu_take(clang_getCursorSpelling(ref));
    CXCursor up = clang_getCursorSemanticParent(ref);
    if (clang_isTranslationUnit(clang_getCursorKind(up)) && it->scope == MAP_NONE && name[0] &&
        ((file && map_file_of(p->s->map, file) != MAP_NONE) || !strcmp(name, "std")) &&
        !clang_Cursor_isInlineNamespace(ref)) {
      kr_bytes_addf(p->out, "namespace %s {}\n", name);
      p->line = 0;
    }
    free(name);
  }
  free(parts);
}

static void slice_includes(const struct slice *s, bool all, struct kr_bytes *out, bool *libcu)
{
  const char **seen = kr_xcalloc(s->map->n_headers + 1, sizeof *seen);
  size_t n = 0;
  *libcu = false;
  for (size_t i = 0; i < s->map->n_headers; i++) {
    const struct map_header *h = &s->map->headers[i];
    if (!h->include || !(s->included[i] || (all && !h->implicit)))
      continue;
    bool twice = false;
    for (size_t k = 0; k < n; k++)
      twice |= !strcmp(seen[k], h->include);
    if (!twice)
      seen[n++] = h->include;
    *libcu |= !strncmp(h->include, "cuda/", 5) || !strncmp(h->include, "cub/", 4) ||
              !strncmp(h->include, "cooperative_groups", 18);
  }
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(out, "#include <%s>\n", seen[i]);
  free(seen);
}

// Prints both halves. `all` takes every device header of the file.
static void slice_print(struct slice *s, bool all, struct kr_bytes *before, struct kr_bytes *after)
{
  struct map *m = s->map;
  size_t *order = kr_xcalloc(m->n_items + 1, sizeof *order), n = 0;
  for (size_t i = 0; i < m->n_items; i++)
    if (s->kept[i] && i != s->kernel)
      order[n++] = i;
  order[n++] = s->kernel;
  slice_order_map = m;
  qsort(order, n, sizeof *order, slice_order);

  // The leading directives are what a parser precompiles: the same for kernels
  // that include the same, so they end before anything of this kernel's.
  kr_bytes_adds(before, "#line 1 \"slice-prelude\"\n");
  std_print_includes(&s->std, before);
  bool libcu;
  slice_includes(s, all, before, &libcu);
  kr_bytes_adds(before, "namespace std {}\n");
  std_print_prelude(&s->std, libcu, before);

  struct slice_print p = {s, before, MAP_NONE, MAP_NONE, 0};
  const struct map_item *kernel = &m->items[s->kernel];
  size_t done_file = MAP_NONE, done = 0; // printed up to here
  for (size_t i = 0; i < n; i++) {
    const struct map_item *it = &m->items[order[i]];
    size_t begin = it->begin;
    if (order[i] == s->kernel) {
      slice_enter(&p, it->scope);
      slice_mark_line(&p, it->file, s->k->at.offset);
      // What stands before the definition's first token: `extern "C"`.
      if (s->k->at.offset > begin)
        slice_copy(&p, it->file, begin, s->k->at.offset);
      p.out = after;
      p.line = 0;
      done_file = it->file;
      done = it->end;
      kr_bytes_addc(p.out, '\n');
      continue;
    }
    // Inside the kernel or another piece: it is there already.
    if (it->file == kernel->file && begin >= s->k->at.offset && begin < s->k->at.offset + s->k->at.length)
      continue;
    if (it->file == done_file && begin < done) {
      if (it->end <= done || it->directive)
        continue;
      begin = done;
    }
    if (!it->directive)
      slice_enter(&p, it->scope);
    slice_print_using(&p, it);
    slice_mark_line(&p, it->file, begin);
    slice_copy(&p, it->file, begin, it->end);
    kr_bytes_adds(p.out, it->semicolon ? ";\n" : "\n");
    p.line++;
    done_file = it->file;
    done = it->end;
  }
  slice_enter(&p, MAP_NONE);
  free(order);
}

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
