#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Kernels of the main file: found by their attribute in the AST, so that a macro
// may hide `__global__`; their spans read from the text, so that an edit replaces
// what the user sees. Where the two disagree (braces, name or parameters out of a
// macro) the kernel is refused.

struct kernels_find {
  struct tu *tu;
  struct kr_unit *u;
  CXCursor *cursors, *linkage; // `extern "C"` directly around it, or null
  size_t n, cap, cap_linkage, n_linkage;
  const struct kr_diags *diags;
};

static int kernels_visit(void *arg, CXCursor cursor, CXCursor parent)
{
  struct kernels_find *f = arg;
  switch (clang_getCursorKind(cursor)) {
  case CXCursor_Namespace:
  case CXCursor_LinkageSpec:
  case CXCursor_UnexposedDecl:
    return 0;
  case CXCursor_FunctionDecl:
  case CXCursor_FunctionTemplate:
    if (!clang_isCursorDefinition(cursor) || !tu_in_main(f->tu, cursor) || !tu_is_kernel(cursor))
      return 1;
    KR_GROW(f->cursors, f->n, f->cap);
    f->cursors[f->n++] = cursor;
    KR_GROW(f->linkage, f->n_linkage, f->cap_linkage);
    f->linkage[f->n_linkage++] = parent;
    return 1;
  default:
    return 1;
  }
}

// --- places in the text ---

// The token that covers or follows an offset.
static size_t kernels_token(const struct kr_token *toks, size_t n, size_t offset)
{
  size_t lo = 0, hi = n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (toks[mid].offset + toks[mid].length <= offset)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < n ? lo : n - 1;
}

// The extent of an AST node leaves out what stands before it and means nothing to
// clang: `[[attributes]]`, macros that expand to nothing, `extern "C"`. They are
// part of the head all the same: a marker stands above them.
static size_t kernels_head(const struct kernels_find *f, const struct kr_token *toks, size_t n,
                           size_t offset, CXCursor linkage, size_t end)
{
  const char *text = f->tu->src.data;
  struct kr_span around;
  if (clang_getCursorKind(linkage) == CXCursor_LinkageSpec && tu_span(f->tu, linkage, &around) &&
      around.offset < offset && around.offset + around.length == end)
    offset = around.offset;
  size_t i = kernels_token(toks, n, offset);
  while (i > 0) {
    const struct kr_token *t = &toks[i - 1];
    if (t->flags & KR_TOK_DIRECTIVE)
      break;
    if (kr_token_is(text, *t, "]")) {
      size_t depth = 0, k = i;
      while (k-- > 0) {
        depth += kr_token_is(text, toks[k], "]");
        depth -= kr_token_is(text, toks[k], "[");
        if (!depth)
          break;
      }
      if (depth || k + 1 >= n || !kr_token_is(text, toks[k + 1], "["))
        break;
      i = k;
      continue;
    }
    if (t->kind != KR_TOK_IDENTIFIER)
      break;
    CXCursor use = macros_expansion_at(macros_of(f->tu), t->offset);
    if (clang_Cursor_isNull(use))
      break;
    size_t len;
    bool function_like;
    const char *body = macros_body(f->tu, clang_getCursorReferenced(use), &len, &function_like);
    struct kr_lexer lx;
    kr_lexer_init(&lx, body ? body : "", body ? len : 0);
    struct kr_token first = kr_lexer_next_code(&lx);
    if (function_like || (first.kind != KR_TOK_END && !kr_token_is(body, first, "[") &&
                          !kr_token_is(body, first, "__attribute__") &&
                          !kr_token_is(body, first, "static") &&
                          !kr_token_is(body, first, "inline")))
      break;
    i--;
  }
  return toks[i].offset;
}

static bool kernels_plain(const struct tu *tu, CXSourceLocation at, size_t *offset)
{
  CXFile file = NULL, expanded = NULL;
  unsigned expansion = 0;
  tu_place(at, &file, offset);
  clang_getExpansionLocation(at, &expanded, NULL, NULL, &expansion);
  return tu_is_main(tu, file) && tu_is_main(tu, expanded) && expansion == *offset &&
         *offset < tu->src.len;
}

