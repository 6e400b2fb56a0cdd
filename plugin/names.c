#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// What a kernel mentions, by name. Text is asked and not the AST alone, because
// macros, attributes and branches the preprocessor dropped are in the text only;
// the AST says which other functions' text counts too.

struct names_walk {
  struct tu *tu;
  struct names_fn *fns;
  struct names_fn *constants; // variables with an initialiser
};

static void names_add(struct names_fn *list, CXCursor cursor)
{
  for (size_t i = 0; i < list->n; i++)
    if (clang_equalCursors(list->items[i], cursor))
      return;
  KR_GROW(list->items, list->n, list->cap);
  list->items[list->n++] = cursor;
}

static int names_visit(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct names_walk *w = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind != CXCursor_DeclRefExpr && kind != CXCursor_MemberRefExpr && kind != CXCursor_CallExpr)
    return 0;
  CXCursor to = clang_getCursorReferenced(cursor);
  if (clang_Cursor_isNull(to))
    return 0;
  switch (clang_getCursorKind(to)) {
  case CXCursor_FunctionDecl:
  case CXCursor_CXXMethod:
  case CXCursor_Constructor:
  case CXCursor_ConversionFunction:
  case CXCursor_FunctionTemplate: {
    CXCursor definition = clang_getCursorDefinition(to);
    if (clang_Cursor_isNull(definition))
      definition = clang_getCursorDefinition(clang_getSpecializedCursorTemplate(to));
    if (!clang_Cursor_isNull(definition) && tu_in_users(w->tu, definition))
      names_add(w->fns, definition);
    break;
  }
  case CXCursor_VarDecl: {
    CXCursor definition = clang_getCursorDefinition(to);
    CXCursor parent_of = clang_getCursorSemanticParent(to);
    if (!clang_Cursor_isNull(definition) && tu_in_users(w->tu, definition) &&
        clang_getCursorKind(parent_of) != CXCursor_FunctionDecl)
      names_add(w->constants, definition);
    break;
  }
  default:
    break;
  }
  return 0;
}

static void names_walk_all(struct tu *tu, struct names_fn *fns, struct names_fn *constants)
{
  struct names_walk w = {tu, fns, constants};
  size_t seen_fns = 0, seen_constants = 0;
  while (seen_fns < fns->n || seen_constants < constants->n) {
    CXCursor next = seen_fns < fns->n ? fns->items[seen_fns++] : constants->items[seen_constants++];
    tu_visit(next, names_visit, &w);
  }
}

void names_closure(struct tu *tu, CXCursor kernel, struct names_fn *out)
{
  struct names_fn constants = {NULL, 0, 0};
  names_add(out, kernel);
  names_walk_all(tu, out, &constants);
  free(constants.items);
}

// --- the set of identifiers ---

struct names_set {
  char **items;
  size_t n, cap;
};

static void names_text(struct names_set *set, const char *text, size_t len)
{
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  for (;;) {
    struct kr_token tok = kr_lexer_next_code(&lx);
    if (tok.kind == KR_TOK_END)
      return;
    char name[256];
    if (tok.kind != KR_TOK_IDENTIFIER)
      continue;
    size_t size = kr_token_text(text, tok, name, sizeof name);
    KR_GROW(set->items, set->n, set->cap);
    set->items[set->n++] =
        size < sizeof name ? kr_xstrdup(name) : kr_xstrndup(text + tok.offset, tok.length);
  }
}

