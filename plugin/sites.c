#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Launch sites. A launch is a CallExpr with a call of __cudaPushCallConfiguration
// inside, whose extent is `<<<...>>>`. What the AST lost (a statement dropped for
// an unknown type, a branch the preprocessor took out) is found by a scan of the
// tokens and told as a place; so are uses of a kernel as a value.
//
// Under which arguments a template is launched is written at the launch, or hangs
// on those of the function around it: bodies of the user's templates are walked as
// often as the file makes functions of them.

struct sites {
  struct tu *tu;
  const CXCursor *kernels;
  struct kr_unit *u;
  CXCursor function; // around what is visited, or null
  CXCursor *made; // functions made from templates, to be walked
  size_t n_made, cap_made;
  size_t *seen; // offsets of `<<<` in the main file, or of the macro they come from
  size_t n_seen, cap_seen;
  size_t cap_lost;
};

static void sites_lost(struct sites *s, size_t offset, size_t length)
{
  KR_GROW(s->u->lost_launches, s->u->n_lost_launches, s->cap_lost);
  s->u->lost_launches[s->u->n_lost_launches++] = (struct kr_span){offset, length};
}

// --- which kernel ---

static bool sites_same(CXCursor to, CXCursor kernel)
{
  if (clang_Cursor_isNull(to))
    return false;
  if (clang_equalCursors(clang_getCanonicalCursor(to), clang_getCanonicalCursor(kernel)))
    return true;
  CXCursor generic = clang_getSpecializedCursorTemplate(to);
  return !clang_Cursor_isNull(generic) && sites_same(generic, kernel);
}

// The kernel a reference names, as an index, or SIZE_MAX.
static size_t sites_kernel(const struct sites *s, CXCursor ref)
{
  CXCursor to = clang_getCursorReferenced(ref);
  // A specialisation is a kernel of its own before it is one of its template.
  for (size_t i = 0; i < s->u->n_kernels; i++)
    if (s->u->kernels[i].is_specialisation &&
        clang_equalCursors(clang_getCanonicalCursor(to), clang_getCanonicalCursor(s->kernels[i])))
      return i;
  for (size_t i = 0; i < s->u->n_kernels; i++)
    if (sites_same(to, s->kernels[i]))
      return i;
  if (clang_getCursorKind(to) == CXCursor_OverloadedDeclRef)
    for (unsigned k = 0; k < clang_getNumOverloadedDecls(to); k++)
      for (size_t i = 0; i < s->u->n_kernels; i++)
        if (sites_same(clang_getOverloadedDecl(to, k), s->kernels[i]))
          return i;
  return SIZE_MAX;
}

struct sites_ref {
  struct sites *s;
  size_t found;
  CXCursor ref;
};

static int sites_find_ref(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct sites_ref *r = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind == CXCursor_DeclRefExpr || kind == CXCursor_OverloadedDeclRef)
    r->found = sites_kernel(r->s, cursor);
  if (r->found != SIZE_MAX)
    r->ref = cursor;
  return r->found != SIZE_MAX ? 2 : 0;
}

// `ref` is the expression that names the kernel, the callee's outermost: below it
// are the arguments of a template.
static size_t sites_callee(struct sites *s, CXCursor callee, CXCursor *ref)
{
  struct sites_ref r = {s, SIZE_MAX, clang_getNullCursor()};
  if (sites_find_ref(&r, callee, callee) != 2)
    tu_visit(callee, sites_find_ref, &r);
  *ref = r.ref;
  return r.found;
}

// Notes the arguments under which the function that `ref` names was made from
// kernel `which`. Nothing when they hang on others.
static void sites_arguments(struct sites *s, size_t which, CXCursor ref, size_t site)
{
  struct kr_pkernel *k = &s->u->kernels[which];
  CXCursor fn = clang_getCursorReferenced(ref);
  char **arguments;
  int64_t *values;
  if (!k->is_template || clang_getCursorKind(fn) != CXCursor_FunctionDecl)
    return;
  CXFile file = NULL;
  unsigned line = 0;
  clang_getFileLocation(clang_getCursorLocation(ref), &file, &line, NULL, NULL);
  size_t n = templates_arguments(fn, k, &arguments, &values);
  free(values);
  char *shown = tu_is_main(s->tu, file) ? kr_xstrdup(s->tu->given) : tu_file_shown(s->tu, file);
  templates_launched(k, arguments, n, shown, line, false, site);
  free(shown);
}