// Why `what` of a kernel is not in the text at `offset`, where the AST has it: a
// macro, an error that cut the parse short, or a spelling that is not followed.
static char *kernels_lost(const struct kernels_find *f, size_t offset,
                          const struct kr_pkernel *k, const char *what)
{
  struct tu *tu = f->tu;
  unsigned line, col;
  CXCursor use = macros_expansion_at(macros_of(tu), offset);
  if (!clang_Cursor_isNull(use)) {
    kr_source_place(&tu->src, offset, &line, &col);
    char *name = tu_take(clang_getCursorSpelling(use));
    char *text = kr_xasprintf("%s comes from a macro (%s, line %u)", what, name, line);
    free(name);
    return text;
  }
  for (size_t i = 0; i < f->diags->n; i++) {
    const struct kr_diag *d = &f->diags->items[i];
    if (d->severity != KR_SEV_ERROR || d->offset < k->at.offset ||
        d->offset > k->at.offset + k->at.length)
      continue;
    kr_source_place(&tu->src, d->offset, &line, &col);
    return kr_xasprintf("%s is not found, because line %u does not parse (%s)", what, line, d->text);
  }
  return kr_xasprintf("%s is written in a way that is not there yet", what);
}

static void kernels_refuse(struct kr_pkernel *k, struct kr_span at, char *why)
{
  if (k->refused) {
    free(why);
    return;
  }
  k->refused = why;
  k->refused_at = at;
}

static CXCursor kernels_body(CXCursor kernel)
{
  size_t n;
  CXCursor *children = tu_children(kernel, &n);
  CXCursor body = clang_getNullCursor();
  for (size_t i = 0; i < n; i++)
    if (clang_getCursorKind(children[i]) == CXCursor_CompoundStmt)
      body = children[i];
  free(children);
  return body;
}

// A definition is judged as it is compiled here and replaced whole. What a
// directive in it keeps for another configuration, or for the text behind it,
// would be lost unseen; pragmas are of the code they stand in, except those that
// outlive it.
static void kernels_directives(const struct kernels_find *f, const struct kr_token *toks, size_t n,
                               struct kr_pkernel *k)
{
  static const struct {
    const char *word, *why;
  } told[] = {
      {"if", "only the branch that is compiled here could be judged"},
      {"ifdef", "only the branch that is compiled here could be judged"},
      {"ifndef", "only the branch that is compiled here could be judged"},
      {"define", "code behind it may use the macro"},
      {"undef", "code behind it may use the macro"},
      {"include", "an included file is not there yet"},
      {"include_next", "an included file is not there yet"},
  };
  const char *text = f->tu->src.data;
  size_t i = kernels_token(toks, n, k->at.offset), end = k->at.offset + k->at.length;
  for (; i + 1 < n && toks[i].offset < end; i++) {
    const struct kr_token *word = &toks[i + 1];
    if (!(toks[i].flags & KR_TOK_DIRECTIVE_START) || !(word->flags & KR_TOK_DIRECTIVE) ||
        word->flags & KR_TOK_DIRECTIVE_START)
      continue;
    const char *why = NULL;
    for (size_t t = 0; t < sizeof told / sizeof *told && !why; t++)
      why = kr_token_is(text, *word, told[t].word) ? told[t].why : NULL;
    if (!why && kr_token_is(text, *word, "pragma") && i + 2 < n &&
        (kr_token_is(text, toks[i + 2], "push_macro") ||
         kr_token_is(text, toks[i + 2], "pop_macro")))
      why = "code behind it may use the macro";
    if (!why)
      continue;
    unsigned line, col;
    char name[32];
    kr_source_place(&f->tu->src, toks[i].offset, &line, &col);
    kr_token_text(text, *word, name, sizeof name);
    size_t length = word->offset + word->length - toks[i].offset;
    kernels_refuse(k, (struct kr_span){toks[i].offset, length},
                   kr_xasprintf("`#%s` at line %u stands in it: %s", name, line, why));
    return;
  }
}

