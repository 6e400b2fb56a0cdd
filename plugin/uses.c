#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// How a kernel uses its pointer parameters, as far as the text of the kernel and
// of the functions it calls shows.
//
// One set of facts for each variable, no order of statements: which parameters a
// value may point through (`ptr`), and which parameters' contents flowed into it
// (`data`). Functions are joined at their parameters and results. Every
// definition is walked until nothing changes; the facts only grow, so it ends.
// This over-approximates: it is for notes and for "these values are a subscript;
// say their limit", never for leaving a check out.

enum { USES_MAX = 64 }; // pointers told apart; those past it count as read and written

enum uses_mode { USES_ADDRESS, USES_READ, USES_WRITE, USES_UPDATE };

struct uses_val {
  uint64_t ptr, data;
};

struct uses_var {
  CXCursor decl;
  struct uses_val val;
};

struct uses {
  struct tu *tu;
  CXCursor kernel;
  struct kr_pkernel *k;
  const struct names_fn *fns;
  struct uses_var *vars;
  size_t n, cap;
  bool changed;
  struct uses_val *result; // of the function that is walked
};

static struct uses_val uses_expr(struct uses *s, CXCursor c, enum uses_mode mode);

static struct uses_val uses_join(struct uses_val a, struct uses_val b)
{
  return (struct uses_val){a.ptr | b.ptr, a.data | b.data};
}

static struct uses_val *uses_var(struct uses *s, CXCursor decl)
{
  decl = clang_getCanonicalCursor(decl);
  for (size_t i = 0; i < s->n; i++)
    if (clang_equalCursors(s->vars[i].decl, decl))
      return &s->vars[i].val;
  KR_GROW(s->vars, s->n, s->cap);
  s->vars[s->n] = (struct uses_var){decl, {0, 0}};
  return &s->vars[s->n++].val;
}

static void uses_flow(struct uses *s, CXCursor decl, struct uses_val v)
{
  struct uses_val *to = uses_var(s, decl);
  if ((to->ptr | v.ptr) != to->ptr || (to->data | v.data) != to->data)
    s->changed = true;
  *to = uses_join(*to, v);
}

static void uses_mark(struct uses *s, uint64_t bits, unsigned use, CXCursor at)
{
  for (size_t i = 0; i < s->k->n_uses && i < USES_MAX; i++) {
    if (!(bits >> i & 1))
      continue;
    struct kr_puse *u = &s->k->uses[i];
    if (use == KR_USE_SUBSCRIPT && !(u->uses & KR_USE_SUBSCRIPT)) {
      CXFile file = NULL;
      unsigned line = 0;
      clang_getFileLocation(clang_getCursorLocation(at), &file, &line, NULL, NULL);
      u->subscript_line = tu_is_main(s->tu, file) ? line : s->k->line;
    }
    u->uses |= use;
  }
}

static struct uses_val uses_access(struct uses *s, struct uses_val base, enum uses_mode mode,
                                   CXCursor at)
{
  if (mode == USES_READ || mode == USES_UPDATE)
    uses_mark(s, base.ptr, KR_USE_READ, at);
  if (mode == USES_WRITE || mode == USES_UPDATE)
    uses_mark(s, base.ptr, KR_USE_WRITE, at);
  if (mode == USES_ADDRESS)
    return base;
  enum CXTypeKind kind = clang_getCanonicalType(clang_getCursorType(at)).kind;
  return (struct uses_val){kind == CXType_Pointer ? base.ptr : 0, base.data | base.ptr};
}

static enum CXTypeKind uses_kind(CXCursor c)
{
  return clang_getCanonicalType(clang_getCursorType(c)).kind;
}

static bool uses_is_pointer(CXCursor c)
{
  enum CXTypeKind kind = uses_kind(c);
  return kind == CXType_Pointer || kind == CXType_ConstantArray || kind == CXType_IncompleteArray;
}

static struct uses_val uses_children(struct uses *s, CXCursor c, enum uses_mode mode)
{
  size_t n;
  CXCursor *kids = tu_children(c, &n);
  struct uses_val v = {0, 0};
  for (size_t i = 0; i < n; i++)
    v = uses_join(v, uses_expr(s, kids[i], mode));
  free(kids);
  return v;
}

