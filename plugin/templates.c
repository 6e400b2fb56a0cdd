#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Kernels that are templates: their parameters, and arguments as the compiler
// spells them, which is how two lists of arguments are compared and how a kernel
// is named outside of the file.

// --- the head ---

// `template <...>`: the tokens of the angles, without what stands before them.
static bool templates_angles(const char *text, const struct kr_token *toks, size_t n,
                             struct kr_span within, size_t *first, size_t *last)
{
  size_t i = 0, round = 0, angles = 0;
  while (i < n && toks[i].offset < within.offset)
    i++;
  for (; i + 1 < n && toks[i].offset < within.offset + within.length; i++)
    if (kr_token_is(text, toks[i], "template") && kr_token_is(text, toks[i + 1], "<"))
      break;
  if (i + 1 >= n || toks[i].offset >= within.offset + within.length)
    return false;
  *first = i + 1;
  for (i++; i < n && toks[i].kind != KR_TOK_END; i++) {
    static const char *const open[] = {"(", "[", "{"}, *const close[] = {")", "]", "}"};
    for (int b = 0; b < 3; b++) {
      round += kr_token_is(text, toks[i], open[b]);
      round -= round && kr_token_is(text, toks[i], close[b]);
    }
    if (round)
      continue;
    angles += kr_token_is(text, toks[i], "<");
    size_t closers = kr_token_is(text, toks[i], ">")    ? 1
                     : kr_token_is(text, toks[i], ">>") ? 2
                                                        : 0;
    angles = closers > angles ? 0 : angles - closers;
    if (!angles) {
      *last = i;
      return true;
    }
  }
  return false;
}

struct kr_span templates_head(const char *text, size_t len, struct kr_span kernel)
{
  size_t n, first, last;
  struct kr_token *toks = kr_lex_all(text, len, false, &n);
  struct kr_span head = {0, 0};
  if (templates_angles(text, toks, n, kernel, &first, &last))
    head = (struct kr_span){toks[first].offset,
                            toks[last].offset + toks[last].length - toks[first].offset};
  free(toks);
  return head;
}

size_t templates_split(const char *text, const struct kr_token *toks, size_t n, size_t open,
                       struct kr_span *out, size_t max)
{
  size_t round = 0, angles = 0, found = 0, begin = open + 1;
  for (size_t i = open; i < n && toks[i].kind != KR_TOK_END; i++) {
    static const char *const opens[] = {"(", "[", "{"}, *const closes[] = {")", "]", "}"};
    size_t was = round;
    for (int b = 0; b < 3; b++) {
      round += kr_token_is(text, toks[i], opens[b]);
      round -= round && kr_token_is(text, toks[i], closes[b]);
    }
    if (round || was)
      continue;
    angles += kr_token_is(text, toks[i], "<");
    size_t closers = kr_token_is(text, toks[i], ">")    ? 1
                     : kr_token_is(text, toks[i], ">>") ? 2
                                                        : 0;
    bool ends = closers >= angles;
    angles -= ends ? 0 : closers;
    if (!ends && (angles != 1 || !kr_token_is(text, toks[i], ",")))
      continue;
    if (i == begin && ends && !found)
      return 0; // `<>`
    if (i == begin || found == max)
      return 0;
    size_t stop = toks[i - 1].offset + toks[i - 1].length;
    // `A<B>>`: the first half belongs to the last argument.
    if (ends && closers > 1 && angles == 1)
      return 0;
    if (ends && closers > 1)
      stop = toks[i].offset + 1;
    out[found++] = (struct kr_span){toks[begin].offset, stop - toks[begin].offset};
    begin = i + 1;
    if (ends)
      return found;
  }
  return 0;
}

// --- parameters ---

static bool templates_integer(CXType type)
{
  enum CXTypeKind kind = clang_getCanonicalType(type).kind;
  return (kind >= CXType_Char_U && kind <= CXType_ULongLong) ||
         (kind >= CXType_Char_S && kind <= CXType_LongLong);
}