// A function made from one of the user's templates, kernels aside.
static void sites_made(struct sites *s, CXCursor ref)
{
  enum { MAX_MADE = 4096 };
  CXCursor fn = clang_getCursorReferenced(ref);
  if (clang_Cursor_isNull(fn) || clang_Cursor_isNull(clang_getSpecializedCursorTemplate(fn)) ||
      s->n_made == MAX_MADE || !tu_in_users(s->tu, fn) || tu_is_kernel(fn))
    return;
  for (size_t i = 0; i < s->n_made; i++)
    if (clang_equalCursors(s->made[i], fn))
      return;
  KR_GROW(s->made, s->n_made, s->cap_made);
  s->made[s->n_made++] = fn;
}

// --- one site ---

static bool sites_effect(CXCursor c)
{
  switch (clang_getCursorKind(c)) {
  case CXCursor_CompoundAssignOperator:
  case CXCursor_CXXNewExpr:
  case CXCursor_CXXDeleteExpr:
  case CXCursor_CXXThrowExpr:
  case CXCursor_LambdaExpr:
  case CXCursor_StmtExpr:
    return true;
  case CXCursor_BinaryOperator:
    return clang_getCursorBinaryOperatorKind(c) == CXBinaryOperator_Assign;
  case CXCursor_UnaryOperator: {
    enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(c);
    return op == CXUnaryOperator_PostInc || op == CXUnaryOperator_PostDec ||
           op == CXUnaryOperator_PreInc || op == CXUnaryOperator_PreDec;
  }
  case CXCursor_CallExpr: {
    // Copying a plain struct is no call that anyone sees.
    CXCursor to = clang_getCursorReferenced(c);
    return !(clang_getCursorKind(to) == CXCursor_Constructor &&
             (clang_CXXConstructor_isCopyConstructor(to) ||
              clang_CXXConstructor_isMoveConstructor(to)) &&
             clang_isPODType(clang_getCursorType(c)));
  }
  default:
    return false;
  }
}

static int sites_find_effect(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)arg;
  (void)parent;
  return sites_effect(cursor) ? 2 : 0;
}

static bool sites_has_effect(CXCursor c)
{
  return sites_effect(c) || tu_visit(c, sites_find_effect, NULL);
}

static char *sites_text(const struct sites *s, struct kr_span at)
{
  return kr_xstrndup(s->tu->src.data + at.offset, at.length);
}

// An argument's span; false for a default argument or one that a macro made.
static bool sites_arg(const struct sites *s, CXCursor call, unsigned i, struct kr_span within,
                      struct kr_span *out)
{
  if ((int)i >= clang_Cursor_getNumArguments(call))
    return false;
  CXCursor arg = clang_Cursor_getArgument(call, i);
  return tu_span(s->tu, arg, out) && out->length && out->offset >= within.offset &&
         out->offset + out->length <= within.offset + within.length;
}

static bool sites_is_name(const char *text)
{
  size_t len = strlen(text);
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  struct kr_token tok = kr_lexer_next(&lx);
  return tok.kind == KR_TOK_IDENTIFIER && tok.offset == 0 && tok.length == len;
}

static void sites_why(struct kr_psite *site, char *why)
{
  site->editable = false;
  if (site->why_not)
    free(why);
  else
    site->why_not = why;
}

// Between two parts of a configuration stands one comma, before the first `<<<`
// and after the last `>>>`; anything else means that the spans are not the text.
static bool sites_only(const struct sites *s, size_t from, size_t to, const char *what)
{
  if (to < from)
    return false;
  const char *text = s->tu->buffer + from;
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, to - from);
  struct kr_token tok = kr_lexer_next_code(&lx);
  if (!kr_token_is(text, tok, what))
    return false;
  return kr_lexer_next_code(&lx).kind == KR_TOK_END;
}