// The one expression below casts and parentheses, the last child by libclang's order.
static CXCursor uses_strip(CXCursor c)
{
  for (;;) {
    enum CXCursorKind kind = clang_getCursorKind(c);
    if (kind != CXCursor_UnexposedExpr && kind != CXCursor_ParenExpr &&
        kind != CXCursor_CStyleCastExpr && kind != CXCursor_CXXStaticCastExpr &&
        kind != CXCursor_CXXReinterpretCastExpr && kind != CXCursor_CXXConstCastExpr &&
        kind != CXCursor_CXXFunctionalCastExpr)
      return c;
    size_t n;
    CXCursor *kids = tu_children(c, &n);
    if (!n) {
      free(kids);
      return c;
    }
    c = kids[n - 1];
    free(kids);
  }
}

// A member of a parameter that is a struct: the leaf's number, or -1.
static int uses_leaf(struct uses *s, CXCursor c)
{
  char *path = NULL;
  int found = -1;
  for (CXCursor at = uses_strip(c);; ) {
    enum CXCursorKind kind = clang_getCursorKind(at);
    char *name = NULL;
    size_t n;
    if (kind == CXCursor_DeclRefExpr) {
      CXCursor to = clang_getCursorReferenced(at);
      if (clang_getCursorKind(to) == CXCursor_ParmDecl &&
          clang_equalCursors(clang_getCursorSemanticParent(to), s->kernel)) {
        name = tu_take(clang_getCursorSpelling(to));
        char *whole = path ? kr_xasprintf("%s.%s", name, path) : kr_xstrdup(name);
        for (size_t i = 0; i < s->k->n_uses && i < USES_MAX; i++)
          if (!strcmp(s->k->uses[i].path, whole))
            found = (int)i;
        free(whole);
        free(name);
      }
      break;
    }
    if (kind != CXCursor_MemberRefExpr)
      break;
    name = tu_take(clang_getCursorSpelling(at));
    char *longer = path ? kr_xasprintf("%s.%s", name, path) : kr_xstrdup(name);
    free(name);
    free(path);
    path = longer;
    CXCursor *kids = tu_children(at, &n);
    CXCursor base = n ? kids[0] : clang_getNullCursor();
    free(kids);
    if (clang_Cursor_isNull(base) || uses_is_pointer(base))
      break;
    at = uses_strip(base);
  }
  free(path);
  return found;
}

static struct uses_val uses_ref(struct uses *s, CXCursor c, enum uses_mode mode)
{
  CXCursor to = clang_getCursorReferenced(c);
  enum CXCursorKind kind = clang_getCursorKind(to);
  if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl)
    return (struct uses_val){0, 0};
  struct uses_val v = *uses_var(s, to);
  enum CXTypeKind type = clang_getCanonicalType(clang_getCursorType(to)).kind;
  if ((type == CXType_LValueReference || type == CXType_RValueReference) && v.ptr)
    return uses_access(s, v, mode, c);
  return v;
}

// The variable that an assignment to `lhs` changes as a whole or in part.
static CXCursor uses_target(CXCursor lhs)
{
  CXCursor c = uses_strip(lhs);
  for (;;) {
    enum CXCursorKind kind = clang_getCursorKind(c);
    if (kind == CXCursor_DeclRefExpr)
      return clang_getCursorReferenced(c);
    if (kind != CXCursor_MemberRefExpr && kind != CXCursor_ArraySubscriptExpr)
      return clang_getNullCursor();
    size_t n;
    CXCursor *kids = tu_children(c, &n);
    CXCursor base = n ? uses_strip(kids[0]) : clang_getNullCursor();
    free(kids);
    // Past a pointer it is memory and no variable.
    if (clang_Cursor_isNull(base) || uses_kind(base) == CXType_Pointer)
      return clang_getNullCursor();
    c = base;
  }
}

static struct uses_val uses_assign(struct uses *s, CXCursor lhs, CXCursor rhs, bool update)
{
  struct uses_val v = uses_expr(s, rhs, USES_READ);
  if (update && uses_is_pointer(lhs)) {
    uses_mark(s, v.data, KR_USE_SUBSCRIPT, rhs);
    v.data = 0;
  }
  uses_expr(s, lhs, update ? USES_UPDATE : USES_WRITE);
  CXCursor var = uses_target(lhs);
  enum CXCursorKind kind = clang_getCursorKind(var);
  if (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl) {
    // Local arrays, shared memory too, and structs keep what was put into them.
    uses_flow(s, var, v);
  }
  return v;
}