// Name, parameter list and body as spans; refuses what is not there in the text.
static void kernels_spans(struct kernels_find *f, CXCursor cursor, const struct kr_token *toks,
                          size_t n, struct kr_pkernel *k)
{
  struct tu *tu = f->tu;
  const char *text = tu->src.data;
  size_t name = 0, open = 0, close = 0;
  size_t name_len = strlen(k->name);
  if (!kernels_plain(tu, clang_getCursorLocation(cursor), &name) ||
      strncmp(text + name, k->name, name_len)) {
    kernels_refuse(k, (struct kr_span){name, 0}, kernels_lost(f, name, k, "its name"));
    return;
  }
  k->name_at = (struct kr_span){name, name_len};

  CXCursor body = kernels_body(cursor);
  CXSourceRange range = clang_getCursorExtent(body);
  bool first = kernels_plain(tu, clang_getRangeStart(range), &open) && text[open] == '{';
  CXFile file = NULL;
  tu_place(clang_getRangeEnd(range), &file, &close);
  bool last = tu_is_main(tu, file) && close > 0 && text[close - 1] == '}';
  if (last) {
    // The end of a range is past its last token; look at the brace itself.
    CXSourceLocation brace =
        clang_getLocationForOffset(tu->unit, tu->file, (unsigned)(close - 1));
    size_t at;
    last = kernels_plain(tu, brace, &at) &&
           clang_Cursor_isNull(macros_expansion_at(macros_of(tu), close - 1));
  }
  first = first && clang_Cursor_isNull(macros_expansion_at(macros_of(tu), open));
  if (!first || !last || close <= open) {
    size_t at = first ? (close ? close - 1 : 0) : open;
    kernels_refuse(k, (struct kr_span){at, 0},
                   kernels_lost(f, at, k,
                                first ? "its body's last brace" : "its body's first brace"));
    return;
  }
  k->body_at = (struct kr_span){open, close - open};
  k->at.length = close - k->at.offset;

  kernels_directives(f, toks, n, k);

  // The same braces by tokens alone, as --check and a formatter see them.
  size_t i = kernels_token(toks, n, open), depth = 0;
  for (; i < n && toks[i].offset < close; i++) {
    if (toks[i].flags & KR_TOK_DIRECTIVE)
      continue;
    if (kr_token_is(text, toks[i], "{"))
      depth++;
    else if (kr_token_is(text, toks[i], "}") && --depth == 0)
      break;
  }
  if (i >= n || toks[i].offset != close - 1)
    kernels_refuse(k, (struct kr_span){open, 0},
                   kr_xstrdup("its braces do not match as written"));

  i = kernels_token(toks, n, name + name_len);
  if (i < n && kr_token_is(text, toks[i], "<")) // an explicit specialisation
    while (i < n && !kr_token_is(text, toks[i], "("))
      i++;
  size_t from = i;
  depth = 0;
  for (; i < n && toks[i].offset < open; i++) {
    depth += kr_token_is(text, toks[i], "(");
    if (kr_token_is(text, toks[i], ")") && --depth == 0)
      break;
  }
  if (from < n && kr_token_is(text, toks[from], "(") && i < n && kr_token_is(text, toks[i], ")"))
    k->params_at = (struct kr_span){toks[from].offset, toks[i].offset + 1 - toks[from].offset};
  else
    kernels_refuse(k, (struct kr_span){name, name_len},
                   kernels_lost(f, from < n ? toks[from].offset : name, k,
                                "its parameter list"));
}

// --- parameters ---

static void kernels_params(struct kernels_find *f, CXCursor cursor, struct kr_pkernel *k)
{
  CXCursor *args = tu_params(cursor, &k->n_params);
  k->params = kr_xcalloc(k->n_params + 1, sizeof *k->params);
  for (size_t i = 0; i < k->n_params; i++) {
    CXCursor arg = args[i];
    struct kr_pparam *p = &k->params[i];
    CXType type = clang_getCursorType(arg);
    // `float x[4]` is a pointer; the function's own type has it as one.
    if (clang_getArrayElementType(type).kind != CXType_Invalid)
      type = clang_getArgType(clang_getCanonicalType(clang_getCursorType(cursor)), (unsigned)i);
    p->name = tu_take(clang_getCursorSpelling(arg));
    p->type_name = tu_take(clang_getTypeSpelling(type));
    types_param(type, &p->type, k);
    size_t at;
    if (!tu_span(f->tu, arg, &p->at))
      p->at = (struct kr_span){0, 0};
    if (p->name[0] && kernels_plain(f->tu, clang_getCursorLocation(arg), &at) &&
        !strncmp(f->tu->src.data + at, p->name, strlen(p->name)))
      p->name_at = (struct kr_span){at, strlen(p->name)};
  }
  free(args);
}

