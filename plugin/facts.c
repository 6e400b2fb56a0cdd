// Facts about a variant: what stands between the two halves of a slice, told
// from the parse of all three.
//
// What a variant must not do to the rest is found by comparison. The slice with
// the original in it is parsed once and remembered: which declarations touch the
// second half, and where they begin and end; which names are visible; which
// errors it has outside the kernel. A variant that opens a brace, a comment or a
// namespace into the second half, or closes one of the first, changes the first
// of these.

#include "unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

struct facts_known {
  struct kr_hash key; // of the three texts
  char *outline;
  char **names; // sorted
  size_t n_names, cap_names;
  struct kr_diags errors; // outside the kernel
};

struct facts {
  struct tu *tu;
  struct kr_facts *out;
  const struct facts_ask *ask;
  size_t begin, end; // of the code in the parsed text
  size_t cap_decls, cap_uses;
  bool extern_c;
  struct kr_token *toks; // of the code, without comments
  size_t n_toks;
};

static void facts_known_release(struct facts_known *k)
{
  free(k->outline);
  for (size_t i = 0; i < k->n_names; i++)
    free(k->names[i]);
  free(k->names);
  kr_diags_release(&k->errors);
}

void facts_forget(struct facts_known *k)
{
  if (!k)
    return;
  facts_known_release(k);
  free(k);
}

static int facts_parse(struct tu *tu, const struct facts_ask *ask, const char *code, struct kr_err *err)
{
  struct kr_bytes text;
  kr_bytes_init(&text, KR_SOURCE_MAX);
  kr_bytes_adds(&text, ask->before);
  kr_bytes_adds(&text, code);
  kr_bytes_adds(&text, ask->after);
  int status = text.toobig ? kr_err_set(err, "%s: the variant is too long", ask->kernel_name)
                           : tu_reparse(tu, text.data, text.len, err);
  kr_bytes_release(&text);
  return status;
}

static bool facts_is_scope(enum CXCursorKind kind)
{
  return kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec;
}

// The main file's span of a declaration; false for one of another file.
static bool facts_span(const struct tu *tu, CXCursor cursor, size_t *begin, size_t *end)
{
  CXSourceRange range = clang_getCursorExtent(cursor);
  CXFile file = NULL;
  tu_place(clang_getRangeStart(range), &file, begin);
  if (!tu_is_main(tu, file))
    return false;
  tu_place(clang_getRangeEnd(range), &file, end);
  if (!tu_is_main(tu, file))
    *end = SIZE_MAX;
  return true;
}

// --- the outline ---

struct facts_outline {
  struct tu *tu;
  size_t begin, end;
  struct kr_bytes *out;
};

// Where an offset is, independent of the code's length.
static void facts_where(const struct facts_outline *o, size_t offset, struct kr_bytes *out)
{
  if (offset < o->begin)
    kr_bytes_addf(out, " b%zu", offset);
  else if (offset > o->end)
    kr_bytes_addf(out, " a%zu", offset - o->end);
  else
    kr_bytes_adds(out, " c");
}

static int facts_outline_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct facts_outline *o = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  size_t begin, end;
  if (!clang_isDeclaration(kind) || !facts_span(o->tu, cursor, &begin, &end) || end < o->begin ||
      (begin >= o->begin && begin < o->end))
    return 1;
  char *usr = tu_take(clang_getCursorUSR(cursor));
  char *type = tu_take(clang_getTypeSpelling(clang_getCanonicalType(clang_getCursorType(cursor))));
  kr_bytes_addf(o->out, "%d %s %s", (int)kind, usr, type);
  facts_where(o, begin, o->out);
  facts_where(o, end, o->out);
  kr_bytes_addc(o->out, '\n');
  free(usr);
  free(type);
  return facts_is_scope(kind) ? 0 : 1;
}

static char *facts_outline(struct tu *tu, size_t begin, size_t end)
{
  struct kr_bytes text;
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  struct facts_outline o = {tu, begin, end, &text};
  tu_visit(clang_getTranslationUnitCursor(tu->unit), facts_outline_one, &o);
  char *outline = kr_bytes_take(&text);
  kr_bytes_release(&text);
  return outline;
}

// --- names ---

struct facts_names {
  struct tu *tu;
  struct facts_known *known;
  size_t begin, end;
};