static bool uses_is_null(CXCursor c)
{
  c = uses_strip(c);
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind == CXCursor_CXXNullPtrLiteralExpr || kind == CXCursor_GNUNullExpr)
    return true;
  if (kind != CXCursor_IntegerLiteral)
    return false;
  CXEvalResult e = clang_Cursor_Evaluate(c);
  bool zero = e && clang_EvalResult_getKind(e) == CXEval_Int && !clang_EvalResult_getAsLongLong(e);
  if (e)
    clang_EvalResult_dispose(e);
  return zero;
}

static struct uses_val uses_binary(struct uses *s, CXCursor c)
{
  size_t n;
  CXCursor *kids = tu_children(c, &n);
  struct uses_val v = {0, 0};
  if (n != 2) {
    free(kids);
    return uses_children(s, c, USES_READ);
  }
  enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(c);
  CXCursor l = kids[0], r = kids[1];
  free(kids);
  if (op == CXBinaryOperator_Assign)
    return uses_assign(s, l, r, false);
  if (op >= CXBinaryOperator_MulAssign && op <= CXBinaryOperator_OrAssign)
    return uses_assign(s, l, r, true);
  struct uses_val a = uses_expr(s, l, USES_READ), b = uses_expr(s, r, USES_READ);
  v = uses_join(a, b);
  bool lp = uses_is_pointer(l), rp = uses_is_pointer(r);
  if ((op == CXBinaryOperator_EQ || op == CXBinaryOperator_NE) &&
      ((lp && uses_is_null(r)) || (rp && uses_is_null(l))))
    uses_mark(s, lp ? a.ptr : b.ptr, KR_USE_NULL_TEST, c);
  if (lp != rp && (op == CXBinaryOperator_Add || op == CXBinaryOperator_Sub)) {
    uses_mark(s, lp ? b.data : a.data, KR_USE_SUBSCRIPT, c);
    v = lp ? a : b;
  }
  if (op == CXBinaryOperator_Comma)
    v = b;
  return v;
}

static bool uses_begins(const char *name, const char *with)
{
  return !strncmp(name, with, strlen(with));
}

// `a = b` and `a += b` of structs are calls.
static bool uses_is_assignment(const char *name)
{
  static const char *const known[] = {"operator=",  "operator+=", "operator-=",  "operator*=",
                                      "operator/=", "operator%=", "operator&=",  "operator|=",
                                      "operator^=", "operator<<=", "operator>>="};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i]))
      return true;
  return false;
}

static struct uses_val uses_call(struct uses *s, CXCursor c)
{
  int n = clang_Cursor_getNumArguments(c);
  CXCursor callee = clang_getCursorReferenced(c);
  char *name = tu_take(clang_getCursorSpelling(c));
  struct uses_val v = {0, 0};
  if (n == 2 && uses_is_assignment(name)) {
    v = uses_assign(s, clang_Cursor_getArgument(c, 0), clang_Cursor_getArgument(c, 1),
                    strcmp(name, "operator="));
    free(name);
    return v;
  }
  // An overloaded operator that is a member has its object as first argument.
  int n_params = clang_Cursor_getNumArguments(callee);
  int shift = clang_getCursorKind(callee) == CXCursor_CXXMethod && n == n_params + 1;
  bool atomic = uses_begins(name, "atomic") || uses_begins(name, "__atomic");
  bool load = uses_begins(name, "__ld"), store = uses_begins(name, "__st");
  CXCursor definition = clang_getNullCursor();
  if (!clang_Cursor_isNull(callee)) {
    definition = clang_getCursorDefinition(callee);
    if (clang_Cursor_isNull(definition))
      definition = clang_getCursorDefinition(clang_getSpecializedCursorTemplate(callee));
  }
  bool followed = false;
  for (size_t i = 0; i < s->fns->n; i++)
    followed |= !clang_Cursor_isNull(definition) &&
                clang_equalCursors(s->fns->items[i], definition);
  // The object of a member call, and what else stands before the arguments.
  size_t n_kids;
  CXCursor *kids = tu_children(c, &n_kids);
  if (n_kids && (int)n_kids > n)
    v = uses_expr(s, kids[0], USES_READ);
  free(kids);
  for (int i = 0; i < n; i++) {
    CXCursor arg = clang_Cursor_getArgument(c, (unsigned)i);
    CXType param = i < shift ? clang_getCursorType(arg)
                             : clang_getArgType(clang_getCursorType(callee), (unsigned)(i - shift));
    CXType plain = clang_getCanonicalType(param);
    bool by_reference = plain.kind == CXType_LValueReference || plain.kind == CXType_RValueReference;
    bool to_const = (by_reference || plain.kind == CXType_Pointer) &&
                    clang_isConstQualifiedType(clang_getCanonicalType(clang_getPointeeType(plain)));
    struct uses_val a = uses_expr(s, arg, by_reference && !to_const ? USES_ADDRESS : USES_READ);
    if (i == 0 && atomic) {
      uses_mark(s, a.ptr, KR_USE_ATOMIC, c);
      v.data |= a.ptr;
    } else if (i == 0 && (load || store)) {
      uses_mark(s, a.ptr, load ? KR_USE_READ : KR_USE_WRITE, c);
      v.data |= load ? a.ptr : 0;
    } else if (followed) {
      CXCursor parm = i < shift ? clang_getNullCursor()
                                : clang_Cursor_getArgument(definition, (unsigned)(i - shift));
      if (!clang_Cursor_isNull(parm))
        uses_flow(s, parm, a);
    } else if (plain.kind == CXType_Pointer || by_reference) {
      uses_mark(s, a.ptr, to_const ? KR_USE_READ : KR_USE_READ | KR_USE_WRITE, c);
      v.data |= a.ptr | a.data;
      v.ptr |= a.ptr;
    } else {
      v = uses_join(v, a);
    }
  }
  if (followed)
    v = uses_join(v, *uses_var(s, definition));
  free(name);
  return v;
}