// Errors inside the definition belong to it; one inside the parameter list means
// that a type was unknown and clang went on with `int`.
static void kernels_errors(const struct kr_diags *diags, struct kr_pkernel *k)
{
  size_t cap = 0;
  for (size_t i = 0; i < diags->n; i++) {
    const struct kr_diag *d = &diags->items[i];
    if (d->offset == SIZE_MAX || d->offset < k->at.offset ||
        d->offset >= k->at.offset + k->at.length)
      continue;
    KR_GROW(k->errors, k->n_errors, cap);
    k->errors[k->n_errors++] = (struct kr_diag){.severity = d->severity,
                                                .offset = d->offset,
                                                .length = d->length,
                                                .text = kr_xstrdup(d->text)};
    const struct kr_pparam *p = NULL;
    for (size_t j = 0; j < k->n_params; j++)
      if (d->offset >= k->params[j].at.offset &&
          d->offset < k->params[j].at.offset + k->params[j].at.length)
        p = &k->params[j];
    if (p)
      kernels_refuse(k, (struct kr_span){d->offset, d->length},
                     kr_xasprintf("the type of its parameter `%s` is not known here (%s)", p->name,
                                  d->text));
    else if (d->offset < k->body_at.offset)
      kernels_refuse(k, (struct kr_span){d->offset, d->length},
                     kr_xasprintf("its head does not parse (%s)", d->text));
  }
}

// Those in functions it reaches belong to it as well.
static void kernels_errors_reached(const struct tu *tu, const struct kr_diags *diags,
                                   const struct names_fn *fns, struct kr_pkernel *k)
{
  for (size_t f = 1; f < fns->n; f++) {
    struct kr_span at;
    if (!tu_span(tu, fns->items[f], &at))
      continue;
    for (size_t i = 0; i < diags->n; i++) {
      const struct kr_diag *d = &diags->items[i];
      if (d->offset < at.offset || d->offset >= at.offset + at.length)
        continue;
      k->errors = kr_xreallocarray(k->errors, k->n_errors + 1, sizeof *k->errors);
      k->errors[k->n_errors++] = (struct kr_diag){.severity = d->severity,
                                                  .offset = d->offset,
                                                  .length = d->length,
                                                  .text = kr_xstrdup(d->text)};
    }
  }
}