static void templates_parameter(struct kr_pkernel *k, CXCursor c)
{
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind != CXCursor_TemplateTypeParameter && kind != CXCursor_NonTypeTemplateParameter &&
      kind != CXCursor_TemplateTemplateParameter)
    return;
  char *name = tu_take(clang_getCursorSpelling(c));
  struct kr_ptparam t = {.name = name, .kind = KR_TKIND_TYPE};
  char *why = NULL;
  if (kind == CXCursor_TemplateTemplateParameter) {
    why = kr_xasprintf("template template parameters (`%s`) are not there yet", name);
  } else if (kind == CXCursor_NonTypeTemplateParameter) {
    CXType type = clang_getCursorType(c), plain = clang_getCanonicalType(type);
    if (plain.kind == CXType_Bool) {
      t.kind = KR_TKIND_BOOL;
    } else if (plain.kind == CXType_Enum) {
      t.kind = KR_TKIND_ENUM;
    } else if (templates_integer(type)) {
      t.kind = KR_TKIND_INTEGER;
    } else {
      char *spelt = tu_take(clang_getTypeSpelling(type));
      why = kr_xasprintf("template parameters of type %s (`%s`) are not there yet", spelt, name);
      free(spelt);
    }
  }
  k->tparams = kr_xreallocarray(k->tparams, k->n_tparams + 1, sizeof *k->tparams);
  k->tparams[k->n_tparams++] = t;
  if (why && !k->refused)
    k->refused = why;
  else
    free(why);
}

void templates_fill(CXCursor cursor, const char *text, const struct kr_token *toks, size_t n,
                    struct kr_pkernel *k)
{
  size_t n_kids, first, last;
  CXCursor *kids = tu_children(cursor, &n_kids);
  for (size_t i = 0; i < n_kids; i++)
    templates_parameter(k, kids[i]);
  free(kids);
  if (!templates_angles(text, toks, n, k->at, &first, &last)) {
    if (!k->refused)
      k->refused = kr_xstrdup("its template head is written in a way that is not there yet");
    return;
  }
  // libclang does not tell packs and defaults; they are found in the text.
  size_t param = 0, round = 0, angles = 1;
  for (size_t i = first + 1; i < last; i++) {
    round += kr_token_is(text, toks[i], "(") + kr_token_is(text, toks[i], "{");
    round -= round && (kr_token_is(text, toks[i], ")") || kr_token_is(text, toks[i], "}"));
    if (kr_token_is(text, toks[i], "...") && !k->refused)
      k->refused = kr_xstrdup("template parameter packs are not there yet");
    angles += !round && kr_token_is(text, toks[i], "<");
    angles -= !round && kr_token_is(text, toks[i], ">");
    if (round || angles != 1)
      continue;
    param += kr_token_is(text, toks[i], ",");
    if (kr_token_is(text, toks[i], "=") && param < k->n_tparams)
      k->tparams[param].has_default = true;
  }
}

// --- names ---

// Without "(anonymous namespace)::", which nobody can write.
static char *templates_written(char *spelt)
{
  static const char hidden[] = "(anonymous namespace)::";
  for (char *at; (at = strstr(spelt, hidden));)
    memmove(at, at + sizeof hidden - 1, strlen(at + sizeof hidden - 1) + 1);
  return spelt;
}

// Hangs on a template's parameters. Its canonical spelling then has numbers for
// names, or names of whichever template came first in the file.
static bool templates_dependent(CXType type)
{
  for (;;) {
    CXType to = clang_getPointeeType(type), element = clang_getArrayElementType(type);
    if (to.kind != CXType_Invalid)
      type = clang_getCanonicalType(to);
    else if (element.kind != CXType_Invalid)
      type = clang_getCanonicalType(element);
    else
      return clang_Type_getSizeOf(type) == CXTypeLayoutError_Dependent;
  }
}