static int names_compare(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_unique(struct names_set *set)
{
  if (!set->n)
    return;
  qsort(set->items, set->n, sizeof *set->items, names_compare);
  size_t kept = 1;
  for (size_t i = 1; i < set->n; i++) {
    if (!strcmp(set->items[i], set->items[kept - 1]))
      free(set->items[i]);
    else
      set->items[kept++] = set->items[i];
  }
  set->n = kept;
}

static bool names_has(const struct names_set *set, const char *name)
{
  return set->n && bsearch(&name, set->items, set->n, sizeof *set->items, names_compare);
}

// Names that macros stand for, until nothing new comes.
static void names_macros(struct tu *tu, struct names_set *set)
{
  const struct macros *m = macros_of(tu);
  struct names_set done = {NULL, 0, 0};
  bool more;
  do {
    size_t n = set->n;
    for (size_t i = 0; i < n; i++) {
      if (names_has(&done, set->items[i]))
        continue;
      size_t len;
      bool function_like;
      CXCursor definition = macros_definition(m, set->items[i]);
      const char *body = macros_body(tu, definition, &len, &function_like);
      if (body)
        names_text(set, body, len);
    }
    struct names_set before = done;
    done = (struct names_set){NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
      KR_GROW(done.items, done.n, done.cap);
      done.items[done.n++] = kr_xstrdup(set->items[i]);
    }
    for (size_t i = 0; i < before.n; i++)
      free(before.items[i]);
    free(before.items);
    names_unique(set);
    names_unique(&done);
    more = set->n > done.n;
  } while (more);
  for (size_t i = 0; i < done.n; i++)
    free(done.items[i]);
  free(done.items);
}

static int names_dynamic_shared(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  bool *found = arg;
  CXCursor var = cursor;
  if (clang_getCursorKind(cursor) == CXCursor_DeclRefExpr)
    var = clang_getCursorReferenced(cursor);
  if (clang_getCursorKind(var) == CXCursor_VarDecl &&
      clang_Cursor_getStorageClass(var) == CX_SC_Extern &&
      tu_has_child(var, CXCursor_CUDASharedAttr)) {
    *found = true;
    return 2;
  }
  return 0;
}

void names_fill(struct tu *tu, const struct names_fn *fns, struct kr_pkernel *k)
{
  struct names_set set = {NULL, 0, 0};
  struct names_fn all = {NULL, 0, 0}, constants = {NULL, 0, 0};
  for (size_t i = 0; i < fns->n; i++)
    names_add(&all, fns->items[i]);
  names_walk_all(tu, &all, &constants);
  for (size_t i = 0; i < all.n + constants.n; i++) {
    CXFile file = NULL;
    struct kr_span at;
    size_t len;
    if (i == 0) { // the kernel: its head counts too
      names_text(&set, tu->src.data + k->at.offset, k->at.length);
      continue;
    }
    CXCursor one = i < all.n ? all.items[i] : constants.items[i - all.n];
    if (!tu_extent(one, &file, &at))
      continue;
    const char *text = tu_file_text(tu, file, &len);
    if (text && at.offset + at.length <= len)
      names_text(&set, text + at.offset, at.length);
  }
  names_unique(&set);
  names_macros(tu, &set);
  for (size_t i = 0; i < all.n; i++)
    tu_visit(all.items[i], names_dynamic_shared, &k->uses_dynamic_shared);
  free(all.items);
  free(constants.items);

  k->uses_grid_dim = names_has(&set, "gridDim") || names_has(&set, "num_blocks") ||
                     names_has(&set, "dim_blocks");
  k->uses_grid_sync = names_has(&set, "this_grid") || names_has(&set, "grid_group") ||
                      names_has(&set, "this_multi_grid");
  k->uses_clock = names_has(&set, "clock") || names_has(&set, "clock64") ||
                  names_has(&set, "globaltimer") || names_has(&set, "__globaltimer");
  k->uses_asm = names_has(&set, "asm") || names_has(&set, "__asm__") || names_has(&set, "__asm");
  static const char *const barriers[] = {
      "__syncthreads",       "__syncthreads_and", "__syncthreads_or", "__syncthreads_count",
      "__barrier_sync",      "__barrier_sync_count", "sync",          "arrive_and_wait",
      "barrier_wait",        "barrier_arrive",
  };
  for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++)
    k->uses_barrier |= names_has(&set, barriers[i]);
  k->body_names = set.items;
  k->n_body_names = set.n;
}