static void sites_config(struct sites *s, CXCursor config, struct kr_psite *site)
{
  struct kr_span *parts[4] = {&site->grid_at, &site->block_at, &site->shared_at, &site->stream_at};
  size_t mark = site->config.offset;
  bool whole = true;
  for (unsigned i = 0; i < 4; i++) {
    struct kr_span at;
    if (!sites_arg(s, config, i, site->config, &at))
      break;
    *parts[i] = at;
    whole = whole && sites_only(s, mark, at.offset, i ? "," : "<<<");
    mark = at.offset + at.length;
  }
  // `>> >`: the buffer has the three together, the text ends later.
  size_t end = site->config.offset + site->config.length, closers = 0;
  const struct kr_source *src = &s->tu->src;
  for (size_t i = mark; i < end && i < src->len; i++)
    closers += src->data[i] == '>';
  while (closers < 3 && end < src->len && strchr(" \t>", src->data[end]))
    closers += src->data[end++] == '>';
  whole = whole && sites_only(s, mark, site->config.offset + site->config.length, ">>>");
  site->config.length = end - site->config.offset;
  if (!site->grid_at.length || !site->block_at.length || !whole) {
    sites_why(site, kr_xstrdup("its configuration is not written out at the launch"));
    for (int i = 0; i < 4; i++)
      *parts[i] = (struct kr_span){0, 0};
    return;
  }
  site->grid_text = sites_text(s, site->grid_at);
  site->block_text = sites_text(s, site->block_at);
  if (site->shared_at.length)
    site->shared_text = sites_text(s, site->shared_at);
}

static void sites_args(struct sites *s, CXCursor call, struct kr_psite *site)
{
  int n = clang_Cursor_getNumArguments(call);
  site->n_args = n > 0 ? (size_t)n : 0;
  site->args = kr_xcalloc(site->n_args + 1, sizeof *site->args);
  for (size_t i = 0; i < site->n_args; i++) {
    struct kr_parg *arg = &site->args[i];
    CXCursor cursor = clang_Cursor_getArgument(call, (unsigned)i);
    arg->side_effects = sites_has_effect(cursor);
    if (sites_arg(s, call, (unsigned)i, site->at, &arg->at))
      arg->text = sites_text(s, arg->at);
    else // a default argument, or out of a macro
      arg->text = kr_xstrdup("");
    if (sites_is_name(arg->text))
      arg->same_as_path = kr_xstrdup(arg->text);
  }
}

static void sites_elsewhere(struct sites *s, CXCursor call, struct kr_psite *site)
{
  CXFile file = NULL;
  unsigned offset;
  clang_getFileLocation(clang_getCursorLocation(call), &file, &site->line, &site->col, &offset);
  site->file = tu_file_shown(s->tu, file);
  site->args = kr_xcalloc(1, sizeof *site->args);
  sites_why(site, kr_xasprintf("it stands in another file (%s:%u)", site->file, site->line));
  site->geometry_error =
      kr_xasprintf("its launch in %s:%u is not read", site->file, site->line);
}

static void sites_one(struct sites *s, CXCursor call, CXCursor callee, CXCursor config)
{
  struct tu *tu = s->tu;
  CXFile file = NULL;
  size_t open;
  tu_place(clang_getRangeStart(clang_getCursorExtent(config)), &file, &open);
  bool in_file = tu_is_main(tu, file);
  if (in_file) {
    KR_GROW(s->seen, s->n_seen, s->cap_seen);
    s->seen[s->n_seen++] = open;
  }
  CXCursor ref;
  size_t which = sites_callee(s, callee, &ref);
  if (which == SIZE_MAX)
    return;
  sites_arguments(s, which, ref, s->u->kernels[which].n_sites);
  struct kr_pkernel *k = &s->u->kernels[which];
  k->sites = kr_xreallocarray(k->sites, k->n_sites + 1, sizeof *k->sites);
  struct kr_psite *site = &k->sites[k->n_sites++];
  *site = (struct kr_psite){.in_file = in_file, .editable = true};
  site->enclosing = clang_Cursor_isNull(s->function)
                        ? kr_xstrdup("")
                        : tu_take(clang_getCursorSpelling(s->function));
  if (!in_file) {
    sites_elsewhere(s, call, site);
    return;
  }
  site->file = kr_xstrdup(tu->given);
  if (!tu_span(tu, call, &site->at) || !tu_span(tu, config, &site->config)) {
    site->at = (struct kr_span){open, 0};
    site->config = (struct kr_span){open, 0};
  }
  kr_source_place(&tu->src, site->at.offset, &site->line, &site->col);
  CXCursor use = macros_expansion_at(macros_of(tu), open);
  if (open >= tu->src.len || tu->src.data[open] != '<') {
    char *name = clang_Cursor_isNull(use) ? kr_xstrdup("?") : tu_take(clang_getCursorSpelling(use));
    sites_why(site, kr_xasprintf("its `<<<` comes from macro %s", name));
    free(name);
  } else if (!clang_Cursor_isNull(use)) {
    char *name = tu_take(clang_getCursorSpelling(use));
    sites_why(site, kr_xasprintf("it stands in an argument of macro %s", name));
    free(name);
    sites_config(s, config, site);
  } else {
    sites_config(s, config, site);
  }
  sites_args(s, call, site);
  if (clang_getCursorKind(s->function) == CXCursor_FunctionTemplate ||
      clang_Cursor_isNull(clang_getCursorReferenced(ref)) ||
      (k->is_template && clang_getCursorKind(clang_getCursorReferenced(ref)) != CXCursor_FunctionDecl))
    sites_why(site, kr_xstrdup("it depends on template arguments"));
  geometry_read(tu, s->kernels[which], k, call, ref, config, s->function, site);
}