char *templates_signature(CXCursor fn)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  CXType type = clang_getCanonicalType(clang_getCursorType(fn));
  int n = clang_getNumArgTypes(type);
  size_t n_kids = 0, n_names = 0;
  CXCursor *kids = NULL;
  if (clang_getCursorKind(fn) == CXCursor_FunctionTemplate) {
    // Told apart by what kinds of arguments they take, too.
    kids = tu_children(fn, &n_kids);
    kr_bytes_addc(&b, '<');
    for (size_t i = 0; i < n_kids; i++) {
      enum CXCursorKind kind = clang_getCursorKind(kids[i]);
      bool value = kind == CXCursor_NonTypeTemplateParameter;
      if (!value && kind != CXCursor_TemplateTypeParameter &&
          kind != CXCursor_TemplateTemplateParameter)
        continue;
      char *spelt = value ? tu_take(clang_getTypeSpelling(clang_getCursorType(kids[i])))
                          : kr_xstrdup(kind == CXCursor_TemplateTypeParameter ? "typename"
                                                                              : "template");
      char *name = tu_take(clang_getCursorSpelling(kids[i]));
      kr_bytes_addf(&b, "%s%s%s%s", n_names++ ? ", " : "", spelt, name[0] ? " " : "", name);
      free(name);
      free(spelt);
    }
    kr_bytes_addc(&b, '>');
    free(kids);
  }
  kr_bytes_addc(&b, '(');
  for (int i = 0; i < n; i++) {
    CXType one = clang_getArgType(type, (unsigned)i);
    if (templates_dependent(one))
      one = clang_getArgType(clang_getCursorType(fn), (unsigned)i);
    char *spelt = tu_take(clang_getTypeSpelling(one));
    kr_bytes_addf(&b, "%s%s", i ? ", " : "", spelt);
    free(spelt);
  }
  if (clang_isFunctionTypeVariadic(type))
    kr_bytes_adds(&b, n ? ", ..." : "...");
  kr_bytes_addc(&b, ')');
  char *text = kr_xstrdup(b.data);
  kr_bytes_release(&b);
  return text;
}

// --- arguments ---

struct templates_enumerator {
  long long value;
  CXCursor found;
};

static int templates_enumerator(void *arg, CXCursor c, CXCursor parent)
{
  (void)parent;
  struct templates_enumerator *e = arg;
  if (clang_getCursorKind(c) != CXCursor_EnumConstantDecl ||
      clang_getEnumConstantDeclValue(c) != e->value)
    return 1;
  e->found = c;
  return 2;
}

// The type of parameter `i` of the template that `fn` was made from.
static CXType templates_type_of(CXCursor fn, size_t i)
{
  size_t n, at = 0;
  CXCursor *kids = tu_children(clang_getSpecializedCursorTemplate(fn), &n);
  CXType type = {.kind = CXType_Invalid};
  for (size_t k = 0; k < n; k++) {
    enum CXCursorKind kind = clang_getCursorKind(kids[k]);
    if (kind != CXCursor_NonTypeTemplateParameter && kind != CXCursor_TemplateTypeParameter &&
        kind != CXCursor_TemplateTemplateParameter)
      continue;
    if (at++ == i)
      type = clang_getCursorType(kids[k]);
  }
  free(kids);
  return type;
}

// An enumerator's name, which unlike its number converts.
static char *templates_enum_name(CXCursor fn, size_t i, int64_t value)
{
  CXCursor decl = clang_getTypeDeclaration(clang_getCanonicalType(templates_type_of(fn, i)));
  struct templates_enumerator e = {value, clang_getNullCursor()};
  tu_visit(decl, templates_enumerator, &e);
  if (!clang_Cursor_isNull(e.found)) {
    char *name = tu_qualified(e.found), *of = tu_qualified(decl);
    size_t len = strlen(of);
    if (clang_EnumDecl_isScoped(decl) && strncmp(name, of, len)) {
      char *longer = kr_xasprintf("%s::%s", of, name);
      free(name);
      name = longer;
    }
    free(of);
    return name;
  }
  char *of = tu_qualified(decl);
  char *cast = of[0] && !strchr(of, '(') ? kr_xasprintf("(%s)%lld", of, (long long)value) : NULL;
  free(of);
  return cast;
}

