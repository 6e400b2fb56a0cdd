#include "geometry.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/expr.h"
#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Constants of the program keep their names in a geometry, down to the one that is
// spelt with numbers: whether a kernel's body uses a constant too decides whether
// its geometry may change, and an alias would hide that.

char *geometry_scoped(const struct geometry *g, CXCursor decl)
{
  char *name = tu_take(clang_getCursorSpelling(decl));
  for (CXCursor up = clang_getCursorSemanticParent(decl);
       !clang_Cursor_isNull(up) && clang_getCursorKind(up) != CXCursor_TranslationUnit;
       up = clang_getCursorSemanticParent(up)) {
    if (clang_getCursorKind(up) == CXCursor_LinkageSpec || clang_Cursor_isAnonymous(up) ||
        (clang_getCursorKind(up) == CXCursor_EnumDecl && !clang_EnumDecl_isScoped(up)))
      continue;
    bool around = false;
    for (CXCursor k = clang_getCursorSemanticParent(g->kernel); !clang_Cursor_isNull(k);
         k = clang_getCursorSemanticParent(k)) {
      around |= clang_equalCursors(clang_getCanonicalCursor(k), clang_getCanonicalCursor(up));
      if (clang_getCursorKind(k) == CXCursor_TranslationUnit)
        break;
    }
    if (around)
      break;
    char *outer = tu_take(clang_getCursorSpelling(up));
    char *joined = outer[0] ? kr_xasprintf("%s::%s", outer, name) : kr_xstrdup(name);
    free(outer);
    free(name);
    name = joined;
  }
  return name;
}

bool geometry_before_kernel(const struct geometry *g, CXCursor decl)
{
  struct kr_span at;
  return !tu_span(g->tu, decl, &at) || at.offset < g->k->at.offset;
}

int geometry_number(long long value, struct kr_bytes *out)
{
  return kr_bytes_addf(out, value < 0 ? "(%lld)" : "%lld", value);
}

// The text of an object-like macro, down to names that are spelt with numbers.
static int geometry_macro_text(struct geometry *g, const char *name, int depth,
                               struct kr_bytes *out)
{
  size_t len;
  bool function_like;
  CXCursor definition = macros_definition(macros_of(g->tu), name);
  const char *body = macros_body(g->tu, definition, &len, &function_like);
  if (!body || function_like || depth > GEOMETRY_MAX_DEPTH)
    return geometry_no(g, "macro `%s` is not an expression", name);
  size_t n, names = 0, nesting = 0;
  struct kr_token *toks = kr_lex_all(body, len, false, &n);
  bool bracketed = n > 2 && kr_token_is(body, toks[0], "(");
  for (size_t i = 0; i + 1 < n; i++) {
    names += toks[i].kind == KR_TOK_IDENTIFIER;
    nesting += kr_token_is(body, toks[i], "(");
    if (kr_token_is(body, toks[i], ")") && nesting-- == 1 && i + 2 < n)
      bracketed = false;
  }
  int rc = 0;
  if (n < 2 || (n > 2 && !bracketed)) {
    rc = geometry_no(g, "macro `%s` is not one number or an expression in brackets", name);
  } else if (!names) {
    if (geometry_before_kernel(g, definition) && !g->plain)
      kr_bytes_adds(out, name);
    else
      kr_bytes_addf(out, "(%.*s)", (int)len, body);
  } else {
    kr_bytes_addc(out, '(');
    for (size_t i = 0; !rc && i + 1 < n; i++) {
      char text[256];
      size_t size = kr_token_text(body, toks[i], text, sizeof text);
      if (size >= sizeof text)
        rc = geometry_no(g, "macro `%s` is not an expression", name);
      else if (toks[i].kind == KR_TOK_IDENTIFIER &&
               !clang_Cursor_isNull(macros_definition(macros_of(g->tu), text)))
        rc = geometry_macro_text(g, text, depth + 1, out);
      else
        kr_bytes_addf(out, "%s ", text);
    }
    kr_bytes_addc(out, ')');
  }
  free(toks);
  return rc;
}