static int facts_name_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct facts_names *f = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (!clang_isDeclaration(kind))
    return 1;
  size_t begin, end;
  bool main = facts_span(f->tu, cursor, &begin, &end);
  if (main && begin >= f->begin && begin < f->end)
    return 1;
  if (kind != CXCursor_LinkageSpec) {
    char *name = tu_take(clang_getCursorSpelling(cursor));
    if (name[0] && name[0] != '(') {
      KR_GROW(f->known->names, f->known->n_names, f->known->cap_names);
      f->known->names[f->known->n_names++] = name;
    } else {
      free(name);
    }
  }
  // Of other people's namespaces only the name is visible.
  return kind == CXCursor_LinkageSpec || kind == CXCursor_EnumDecl ||
                 (kind == CXCursor_Namespace && main)
             ? 0
             : 1;
}

static int facts_text_order(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool facts_knows(const struct facts_known *k, const char *name)
{
  return bsearch(&name, k->names, k->n_names, sizeof *k->names, facts_text_order) != NULL;
}

// Parses the original in the slice, unless that was done for these texts.
static int facts_learn(struct tu *tu, const struct facts_ask *ask, struct kr_err *err)
{
  struct kr_hasher h;
  kr_hasher_init(&h);
  kr_hasher_field(&h, ask->before, strlen(ask->before));
  kr_hasher_field(&h, ask->original, strlen(ask->original));
  kr_hasher_field(&h, ask->after, strlen(ask->after));
  struct kr_hash key = kr_hasher_end(&h);
  if (tu->known && kr_hash_equal(tu->known->key, key))
    return 0;
  facts_forget(tu->known);
  tu->known = NULL;
  if (facts_parse(tu, ask, ask->original, err))
    return -1;
  struct facts_known *k = kr_xcalloc(1, sizeof *k);
  size_t begin = strlen(ask->before), end = begin + strlen(ask->original);
  k->key = key;
  k->outline = facts_outline(tu, begin, end);
  struct facts_names names = {tu, k, begin, end};
  tu_visit(clang_getTranslationUnitCursor(tu->unit), facts_name_one, &names);
  if (k->n_names)
    qsort(k->names, k->n_names, sizeof *k->names, facts_text_order);
  struct kr_diags all = {NULL, 0, 0, 0};
  tu_diags(tu, &all);
  for (size_t i = 0; i < all.n; i++)
    if (all.items[i].offset < begin || all.items[i].offset >= end)
      kr_diags_add(&k->errors, KR_SEV_ERROR, SIZE_MAX, 0, "%s", all.items[i].text);
  kr_diags_release(&all);
  tu->known = k;
  return 0;
}

// --- one declaration ---

static unsigned facts_line(const struct facts *f, size_t offset)
{
  unsigned line = 1;
  for (size_t i = f->begin; i < offset && i < f->end; i++)
    line += f->tu->src.data[i] == '\n';
  return line;
}

static bool facts_is_qualifier(const char *word)
{
  static const char *const words[] = {"static",  "inline",   "extern",    "constexpr", "consteval",
                                      "constinit", "const",  "volatile",  "thread_local", "mutable",
                                      "virtual", "explicit", "friend",    "register",  "alignas"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], word))
      return true;
  return !strncmp(word, "__", 2);
}

// Attributes and qualifiers among the tokens before the name and, of a function,
// between its parameters and its body, with what is in their brackets.
static char *facts_attributes(const struct facts *f, size_t begin, size_t name_at, bool function,
                              bool *is_constexpr)
{
  struct kr_bytes text;
  kr_bytes_init(&text, 1 << 20);
  const char *code = f->tu->src.data + f->begin;
  long depth = 0, square = 0, params = 0;
  bool open = false;
  for (size_t i = 0; i < f->n_toks && f->toks[i].kind != KR_TOK_END; i++) {
    struct kr_token t = f->toks[i];
    size_t at = f->begin + t.offset;
    if (at < begin)
      continue;
    char word[256];
    kr_token_text(code, t, word, sizeof word);
    if (at >= name_at) {
      if (!function || (!params && !depth && (!strcmp(word, "{") || !strcmp(word, ";"))))
        break;
      if (!depth && !open && !strcmp(word, "("))
        params++;
      else if (params && !strcmp(word, "("))
        params++;
      else if (params && !strcmp(word, ")")) {
        params--;
        continue;
      }
      if (params)
        continue;
    }
    bool take = depth > 0 || square > 0;
    if (open && !strcmp(word, "("))
      take = true, depth = 1;
    else if (depth > 0)
      depth += !strcmp(word, "(") ? 1 : !strcmp(word, ")") ? -1 : 0;
    open = false;
    if (!strcmp(word, "[") && (square || kr_token_is(code, f->toks[i + 1], "[")))
      square++, take = true;
    else if (!strcmp(word, "]") && square)
      square--;
    if (!take && t.kind == KR_TOK_IDENTIFIER && facts_is_qualifier(word))
      take = open = true;
    *is_constexpr |= !strcmp(word, "constexpr") || !strcmp(word, "consteval");
    if (take)
      kr_bytes_addf(&text, "%s%s", text.len ? " " : "", word);
  }
  char *attributes = kr_bytes_take(&text);
  kr_bytes_release(&text);
  return attributes;
}

