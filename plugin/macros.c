#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Macros are gone from the AST; what is left of them is the preprocessing
// record, read once a parse: definitions in the user's files, expansions in the
// main one.

struct macro {
  CXCursor cursor;
  CXFile file;
  struct kr_span at;
  char *name;
};

struct macros {
  struct tu *tu;
  struct macro *defs, *uses;
  size_t n_defs, n_uses, cap_defs, cap_uses;
};

static int macros_collect(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct macros *m = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind != CXCursor_MacroDefinition && kind != CXCursor_MacroExpansion)
    return 1;
  struct macro one = {.cursor = cursor};
  if (!tu_extent(cursor, &one.file, &one.at))
    return 1;
  bool def = kind == CXCursor_MacroDefinition;
  if (def ? !tu_is_users(m->tu, one.file) : !tu_is_main(m->tu, one.file))
    return 1;
  one.name = tu_take(clang_getCursorSpelling(cursor));
  if (def) {
    KR_GROW(m->defs, m->n_defs, m->cap_defs);
    m->defs[m->n_defs++] = one;
  } else {
    KR_GROW(m->uses, m->n_uses, m->cap_uses);
    m->uses[m->n_uses++] = one;
  }
  return 1;
}

struct macros *macros_of(struct tu *tu)
{
  if (tu->macros)
    return tu->macros;
  struct macros *m = kr_xcalloc(1, sizeof *m);
  m->tu = tu;
  tu_visit(clang_getTranslationUnitCursor(tu->unit), macros_collect, m);
  tu->macros = m;
  return m;
}

void macros_free(struct macros *m)
{
  if (!m)
    return;
  for (size_t i = 0; i < m->n_defs; i++)
    free(m->defs[i].name);
  for (size_t i = 0; i < m->n_uses; i++)
    free(m->uses[i].name);
  free(m->defs);
  free(m->uses);
  free(m);
}

CXCursor macros_definition(const struct macros *m, const char *name)
{
  for (size_t i = m->n_defs; i-- > 0;)
    if (!strcmp(m->defs[i].name, name))
      return m->defs[i].cursor;
  return clang_getNullCursor();
}

static CXCursor macros_use(const struct macros *m, size_t offset, bool innermost)
{
  const struct macro *best = NULL;
  for (size_t i = 0; i < m->n_uses; i++) {
    const struct macro *u = &m->uses[i];
    if (offset >= u->at.offset && offset < u->at.offset + u->at.length &&
        (!best || (u->at.length < best->at.length) == innermost))
      best = u;
  }
  return best ? best->cursor : clang_getNullCursor();
}

CXCursor macros_expansion_at(const struct macros *m, size_t offset)
{
  return macros_use(m, offset, false);
}

CXCursor macros_use_at(const struct macros *m, size_t offset)
{
  return macros_use(m, offset, true);
}

const char *macros_body(const struct tu *tu, CXCursor definition, size_t *len, bool *function_like)
{
  CXFile file;
  struct kr_span at;
  *len = 0;
  *function_like = false;
  if (clang_Cursor_isNull(definition) || !tu_extent(definition, &file, &at))
    return NULL;
  size_t size;
  const char *text = tu_file_text(tu, file, &size);
  if (!text || at.offset + at.length > size)
    return NULL;
  text += at.offset;
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, at.length);
  struct kr_token tok = kr_lexer_next_code(&lx);
  size_t from = tok.offset + tok.length;
  tok = kr_lexer_next_code(&lx);
  if (tok.offset == from && kr_token_is(text, tok, "(")) {
    *function_like = true;
    while (tok.kind != KR_TOK_END && !kr_token_is(text, tok, ")"))
      tok = kr_lexer_next_code(&lx);
    from = tok.offset + tok.length;
  }
  *len = at.length - from;
  return text + from;
}