// Some object-like macro that the text of a function-like one reaches and whose
// value is `value`: the number in the AST may have been spelt so.
static bool geometry_macro_within(struct geometry *g, const char *name, long long value, int depth,
                                  struct kr_bytes *out)
{
  size_t len, n;
  bool function_like, found = false;
  const char *body = macros_body(g->tu, macros_definition(macros_of(g->tu), name), &len,
                                 &function_like);
  if (!body || depth > GEOMETRY_MAX_DEPTH)
    return false;
  struct kr_token *toks = kr_lex_all(body, len, false, &n);
  for (size_t i = 0; !found && i + 1 < n; i++) {
    char text[256];
    if (toks[i].kind != KR_TOK_IDENTIFIER ||
        kr_token_text(body, toks[i], text, sizeof text) >= sizeof text)
      continue;
    size_t inner_len;
    bool inner_function;
    const char *inner = macros_body(g->tu, macros_definition(macros_of(g->tu), text), &inner_len,
                                    &inner_function);
    if (!inner)
      continue;
    struct kr_expr_error error;
    struct kr_expr *e = inner_function ? NULL : kr_expr_parse(inner, inner_len, &error);
    struct kr_expr_env none = {NULL, NULL, NULL, NULL};
    struct kr_value v;
    if (e && !kr_expr_eval(e, &none, &v, &error) && !v.is_real && v.i == value &&
        geometry_before_kernel(g, macros_definition(macros_of(g->tu), text))) {
      kr_bytes_adds(out, text);
      found = true;
    } else {
      found = geometry_macro_within(g, text, value, depth + 1, out);
    }
    kr_expr_free(e);
  }
  free(toks);
  return found;
}

// The value of an object-like macro, other macros put in.
static bool geometry_macro_value(struct geometry *g, const char *name, int64_t *out)
{
  struct geometry probe = *g;
  probe.why = NULL;
  probe.plain = true;
  struct kr_bytes text;
  kr_bytes_init(&text, KR_EXPR_MAX_TEXT);
  struct kr_expr_env none = {NULL, NULL, NULL, NULL};
  struct kr_expr_error error;
  struct kr_value v;
  struct kr_expr *e = geometry_macro_text(&probe, name, 0, &text)
                          ? NULL
                          : kr_expr_parse(text.data, text.len, &error);
  bool ok = e && !kr_expr_eval(e, &none, &v, &error) && !kr_value_as_int(v, out);
  kr_expr_free(e);
  kr_bytes_release(&text);
  free(probe.why);
  return ok;
}

int geometry_macro(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  struct kr_span at, use_at;
  if (!tu_span(g->tu, c, &at))
    return 1;
  CXCursor use = macros_use_at(macros_of(g->tu), at.offset);
  if (clang_Cursor_isNull(use) || !tu_span(g->tu, use, &use_at) || use_at.offset != at.offset)
    return 1;
  long long value = 0;
  bool constant = geometry_value(c, &value);
  bool literal = clang_getCursorKind(c) == CXCursor_IntegerLiteral;
  char *name = tu_take(clang_getCursorSpelling(use));
  size_t len;
  bool function_like;
  int rc = 1;
  const char *body = macros_body(g->tu, macros_definition(macros_of(g->tu), name), &len,
                                 &function_like);
  if (body && !function_like) {
    // Inside an argument of another macro extents end with that one, so the value
    // says whether the node is the whole of the macro.
    struct kr_bytes text;
    kr_bytes_init(&text, KR_EXPR_MAX_TEXT);
    int64_t whole;
    bool valued = geometry_macro_value(g, name, &whole);
    if ((constant && valued && whole == value) || (!valued && at.length == use_at.length))
      rc = geometry_macro_text(g, name, 0, &text);
    else if (literal)
      rc = geometry_no(g, "macro `%s` is not one number or an expression in brackets", name);
    if (!rc)
      kr_bytes_add(out, text.data, text.len);
    kr_bytes_release(&text);
  } else if (body && constant && literal) {
    rc = geometry_macro_within(g, name, value, 0, out) ? 0 : 1;
  }
  free(name);
  return rc;
}