static bool facts_is_const(CXType type)
{
  // The canonical form carries an array's constness outside, the written one inside.
  type = clang_getCanonicalType(type);
  while (!clang_isConstQualifiedType(type) &&
         (type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray ||
          type.kind == CXType_VariableArray || type.kind == CXType_DependentSizedArray))
    type = clang_getArrayElementType(type);
  return clang_isConstQualifiedType(type);
}

// Tables and objects with static storage have bytes in memory of the device; a
// cast of their address writes them, whatever their type says.
static bool facts_is_writable(CXType type)
{
  type = clang_getCanonicalType(type);
  return type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray ||
         type.kind == CXType_DependentSizedArray ||
         (type.kind == CXType_Record && clang_Type_getSizeOf(type) != 1);
}

static bool facts_is_type(enum CXCursorKind kind)
{
  return kind == CXCursor_StructDecl || kind == CXCursor_ClassDecl || kind == CXCursor_UnionDecl ||
         kind == CXCursor_EnumDecl || kind == CXCursor_TypedefDecl ||
         kind == CXCursor_TypeAliasDecl || kind == CXCursor_TypeAliasTemplateDecl ||
         kind == CXCursor_ClassTemplate || kind == CXCursor_ClassTemplatePartialSpecialization;
}

static bool facts_is_function(enum CXCursorKind kind)
{
  return kind == CXCursor_FunctionDecl || kind == CXCursor_FunctionTemplate ||
         kind == CXCursor_CXXMethod || kind == CXCursor_Constructor ||
         kind == CXCursor_Destructor || kind == CXCursor_ConversionFunction;
}

static void facts_kernel(struct facts *f, CXCursor fn)
{
  struct kr_facts *out = f->out;
  if (out->kernel_usr)
    return;
  out->kernel_usr = tu_take(clang_getCursorUSR(fn));
  out->kernel_signature = templates_signature(fn);
  enum CXLinkageKind linkage = clang_getCursorLinkage(fn);
  out->kernel_linkage =
      linkage == CXLinkage_External ? KR_LINKAGE_EXTERNAL : KR_LINKAGE_INTERNAL;
  CXCursor *params = tu_params(fn, &out->n_params);
  out->param_restrict = kr_xcalloc(out->n_params + 1, sizeof *out->param_restrict);
  for (size_t i = 0; i < out->n_params; i++)
    out->param_restrict[i] =
        clang_isRestrictQualifiedType(clang_getCursorType(params[i]));
  free(params);
}

