#include "slice_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// What belongs to a slice: from the kernel outwards, by the references of the AST
// and, where these are silent (macros, attributes, names that depend on a template
// parameter), by the tokens of what was kept.

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

void slice_keep(struct slice *s, size_t item)
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

struct slice_lookup {
  struct slice *s;
  const char *word;
};

static int slice_look(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct slice_lookup *l = arg;
  switch (clang_getCursorKind(cursor)) {
  case CXCursor_Namespace:
  case CXCursor_LinkageSpec:
  case CXCursor_UnexposedDecl:
    return 0;
  case CXCursor_StructDecl:
  case CXCursor_ClassDecl:
  case CXCursor_EnumDecl:
  case CXCursor_TypedefDecl:
  case CXCursor_TypeAliasDecl:
  case CXCursor_ClassTemplate: {
    char *name = tu_take(clang_getCursorSpelling(cursor));
    if (!strcmp(name, l->word))
      slice_reach(l->s, cursor);
    free(name);
    return 1;
  }
  default:
    return 1;
  }
}

static void slice_words_of(struct slice *s, const char *text)
{
  size_t len = strlen(text);
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  for (struct kr_token tok; (tok = kr_lexer_next_code(&lx)).kind != KR_TOK_END;) {
    char word[256];
    if (tok.kind != KR_TOK_IDENTIFIER || kr_lex_is_keyword(text + tok.offset, tok.length) ||
        kr_token_text(text, tok, word, sizeof word) >= sizeof word || !slice_add_word(s, word))
      continue;
    slice_reach_name(s, word);
    bool users = false;
    for (size_t n = map_first(s->map, word); n != MAP_NONE; n = s->map->names[n].next)
      users = users || !strcmp(s->map->names[n].name, word);
    if (users)
      continue;
    struct slice_lookup l = {s, word}; // of a header that is not the user's: `half`
    tu_visit(clang_getTranslationUnitCursor(s->tu->unit), slice_look, &l);
  }
}

void slice_arguments(struct slice *s)
{
  for (size_t i = 0; i < s->tu->n_words; i++)
    slice_words_of(s, s->tu->words[i]);
  for (size_t i = 0; i < s->k->n_launched; i++)
    for (size_t a = 0; a < s->k->launched[i].n_arguments; a++)
      slice_words_of(s, s->k->launched[i].arguments[a]);
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

bool slice_is_balanced(const struct map_file *f, size_t begin, size_t end)
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

size_t slice_past_hole(const struct slice *s, size_t file, size_t offset)
{
  for (size_t i = 0; i < s->n_holes; i++)
    if (s->holes[i].file == file && offset >= s->holes[i].begin && offset < s->holes[i].end)
      return s->holes[i].end;
  return offset;
}

size_t slice_included_file(const struct map *m, size_t file, size_t token)
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

void slice_tokens(struct slice *s, size_t file, size_t begin, size_t end, bool directive)
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
    CXCursor of = o->out_of_line ? clang_getCursorSemanticParent(o->cursor)
                                 : clang_getSpecializedCursorTemplate(o->cursor);
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

void slice_closure(struct slice *s)
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

void slice_usings(struct slice *s)
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