// --- the walk ---

static bool sites_is_config(CXCursor c)
{
  if (clang_getCursorKind(c) != CXCursor_CallExpr)
    return false;
  char *name = tu_take(clang_getCursorSpelling(c));
  bool is = !strcmp(name, "__cudaPushCallConfiguration") || !strcmp(name, "cudaConfigureCall");
  free(name);
  return is;
}

bool sites_is_launch(CXCursor call)
{
  size_t n;
  CXCursor *kids = tu_children(call, &n);
  bool is = n >= 2 && sites_is_config(kids[1]);
  free(kids);
  return is;
}

// Functions that take a kernel without launching it.
static bool sites_harmless(CXCursor call)
{
  char *name = tu_take(clang_getCursorSpelling(call));
  bool is = !strncmp(name, "cudaFunc", 8) || !strncmp(name, "cudaOccupancy", 13);
  free(name);
  return is;
}

static int sites_visit(void *arg, CXCursor cursor, CXCursor parent);

static void sites_below(struct sites *s, CXCursor cursor)
{
  tu_visit(cursor, sites_visit, s);
}

static int sites_visit(void *arg, CXCursor cursor, CXCursor parent)
{
  struct sites *s = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  enum CXCursorKind above = clang_getCursorKind(parent);
  if (clang_isPreprocessing(kind))
    return 1;
  if ((above == CXCursor_TranslationUnit || above == CXCursor_Namespace) &&
      kind != CXCursor_Namespace && kind != CXCursor_LinkageSpec && !tu_in_users(s->tu, cursor))
    return 1;
  switch (kind) {
  case CXCursor_FunctionDecl:
  case CXCursor_FunctionTemplate:
  case CXCursor_CXXMethod:
  case CXCursor_Constructor:
  case CXCursor_Destructor:
  case CXCursor_ConversionFunction: {
    if (!clang_isCursorDefinition(cursor))
      return 1;
    CXCursor outer = s->function;
    s->function = cursor;
    sites_below(s, cursor);
    s->function = outer;
    return 1;
  }
  case CXCursor_CallExpr: {
    size_t n;
    CXCursor *kids = tu_children(cursor, &n);
    bool launch = n >= 2 && sites_is_config(kids[1]);
    sites_made(s, cursor);
    if (launch) {
      sites_one(s, cursor, kids[0], kids[1]);
      for (size_t i = 1; i < n; i++)
        if (!sites_visit(s, kids[i], cursor))
          sites_below(s, kids[i]);
    }
    free(kids);
    return launch || sites_harmless(cursor) ? 1 : 0;
  }
  case CXCursor_MemberRefExpr:
    sites_made(s, cursor);
    return 0;
  case CXCursor_DeclRefExpr:
  case CXCursor_OverloadedDeclRef: {
    struct kr_span at;
    size_t which = sites_kernel(s, cursor);
    if (which != SIZE_MAX && tu_span(s->tu, cursor, &at)) {
      sites_lost(s, at.offset, at.length);
      sites_arguments(s, which, cursor, SIZE_MAX);
    }
    sites_made(s, cursor);
    return 0;
  }
  default:
    return 0;
  }
}

// --- functions made from templates ---

// The site that was found where the template is written.
static size_t sites_at(const struct kr_pkernel *k, size_t config)
{
  for (size_t i = 0; i < k->n_sites; i++)
    if (k->sites[i].in_file && k->sites[i].config.offset == config)
      return i;
  return SIZE_MAX;
}