size_t templates_arguments(CXCursor fn, const struct kr_pkernel *k, char ***arguments,
                           int64_t **values)
{
  int n = clang_Cursor_getNumTemplateArguments(fn);
  *arguments = NULL;
  *values = NULL;
  if (n <= 0 || (size_t)n != k->n_tparams)
    return 0;
  *arguments = kr_xcalloc((size_t)n + 1, sizeof **arguments);
  *values = kr_xcalloc((size_t)n + 1, sizeof **values);
  for (int i = 0; i < n; i++) {
    char *text = NULL;
    if (clang_Cursor_getTemplateArgumentKind(fn, (unsigned)i) == CXTemplateArgumentKind_Type) {
      CXType type = clang_Cursor_getTemplateArgumentType(fn, (unsigned)i);
      text = templates_written(tu_take(clang_getTypeSpelling(clang_getCanonicalType(type))));
      if (strchr(text, '(')) { // of a lambda, or of a type without a name
        free(text);
        text = NULL;
      }
    } else if (clang_Cursor_getTemplateArgumentKind(fn, (unsigned)i) ==
               CXTemplateArgumentKind_Integral) {
      int64_t v = clang_Cursor_getTemplateArgumentValue(fn, (unsigned)i);
      if (k->tparams[i].kind == KR_TKIND_BOOL)
        v = v != 0;
      (*values)[i] = v;
      text = k->tparams[i].kind == KR_TKIND_BOOL   ? kr_xstrdup(v ? "true" : "false")
             : k->tparams[i].kind == KR_TKIND_ENUM ? templates_enum_name(fn, (size_t)i, v)
                                                   : kr_xasprintf("%lld", (long long)v);
    }
    if (!text) {
      for (int j = 0; j < i; j++)
        free((*arguments)[j]);
      free(*arguments);
      free(*values);
      *arguments = NULL;
      *values = NULL;
      return 0;
    }
    (*arguments)[i] = text;
  }
  return (size_t)n;
}

// --- where it is launched ---

static bool templates_same(const struct kr_plaunched *l, char *const *arguments, size_t n)
{
  if (l->n_arguments != n)
    return false;
  for (size_t i = 0; i < n; i++)
    if (strcmp(l->arguments[i], arguments[i]))
      return false;
  return true;
}

void templates_launched(struct kr_pkernel *k, char **arguments, size_t n, const char *file,
                        unsigned line, bool by_name, size_t site)
{
  struct kr_plaunched *l = NULL;
  for (size_t i = 0; i < k->n_launched && n; i++)
    if (templates_same(&k->launched[i], arguments, n) && k->launched[i].by_name == by_name)
      l = &k->launched[i];
  if (l) {
    for (size_t i = 0; i < n; i++)
      free(arguments[i]);
    free(arguments);
  } else {
    k->launched = kr_xreallocarray(k->launched, k->n_launched + 1, sizeof *k->launched);
    l = &k->launched[k->n_launched++];
    *l = (struct kr_plaunched){.arguments = arguments,
                               .n_arguments = n,
                               .file = kr_xstrdup(file),
                               .line = line,
                               .by_name = by_name};
  }
  if (site == SIZE_MAX)
    return;
  for (size_t i = 0; i < l->n_sites; i++)
    if (l->sites[i] == site)
      return;
  l->sites = kr_xreallocarray(l->sites, l->n_sites + 1, sizeof *l->sites);
  l->sites[l->n_sites++] = site;
}

// `template __global__ void k<64>(...);`, which is in the text alone.
void templates_by_name(const struct tu *tu, const struct kr_token *toks, size_t n,
                       struct kr_pkernel *k)
{
  const char *text = tu->src.data;
  for (size_t i = 0; i + 1 < n; i++) {
    if (!kr_token_is(text, toks[i], "template") || kr_token_is(text, toks[i + 1], "<"))
      continue;
    size_t from = i, name = 0;
    for (i++; i < n && toks[i].kind != KR_TOK_END && !kr_token_is(text, toks[i], ";") &&
              !kr_token_is(text, toks[i], "{") && !kr_token_is(text, toks[i], "(");
         i++)
      if (kr_token_is(text, toks[i], k->name))
        name = i;
    if (!name)
      continue;
    unsigned line, col;
    kr_source_place(&tu->src, toks[from].offset, &line, &col);
    enum { MAX = 64 };
    struct kr_span at[MAX];
    size_t n_arguments = name + 1 < n && kr_token_is(text, toks[name + 1], "<")
                             ? templates_split(text, toks, n, name + 1, at, MAX)
                             : 0;
    char **arguments = n_arguments ? kr_xcalloc(n_arguments + 1, sizeof *arguments) : NULL;
    for (size_t a = 0; a < n_arguments; a++)
      arguments[a] = kr_xstrndup(text + at[a].offset, at[a].length);
    templates_launched(k, arguments, n_arguments, tu->given, line, true, SIZE_MAX);
  }
}