static struct uses_val uses_unary(struct uses *s, CXCursor c, enum uses_mode mode)
{
  size_t n;
  CXCursor *kids = tu_children(c, &n);
  CXCursor operand = n ? kids[n - 1] : clang_getNullCursor();
  free(kids);
  if (clang_Cursor_isNull(operand))
    return (struct uses_val){0, 0};
  switch (clang_getCursorUnaryOperatorKind(c)) {
  case CXUnaryOperator_Deref:
    return uses_access(s, uses_expr(s, operand, USES_READ), mode, c);
  case CXUnaryOperator_AddrOf:
    return uses_expr(s, operand, USES_ADDRESS);
  case CXUnaryOperator_PostInc:
  case CXUnaryOperator_PostDec:
  case CXUnaryOperator_PreInc:
  case CXUnaryOperator_PreDec:
    return uses_expr(s, operand, USES_UPDATE);
  default:
    return uses_expr(s, operand, USES_READ);
  }
}

static struct uses_val uses_expr(struct uses *s, CXCursor c, enum uses_mode mode)
{
  size_t n;
  CXCursor *kids;
  struct uses_val v;
  int leaf;
  switch (clang_getCursorKind(c)) {
  case CXCursor_DeclRefExpr:
    leaf = uses_leaf(s, c);
    if (leaf >= 0)
      return (struct uses_val){(uint64_t)1 << leaf, uses_var(s, clang_getCursorReferenced(c))->data};
    return uses_ref(s, c, mode);
  case CXCursor_MemberRefExpr:
    leaf = uses_leaf(s, c);
    if (leaf >= 0)
      return (struct uses_val){(uint64_t)1 << leaf, 0};
    kids = tu_children(c, &n);
    v = (struct uses_val){0, 0};
    if (n) {
      bool arrow = uses_is_pointer(kids[0]);
      v = uses_expr(s, kids[0], arrow ? USES_READ : mode);
      if (arrow)
        v = uses_access(s, v, mode, c);
      if (!uses_is_pointer(c) && uses_kind(c) != CXType_Record)
        v.ptr = 0;
    }
    free(kids);
    return v;
  case CXCursor_ArraySubscriptExpr:
    kids = tu_children(c, &n);
    v = (struct uses_val){0, 0};
    if (n == 2) {
      bool first = uses_is_pointer(kids[0]);
      struct uses_val index = uses_expr(s, kids[first], USES_READ);
      uses_mark(s, index.data, KR_USE_SUBSCRIPT, kids[first]);
      v = uses_expr(s, kids[!first], USES_READ);
      // Elements of an array that are arrays are no access yet.
      enum CXTypeKind element = uses_kind(c);
      if (element != CXType_ConstantArray && element != CXType_IncompleteArray)
        v = uses_access(s, v, mode, c);
    }
    free(kids);
    return v;
  case CXCursor_UnaryOperator:
    return uses_unary(s, c, mode);
  case CXCursor_BinaryOperator:
  case CXCursor_CompoundAssignOperator:
    return uses_binary(s, c);
  case CXCursor_CallExpr:
    return uses_call(s, c);
  case CXCursor_ConditionalOperator:
    kids = tu_children(c, &n);
    v = (struct uses_val){0, 0};
    for (size_t i = 0; i < n; i++) {
      struct uses_val one = uses_expr(s, kids[i], i ? mode : USES_READ);
      if (i)
        v = uses_join(v, one);
    }
    free(kids);
    return v;
  case CXCursor_ReturnStmt:
    v = uses_children(s, c, USES_READ);
    *s->result = uses_join(*s->result, v);
    return v;
  case CXCursor_VarDecl: {
    enum CXTypeKind kind = uses_kind(c);
    bool reference = kind == CXType_LValueReference || kind == CXType_RValueReference;
    v = uses_children(s, c, reference ? USES_ADDRESS : USES_READ);
    uses_flow(s, c, v);
    return v;
  }
  case CXCursor_UnexposedExpr:
  case CXCursor_ParenExpr:
    v = uses_children(s, c, mode);
    // A pointer where a bool is wanted. libclang shows the implicit cast with the
    // type it casts to.
    if (uses_kind(c) == CXType_Bool) {
      kids = tu_children(c, &n);
      if (n == 1 && uses_kind(kids[0]) == CXType_Pointer)
        uses_mark(s, v.ptr, KR_USE_NULL_TEST, c);
      free(kids);
    }
    return v;
  case CXCursor_TypeRef:
  case CXCursor_TemplateRef:
  case CXCursor_NamespaceRef:
  case CXCursor_ParmDecl:
    return (struct uses_val){0, 0};
  default:
    return uses_children(s, c, clang_isExpression(clang_getCursorKind(c)) ? mode : USES_READ);
  }
}