static void kernels_one(struct kernels_find *f, size_t i, const struct kr_token *toks, size_t n,
                        const struct kr_diags *diags, struct kr_pkernel *k)
{
  CXCursor cursor = f->cursors[i];
  struct tu *tu = f->tu;
  k->name = tu_take(clang_getCursorSpelling(cursor));
  k->qualified = tu_qualified(cursor);
  k->name_expression = kr_xstrdup(k->qualified);
  k->signature = templates_signature(cursor);
  k->usr = tu_take(clang_getCursorUSR(cursor));
  char *mangled = tu_take(clang_Cursor_getMangling(cursor));
  k->extern_c = !strcmp(mangled, k->name);
  free(mangled);
  enum CXLinkageKind linkage = clang_getCursorLinkage(cursor);
  k->linkage = linkage == CXLinkage_Internal || linkage == CXLinkage_UniqueExternal
                   ? KR_LINKAGE_INTERNAL
                   : KR_LINKAGE_EXTERNAL;
  k->is_template = clang_getCursorKind(cursor) == CXCursor_FunctionTemplate;

  CXSourceRange range = clang_getCursorExtent(cursor);
  CXFile file = NULL;
  size_t begin = 0, end = 0;
  tu_place(clang_getRangeStart(range), &file, &begin);
  bool whole = tu_is_main(tu, file);
  tu_place(clang_getRangeEnd(range), &file, &end);
  whole = whole && tu_is_main(tu, file) && end > begin;
  if (!whole) {
    size_t at;
    tu_place(clang_getCursorLocation(cursor), &file, &at);
    begin = end = at;
    kernels_refuse(k, (struct kr_span){at, 0},
                   kr_xstrdup("its definition begins or ends in another file"));
  }
  begin = kernels_head(f, toks, n, begin, f->linkage[i], end);
  k->at = (struct kr_span){begin, end - begin};
  kr_source_place(&tu->src, begin, &k->line, &k->col);
  k->is_specialisation =
      !k->is_template && !clang_Cursor_isNull(clang_getSpecializedCursorTemplate(cursor));
  if (k->is_template)
    templates_fill(cursor, tu->src.data, toks, n, k);
  else if (k->is_specialisation)
    kernels_refuse(k, (struct kr_span){begin, 0},
                   kr_xstrdup("explicit specialisations of templates are not there yet"));
  if (whole)
    kernels_spans(f, cursor, toks, n, k);
  kernels_params(f, cursor, k);
  kernels_errors(diags, k);
  if (clang_Cursor_isVariadic(cursor))
    kernels_refuse(k, k->params_at, kr_xstrdup("variadic kernels are not there yet"));
}

// Two functions of one name cannot be told apart by a name expression. A
// specialisation is one of its template's.
static void kernels_overloads(struct kr_unit *u)
{
  for (size_t i = 0; i < u->n_kernels; i++)
    for (size_t j = 0; j < u->n_kernels; j++) {
      struct kr_pkernel *a = &u->kernels[i];
      const struct kr_pkernel *b = &u->kernels[j];
      if (i != j && !strcmp(a->qualified, b->qualified) && !a->is_specialisation &&
          !b->is_specialisation)
        kernels_refuse(a, a->name_at,
                       kr_xasprintf("overloaded kernels are not there yet (`%s` is also at line %u)",
                                    b->qualified, b->line));
    }
}

void unit_make(struct tu *tu, struct kr_unit *u, CXCursor **cursors)
{
  memset(u, 0, sizeof *u);
  u->file = kr_xstrdup(tu->given);
  struct kr_diags diags = {NULL, 0, 0, 0};
  tu_diags(tu, &diags);

  struct kernels_find f = {.tu = tu, .u = u, .diags = &diags};
  tu_visit(clang_getTranslationUnitCursor(tu->unit), kernels_visit, &f);
  size_t n;
  struct kr_token *toks = kr_lex_all(tu->src.data, tu->src.len, false, &n);
  u->kernels = kr_xcalloc(f.n + 1, sizeof *u->kernels);
  u->n_kernels = f.n;
  for (size_t i = 0; i < f.n; i++)
    kernels_one(&f, i, toks, n, &diags, &u->kernels[i]);
  for (size_t i = 0; i < f.n; i++)
    if (u->kernels[i].is_template)
      templates_by_name(tu, toks, n, &u->kernels[i]);
  free(toks);
  kernels_overloads(u);

  for (size_t i = 0; i < f.n; i++) {
    struct names_fn fns = {NULL, 0, 0};
    names_closure(tu, f.cursors[i], &fns);
    names_fill(tu, &fns, &u->kernels[i]);
    kernels_errors_reached(tu, &diags, &fns, &u->kernels[i]);
    if (!u->kernels[i].is_template)
      uses_fill(tu, &fns, &u->kernels[i]);
    free(fns.items);
  }
  sites_fill(tu, f.cursors, u);

  enum { MAX_ERRORS = 64 };
  u->n_errors = diags.n < MAX_ERRORS ? diags.n : MAX_ERRORS;
  u->errors = kr_xcalloc(u->n_errors + 1, sizeof *u->errors);
  for (size_t i = 0; i < u->n_errors; i++) {
    u->errors[i] = diags.items[i];
    diags.items[i].text = diags.items[i].fix = NULL;
  }
  kr_diags_release(&diags);
  free(f.linkage);
  *cursors = f.cursors;
}