static void facts_decl(struct facts *f, CXCursor c, enum CXCursorKind kind, size_t begin)
{
  struct kr_fact_decl d = {0};
  d.name = tu_take(clang_getCursorSpelling(c));
  d.qualified = tu_qualified(c);
  d.line = facts_line(f, begin);
  CXFile file = NULL;
  size_t name_at;
  tu_place(clang_getCursorLocation(c), &file, &name_at);
  d.attributes = facts_attributes(f, begin, name_at, facts_is_function(kind), &d.is_constexpr);
  d.is_kernel = tu_is_kernel(c);
  d.is_device = tu_is_device(c);
  d.is_host = tu_is_host(c);
  d.is_static = clang_Cursor_getStorageClass(c) == CX_SC_Static;
  d.is_extern_c = f->extern_c;
  d.is_template = kind == CXCursor_FunctionTemplate || kind == CXCursor_ClassTemplate ||
                  kind == CXCursor_ClassTemplatePartialSpecialization ||
                  kind == CXCursor_TypeAliasTemplateDecl;
  d.type_name = facts_is_function(kind) ? templates_signature(c)
                                        : tu_take(clang_getTypeSpelling(clang_getCursorType(c)));
  if (facts_is_function(kind)) {
    d.kind = KR_FACT_FUNCTION;
  } else if (facts_is_type(kind)) {
    d.kind = KR_FACT_TYPE;
  } else if (kind == CXCursor_EnumConstantDecl) {
    d.kind = KR_FACT_CONSTANT;
  } else if (kind == CXCursor_VarDecl) {
    d.is_shared = tu_has_child(c, CXCursor_CUDASharedAttr);
    d.is_constant = tu_has_child(c, CXCursor_CUDAConstantAttr);
    d.has_initialiser = !clang_Cursor_isNull(clang_Cursor_getVarDeclInitializer(c));
    bool is_const = d.is_constexpr || facts_is_const(clang_getCursorType(c));
    d.is_mutable = (!is_const || facts_is_writable(clang_getCursorType(c))) && !d.is_shared &&
                   !d.is_constant;
    d.kind = is_const && !d.is_constant && !d.is_mutable ? KR_FACT_CONSTANT : KR_FACT_VARIABLE;
  } else {
    d.kind = KR_FACT_OTHER;
    if (!d.name[0]) {
      free(d.name);
      free(d.qualified);
      d.name = tu_take(clang_getCursorKindSpelling(kind)); // "StaticAssert", "UnexposedDecl"
      d.qualified = kr_xstrdup(d.name);
    }
  }
  bool the_kernel = d.is_kernel && !strcmp(d.name, f->ask->kernel_name);
  // An unnamed type hides nothing; its enumerators may.
  d.hides = !the_kernel && d.name[0] && d.name[0] != '(' && facts_knows(f->tu->known, d.name);
  if (the_kernel && clang_isCursorDefinition(c))
    facts_kernel(f, c);
  KR_GROW(f->out->decls, f->out->n_decls, f->cap_decls);
  f->out->decls[f->out->n_decls++] = d;
}

// --- what the code does ---

static void facts_use(struct facts *f, const char *name, size_t at, bool in_variant)
{
  unsigned line = facts_line(f, at);
  for (size_t i = f->out->n_uses; i-- > 0;)
    if (f->out->uses[i].line == line && !strcmp(f->out->uses[i].name, name))
      return;
  KR_GROW(f->out->uses, f->out->n_uses, f->cap_uses);
  f->out->uses[f->out->n_uses++] = (struct kr_fact_use){kr_xstrdup(name), line, in_variant};
}

static bool facts_is_local(CXCursor var)
{
  CXCursor up = clang_getCursorSemanticParent(var);
  return facts_is_function(clang_getCursorKind(up)) ||
         clang_getCursorKind(up) == CXCursor_LambdaExpr;
}

static void facts_reference(struct facts *f, CXCursor cursor)
{
  CXFile file = NULL;
  size_t at;
  tu_place(clang_getCursorLocation(cursor), &file, &at);
  if (!tu_is_main(f->tu, file) || at < f->begin || at >= f->end)
    return;
  CXCursor ref = clang_getCursorReferenced(cursor);
  enum CXCursorKind kind = clang_getCursorKind(ref);
  if (kind == CXCursor_OverloadedDeclRef && clang_getNumOverloadedDecls(ref))
    ref = clang_getOverloadedDecl(ref, 0), kind = clang_getCursorKind(ref);
  bool named = !clang_Cursor_isNull(ref) && !clang_isInvalid(kind);
  if (named && !facts_is_function(kind) && kind != CXCursor_VarDecl)
    return;
  if (named && kind == CXCursor_VarDecl && facts_is_local(ref))
    return;
  if (named && (kind == CXCursor_Constructor || kind == CXCursor_Destructor))
    return;
  bool in_variant = false;
  if (named) {
    CXFile home = NULL;
    size_t home_at;
    tu_place(clang_getCursorLocation(ref), &home, &home_at);
    in_variant = tu_is_main(f->tu, home) && home_at >= f->begin && home_at < f->end;
  }
  char *name = tu_take(clang_getCursorSpelling(named ? ref : cursor));
  if (name[0])
    facts_use(f, name, at, in_variant);
  // A macro stands for it: both names are told.
  for (size_t i = 0; i < f->n_toks && f->begin + f->toks[i].offset <= at; i++)
    if (f->begin + f->toks[i].offset == at && f->toks[i].kind == KR_TOK_IDENTIFIER) {
      char word[256];
      if (kr_token_text(f->tu->src.data + f->begin, f->toks[i], word, sizeof word) < sizeof word &&
          strcmp(word, name))
        facts_use(f, word, at, false);
    }
  free(name);
}