static void uses_paths(struct kr_pkernel *k)
{
  size_t cap = 0;
  for (size_t i = 0; i < k->n_params; i++)
    for (size_t j = 0; j < k->params[i].type.n_leaves; j++) {
      const struct kr_pleaf *leaf = &k->params[i].type.leaves[j];
      if (leaf->kind != KR_SCALAR_POINTER || !k->params[i].name[0])
        continue;
      KR_GROW(k->uses, k->n_uses, cap);
      k->uses[k->n_uses++] = (struct kr_puse){
          .path = leaf->path[0] == '['   ? kr_xasprintf("%s%s", k->params[i].name, leaf->path)
                  : leaf->path[0]        ? kr_xasprintf("%s.%s", k->params[i].name, leaf->path)
                                         : kr_xstrdup(k->params[i].name)};
    }
  for (size_t i = USES_MAX; i < k->n_uses; i++)
    k->uses[i].uses = KR_USE_READ | KR_USE_WRITE;
}

void uses_fill(struct tu *tu, const struct names_fn *fns, struct kr_pkernel *k)
{
  uses_paths(k);
  if (!k->n_uses)
    return;
  struct uses s = {.tu = tu, .kernel = fns->items[0], .k = k, .fns = fns};
  // A struct by value starts with all its pointers, in case it is copied whole.
  for (size_t i = 0; i < k->n_params; i++) {
    struct uses_val v = {0, 0};
    size_t len = strlen(k->params[i].name);
    for (size_t j = 0; j < k->n_uses && j < USES_MAX; j++)
      if (!strncmp(k->uses[j].path, k->params[i].name, len) &&
          (!k->uses[j].path[len] || strchr(".[", k->uses[j].path[len])))
        v.ptr |= (uint64_t)1 << j;
    uses_flow(&s, clang_Cursor_getArgument(s.kernel, (unsigned)i), v);
  }
  enum { ROUNDS = 16 }; // each takes a value one function further at least
  for (int round = 0; round < ROUNDS; round++) {
    s.changed = false;
    for (size_t i = 0; i < fns->n; i++) {
      struct uses_val result = {0, 0};
      s.result = &result;
      uses_children(&s, fns->items[i], USES_READ);
      uses_flow(&s, fns->items[i], result);
    }
    if (!s.changed)
      break;
  }
  free(s.vars);
}