static int sites_visit_made(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct sites *s = arg;
  CXCursor ref;
  size_t n, which;
  switch (clang_getCursorKind(cursor)) {
  case CXCursor_CallExpr: {
    CXCursor *kids = tu_children(cursor, &n);
    sites_made(s, cursor);
    if (n >= 2 && sites_is_config(kids[1]) &&
        (which = sites_callee(s, kids[0], &ref)) != SIZE_MAX) {
      CXFile file = NULL;
      size_t open;
      tu_place(clang_getRangeStart(clang_getCursorExtent(kids[1])), &file, &open);
      sites_arguments(s, which, ref,
                      tu_is_main(s->tu, file) ? sites_at(&s->u->kernels[which], open) : SIZE_MAX);
    }
    free(kids);
    return 0;
  }
  case CXCursor_DeclRefExpr:
    which = sites_kernel(s, cursor);
    if (which != SIZE_MAX)
      sites_arguments(s, which, cursor, SIZE_MAX);
    sites_made(s, cursor);
    return 0;
  case CXCursor_MemberRefExpr:
    sites_made(s, cursor);
    return 0;
  default:
    return 0;
  }
}

// --- what the AST lost ---

static bool sites_seen(const struct sites *s, size_t offset)
{
  for (size_t i = 0; i < s->n_seen; i++)
    if (s->seen[i] == offset)
      return true;
  return false;
}

// A launch written in a macro's body counts as seen when some use of the macro
// gave one.
static bool sites_macro_seen(const struct sites *s, const char *name)
{
  for (size_t i = 0; i < s->n_seen; i++) {
    CXCursor use = macros_expansion_at(macros_of(s->tu), s->seen[i]);
    if (clang_Cursor_isNull(use))
      continue;
    char *used = tu_take(clang_getCursorSpelling(use));
    bool same = !strcmp(used, name);
    free(used);
    if (same)
      return true;
  }
  return false;
}

static void sites_scan(struct sites *s)
{
  const char *text = s->tu->buffer;
  size_t n;
  struct kr_token *toks = kr_lex_all(text, s->tu->src.len, false, &n);
  char macro[256] = "";
  for (size_t i = 0; i < n; i++) {
    if (toks[i].flags & KR_TOK_DIRECTIVE_START) {
      macro[0] = '\0';
      if (i + 2 < n && kr_token_is(text, toks[i + 1], "define"))
        kr_token_text(text, toks[i + 2], macro, sizeof macro);
    }
    if (!kr_token_is(text, toks[i], "<<<") || sites_seen(s, toks[i].offset))
      continue;
    if (toks[i].flags & KR_TOK_DIRECTIVE && macro[0] && sites_macro_seen(s, macro))
      continue;
    // Back to the name: over template arguments, if there are any.
    size_t k = i, depth = 0;
    while (k-- > 0) {
      if (kr_token_is(text, toks[k], ">"))
        depth++;
      else if (kr_token_is(text, toks[k], ">>"))
        depth += 2;
      else if (kr_token_is(text, toks[k], "<") && depth)
        depth--;
      else if (!depth)
        break;
    }
    if (k < i && toks[k].kind == KR_TOK_IDENTIFIER)
      sites_lost(s, toks[k].offset, toks[i].offset + toks[i].length - toks[k].offset);
    else
      sites_lost(s, toks[i].offset, toks[i].length);
  }
  free(toks);
}

static int sites_by_offset(const void *a, const void *b)
{
  const struct kr_span *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void sites_fill(struct tu *tu, const CXCursor *cursors, struct kr_unit *u)
{
  struct sites s = {.tu = tu, .kernels = cursors, .u = u, .function = clang_getNullCursor()};
  sites_below(&s, clang_getTranslationUnitCursor(tu->unit));
  bool templates = false;
  for (size_t i = 0; i < u->n_kernels; i++)
    templates = templates || u->kernels[i].is_template;
  for (size_t i = 0; templates && i < s.n_made; i++) {
    CXCursor made = s.made[i]; // the list may move
    tu_visit(made, sites_visit_made, &s);
  }
  sites_scan(&s);
  if (u->n_lost_launches)
    qsort(u->lost_launches, u->n_lost_launches, sizeof *u->lost_launches, sites_by_offset);
  free(s.seen);
  free(s.made);
}