static int facts_static_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind == CXCursor_DeclRefExpr)
    *(CXCursor *)arg = clang_getCursorReferenced(cursor);
  return kind == CXCursor_UnexposedExpr || kind == CXCursor_ParenExpr ? 0 : 1;
}

// Is the operand of `&` or a cast a constant of the variant that outlives a launch?
static bool facts_is_static_of_code(const struct facts *f, CXCursor address)
{
  CXCursor var = clang_getNullCursor();
  CXFile file = NULL;
  size_t at;
  tu_visit(address, facts_static_one, &var);
  if (clang_Cursor_isNull(var) || clang_getCursorKind(var) != CXCursor_VarDecl ||
      tu_has_child(var, CXCursor_CUDASharedAttr))
    return false;
  tu_place(clang_getCursorLocation(var), &file, &at);
  return tu_is_main(f->tu, file) && at >= f->begin && at < f->end &&
         (!facts_is_local(var) || clang_Cursor_getStorageClass(var) == CX_SC_Static);
}

// A cast that gives a reference, `(int &)k`: what stands before its operand holds `&`.
static bool facts_casts_to_reference(const struct facts *f, CXCursor cast)
{
  CXFile file = NULL;
  size_t begin, end;
  CXSourceRange range = clang_getCursorExtent(cast);
  tu_place(clang_getRangeStart(range), &file, &begin);
  if (!tu_is_main(f->tu, file))
    return false;
  tu_place(clang_getRangeEnd(range), &file, &end);
  for (size_t i = 0; i < f->n_toks; i++) {
    size_t at = f->begin + f->toks[i].offset;
    if (at >= begin && at < end && kr_token_is(f->tu->src.data + f->begin, f->toks[i], "&"))
      return true;
  }
  return false;
}

static int facts_body_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct facts *f = arg;
  switch (clang_getCursorKind(cursor)) {
  case CXCursor_DeclRefExpr:
  case CXCursor_MemberRefExpr:
  case CXCursor_CallExpr:
  case CXCursor_OverloadedDeclRef:
    facts_reference(f, cursor);
    break;
  case CXCursor_VarDecl:
    if (facts_is_local(cursor) && clang_Cursor_getStorageClass(cursor) == CX_SC_Static &&
        !tu_has_child(cursor, CXCursor_CUDASharedAttr) &&
        (!facts_is_const(clang_getCursorType(cursor)) ||
         facts_is_writable(clang_getCursorType(cursor))))
      f->out->has_static_local = true;
    if (clang_getCursorType(cursor).kind == CXType_LValueReference &&
        facts_is_static_of_code(f, cursor))
      f->out->has_static_local = true;
    break;
  case CXCursor_CStyleCastExpr:
  case CXCursor_CXXReinterpretCastExpr:
  case CXCursor_CXXConstCastExpr:
  case CXCursor_CXXFunctionalCastExpr:
    if (facts_is_static_of_code(f, cursor) && facts_casts_to_reference(f, cursor))
      f->out->has_static_local = true;
    break;
  case CXCursor_UnaryOperator:
    if (clang_getCursorUnaryOperatorKind(cursor) == CXUnaryOperator_AddrOf &&
        facts_is_static_of_code(f, cursor))
      f->out->has_static_local = true;
    break;
  case CXCursor_GCCAsmStmt:
  case CXCursor_MSAsmStmt:
    f->out->has_asm = true;
    break;
  case CXCursor_IndirectGotoStmt:
  case CXCursor_AddrLabelExpr:
    f->out->has_goto_computed = true;
    break;
  default:
    break;
  }
  return 0;
}

static bool facts_is_constexpr(const struct facts *f, CXCursor function, size_t begin)
{
  CXFile file = NULL;
  size_t name_at;
  bool is_constexpr = false;
  tu_place(clang_getCursorLocation(function), &file, &name_at);
  free(facts_attributes(f, begin, name_at, true, &is_constexpr));
  return is_constexpr;
}

// Members that are objects of their own, static data, and host code.
static int facts_member_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct facts *f = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  size_t begin, end;
  if ((kind == CXCursor_VarDecl || kind == CXCursor_EnumConstantDecl) &&
      facts_span(f->tu, cursor, &begin, &end))
    facts_decl(f, cursor, kind, begin);
  // Of functions only those that the host would get: names inside a type hide nothing.
  if (facts_is_function(kind) && !tu_is_device(cursor) && !clang_CXXMethod_isDefaulted(cursor) &&
      !clang_CXXMethod_isDeleted(cursor) && facts_span(f->tu, cursor, &begin, &end) &&
      !facts_is_constexpr(f, cursor, begin))
    facts_decl(f, cursor, kind, begin);
  return kind == CXCursor_StructDecl || kind == CXCursor_ClassDecl || kind == CXCursor_UnionDecl ||
                 kind == CXCursor_EnumDecl || kind == CXCursor_ClassTemplate
             ? 0
             : 1;
}

static int facts_top_one(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct facts *f = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  size_t begin, end;
  if (!clang_isDeclaration(kind) || !facts_span(f->tu, cursor, &begin, &end) || end <= f->begin ||
      begin >= f->end)
    return 1;
  bool brought = begin >= f->begin;
  if (kind == CXCursor_LinkageSpec || (kind == CXCursor_Namespace && !brought)) {
    bool saved = f->extern_c;
    f->extern_c |= kind == CXCursor_LinkageSpec;
    tu_visit(cursor, facts_top_one, f);
    f->extern_c = saved;
    return 1;
  }
  // One that begins before the code and ends in it is that of a prefix such as
  // `extern "C"`, or is what the outline tells as a difference.
  facts_decl(f, cursor, kind, brought ? begin : f->begin);
  if (kind == CXCursor_Namespace)
    return 0; // of the variant's own: the contents are declarations too
  tu_visit(cursor, facts_body_one, f);
  if (facts_is_type(kind))
    tu_visit(cursor, facts_member_one, f);
  return 1;
}

// --- errors ---

static void facts_errors(struct facts *f)
{
  struct kr_diags all = {NULL, 0, 0, 0}, mine = {NULL, 0, 0, 0};
  tu_diags(f->tu, &all);
  for (size_t i = 0; i < all.n; i++) {
    const struct kr_diag *d = &all.items[i];
    bool inside = d->offset != SIZE_MAX && d->offset >= f->begin && d->offset < f->end;
    bool known = false;
    for (size_t k = 0; k < f->tu->known->errors.n && !inside && !known; k++)
      known = !strcmp(f->tu->known->errors.items[k].text, d->text);
    if (!known)
      kr_diags_add(&mine, KR_SEV_ERROR, inside ? d->offset - f->begin : SIZE_MAX,
                   inside ? d->length : 0, "%s", d->text);
  }
  kr_diags_release(&all);
  f->out->errors = mine.items;
  f->out->n_errors = mine.n;
}

int facts_make(struct tu *tu, const struct facts_ask *ask, struct kr_facts *out, struct kr_err *err)
{
  memset(out, 0, sizeof *out);
  if (facts_learn(tu, ask, err) || facts_parse(tu, ask, ask->code, err))
    return -1;
  size_t len = strlen(ask->code);
  struct facts f = {.tu = tu, .out = out, .ask = ask};
  f.begin = strlen(ask->before);
  f.end = f.begin + len;
  f.toks = kr_lex_all(ask->code, len, false, &f.n_toks);
  for (size_t i = 0; i < f.n_toks; i++)
    if (kr_token_is(ask->code, f.toks[i], "asm") || kr_token_is(ask->code, f.toks[i], "__asm__") ||
        kr_token_is(ask->code, f.toks[i], "__asm"))
      out->has_asm = true;
  tu_visit(clang_getTranslationUnitCursor(tu->unit), facts_top_one, &f);
  facts_errors(&f);
  char *outline = facts_outline(tu, f.begin, f.end);
  out->suffix_intact = !strcmp(outline, tu->known->outline);
  free(outline);
  free(f.toks);
  return 0;
}
