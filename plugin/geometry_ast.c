#include "geometry.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Shapes of the AST that geometry reading looks for, and what may change a variable
// between the place where it was read and the launch.

int geometry_no(struct geometry *g, const char *fmt, const char *arg)
{
  if (!g->why)
    g->why = kr_xasprintf(fmt, arg);
  return -1;
}

// --- shapes of the AST ---

CXCursor geometry_last_child(CXCursor c)
{
  size_t n;
  CXCursor *kids = tu_children(c, &n);
  CXCursor last = n ? kids[n - 1] : clang_getNullCursor();
  free(kids);
  return last;
}

bool geometry_is_int(CXType type)
{
  enum CXTypeKind kind = clang_getCanonicalType(type).kind;
  return (kind >= CXType_Bool && kind <= CXType_ULongLong) ||
         (kind >= CXType_Char_S && kind <= CXType_LongLong) || kind == CXType_Enum;
}

CXCursor geometry_strip(CXCursor c)
{
  for (;;) {
    CXCursor below;
    switch (clang_getCursorKind(c)) {
    case CXCursor_UnexposedExpr:
    case CXCursor_ParenExpr:
      below = geometry_last_child(c);
      break;
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXFunctionalCastExpr:
      below = geometry_last_child(c);
      if (geometry_is_int(clang_getCursorType(c)) != geometry_is_int(clang_getCursorType(below)))
        return c;
      break;
    case CXCursor_CallExpr: {
      CXCursor to = clang_getCursorReferenced(c);
      if (clang_getCursorKind(to) != CXCursor_Constructor ||
          !(clang_CXXConstructor_isCopyConstructor(to) || clang_CXXConstructor_isMoveConstructor(to)))
        return c;
      below = clang_Cursor_getArgument(c, 0);
      break;
    }
    default:
      return c;
    }
    if (clang_Cursor_isNull(below) || !clang_isExpression(clang_getCursorKind(below)))
      return c;
    c = below;
  }
}

bool geometry_value(CXCursor c, long long *out)
{
  CXEvalResult e = clang_Cursor_Evaluate(c);
  bool ok = e && clang_EvalResult_getKind(e) == CXEval_Int;
  if (ok)
    *out = clang_EvalResult_getAsLongLong(e);
  if (e)
    clang_EvalResult_dispose(e);
  return ok;
}

bool geometry_same(CXCursor a, CXCursor b)
{
  a = geometry_strip(a);
  b = geometry_strip(b);
  enum CXCursorKind kind = clang_getCursorKind(a);
  if (kind != clang_getCursorKind(b))
    return false;
  switch (kind) {
  case CXCursor_DeclRefExpr:
    return clang_equalCursors(clang_getCursorReferenced(a), clang_getCursorReferenced(b));
  case CXCursor_CXXThisExpr:
    return true;
  case CXCursor_IntegerLiteral:
  case CXCursor_CXXBoolLiteralExpr:
  case CXCursor_CharacterLiteral: {
    long long x, y;
    return geometry_value(a, &x) && geometry_value(b, &y) && x == y;
  }
  case CXCursor_MemberRefExpr:
    if (!clang_equalCursors(clang_getCursorReferenced(a), clang_getCursorReferenced(b)))
      return false;
    break;
  case CXCursor_BinaryOperator:
    if (clang_getCursorBinaryOperatorKind(a) != clang_getCursorBinaryOperatorKind(b) ||
        clang_getCursorBinaryOperatorKind(a) == CXBinaryOperator_Assign)
      return false;
    break;
  case CXCursor_UnaryOperator: {
    enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(a);
    if (op != clang_getCursorUnaryOperatorKind(b) || op <= CXUnaryOperator_PreDec)
      return false;
    break;
  }
  case CXCursor_ArraySubscriptExpr:
    break;
  case CXCursor_CallExpr:
    // `v.size()`: a const member is taken to give the same twice.
    if (!clang_CXXMethod_isConst(clang_getCursorReferenced(a)) ||
        clang_Cursor_getNumArguments(a) ||
        !clang_equalCursors(clang_getCursorReferenced(a), clang_getCursorReferenced(b)))
      return false;
    break;
  default:
    return false;
  }
  size_t n, m;
  CXCursor *x = tu_children(a, &n), *y = tu_children(b, &m);
  bool same = n == m;
  for (size_t i = 0; same && i < n; i++)
    same = geometry_same(x[i], y[i]);
  free(x);
  free(y);
  return same;
}

// --- what changes a variable ---

// `expr` is the variable or a part of it that counts.
static bool geometry_is_var(const struct geometry_changes *s, CXCursor expr)
{
  CXCursor c = geometry_strip(expr), field = clang_getNullCursor();
  while (clang_getCursorKind(c) == CXCursor_MemberRefExpr ||
         clang_getCursorKind(c) == CXCursor_ArraySubscriptExpr) {
    if (clang_getCursorKind(c) == CXCursor_MemberRefExpr)
      field = clang_getCursorReferenced(c);
    size_t n;
    CXCursor *kids = tu_children(c, &n);
    CXCursor base = n ? geometry_strip(kids[0]) : clang_getNullCursor();
    free(kids);
    if (clang_Cursor_isNull(base))
      return false;
    c = base;
  }
  if (clang_getCursorKind(c) != CXCursor_DeclRefExpr ||
      !clang_equalCursors(clang_getCursorReferenced(c), s->var))
    return false;
  // A method is no part: it may change any.
  return clang_Cursor_isNull(s->field) || clang_getCursorKind(field) != CXCursor_FieldDecl ||
         clang_equalCursors(field, s->field);
}

static bool geometry_block_around(CXCursor stmt, CXCursor parent, size_t call_offset)
{
  CXFile file, other;
  struct kr_span block, at;
  return clang_getCursorKind(parent) == CXCursor_CompoundStmt && tu_extent(parent, &file, &block) &&
         tu_extent(stmt, &other, &at) && call_offset >= block.offset &&
         call_offset < block.offset + block.length && at.offset < call_offset;
}

// `left = right`, the statement `c` below `parent`.
static void geometry_assigned(struct geometry_changes *s, CXCursor c, CXCursor parent, CXCursor left,
                              CXCursor right)
{
  if (!geometry_is_var(s, left))
    return;
  if (clang_equalCursors(parent, s->wrapped)) // temporaries are destroyed around it
    parent = s->wrapped_in;
  bool plain = geometry_block_around(c, parent, s->call_offset);
  CXCursor bare = geometry_strip(left);
  char *member = tu_take(clang_getCursorSpelling(bare));
  int which = strlen(member) == 1 ? member[0] - 'x' : -1;
  if (clang_getCursorKind(bare) == CXCursor_DeclRefExpr) {
    s->n++;
    s->assigned = right;
    s->plain = plain;
  } else if (which >= 0 && which < 3 && clang_Cursor_isNull(s->member[which])) {
    s->n_members++;
    s->member[which] = right;
    s->member_plain = s->member_plain && plain;
  } else {
    s->n += 2;
  }
  free(member);
}

static int geometry_change(void *arg, CXCursor c, CXCursor parent)
{
  struct geometry_changes *s = arg;
  switch (clang_getCursorKind(c)) {
  case CXCursor_UnexposedExpr:
    if (clang_getCursorKind(parent) == CXCursor_CompoundStmt) {
      s->wrapped = c;
      s->wrapped_in = parent;
    }
    return 0;
  case CXCursor_BinaryOperator:
    if (clang_getCursorBinaryOperatorKind(c) == CXBinaryOperator_Assign) {
      size_t n;
      CXCursor *kids = tu_children(c, &n);
      if (n == 2)
        geometry_assigned(s, c, parent, kids[0], kids[1]);
      free(kids);
    }
    return 0;
  case CXCursor_CompoundAssignOperator: {
    size_t n;
    CXCursor *kids = tu_children(c, &n);
    s->n += n && geometry_is_var(s, kids[0]) ? 2 : 0;
    free(kids);
    return 0;
  }
  case CXCursor_UnaryOperator: {
    enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(c);
    if ((op <= CXUnaryOperator_PreDec || op == CXUnaryOperator_AddrOf) &&
        geometry_is_var(s, geometry_last_child(c)))
      s->n += 2;
    return 0;
  }
  case CXCursor_VarDecl: {
    CXType type = clang_getCanonicalType(clang_getCursorType(c));
    CXCursor init = geometry_last_child(c);
    if (type.kind == CXType_LValueReference && !clang_Cursor_isNull(init) &&
        !clang_isConstQualifiedType(clang_getCanonicalType(clang_getPointeeType(type))) &&
        geometry_is_var(s, init))
      s->n += 2;
    return 0;
  }
  case CXCursor_CallExpr: {
    CXCursor callee = clang_getCursorReferenced(c);
    CXType fn = clang_getCursorType(callee);
    int n = clang_Cursor_getNumArguments(c);
    bool method = clang_getCursorKind(callee) == CXCursor_CXXMethod;
    // A launch in a template has no callee yet; a kernel takes all by value.
    if (clang_Cursor_isNull(callee) && sites_is_launch(c))
      return 0;
    if (method && n == clang_Cursor_getNumArguments(callee) + 1) {
      // An overloaded operator; its object is the first argument.
      char *name = tu_take(clang_getCursorSpelling(c));
      if (n == 2 && !strcmp(name, "operator="))
        geometry_assigned(s, c, parent, clang_Cursor_getArgument(c, 0),
                          clang_Cursor_getArgument(c, 1));
      else if (!clang_CXXMethod_isConst(callee) &&
               geometry_is_var(s, clang_Cursor_getArgument(c, 0)))
        s->n += 2;
      free(name);
      return 0;
    }
    for (int i = 0; i < n; i++) {
      CXType param = clang_getCanonicalType(clang_getArgType(fn, (unsigned)i));
      bool may = param.kind == CXType_RValueReference || param.kind == CXType_Invalid ||
                 (param.kind == CXType_LValueReference &&
                  !clang_isConstQualifiedType(clang_getCanonicalType(clang_getPointeeType(param))));
      // Without a callee (a dependent call) only what is passed bare can change.
      if (may && geometry_is_var(s, clang_Cursor_getArgument(c, (unsigned)i)))
        s->n += clang_Cursor_isNull(callee) || param.kind != CXType_Invalid ? 2 : 0;
    }
    if (method && !clang_CXXMethod_isConst(callee) && !clang_CXXMethod_isStatic(callee)) {
      size_t kids_n;
      CXCursor *kids = tu_children(c, &kids_n);
      if (kids_n && clang_getCursorKind(geometry_strip(kids[0])) == CXCursor_MemberRefExpr &&
          geometry_is_var(s, kids[0]))
        s->n += 2;
      free(kids);
    }
    return 0;
  }
  default:
    return 0;
  }
}

struct geometry_changes geometry_changes(struct geometry *g, CXCursor var, CXCursor field)
{
  struct geometry_changes s = {.var = var, .field = field, .member_plain = true};
  for (int i = 0; i < 3; i++)
    s.member[i] = clang_getNullCursor();
  s.assigned = s.wrapped = s.wrapped_in = clang_getNullCursor();
  CXFile file;
  struct kr_span at;
  if (tu_extent(g->call, &file, &at))
    s.call_offset = at.offset;
  if (!clang_Cursor_isNull(g->function))
    tu_visit(g->function, geometry_change, &s);
  return s;
}

bool geometry_is_local(CXCursor var)
{
  enum CXCursorKind kind = clang_getCursorKind(clang_getCursorSemanticParent(var));
  return kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod ||
         kind == CXCursor_FunctionTemplate || kind == CXCursor_Constructor ||
         kind == CXCursor_Destructor || kind == CXCursor_LambdaExpr ||
         kind == CXCursor_ConversionFunction;
}

struct geometry_steady {
  struct geometry *g;
  bool bad;
};

static int geometry_unsteady(void *arg, CXCursor c, CXCursor parent)
{
  struct geometry_steady *s = arg;
  enum CXCursorKind kind = clang_getCursorKind(c);
  if (kind == CXCursor_CXXThisExpr)
    s->bad = true;
  if (kind == CXCursor_DeclRefExpr) {
    CXCursor to = clang_getCursorReferenced(c);
    enum CXCursorKind what = clang_getCursorKind(to);
    if (what == CXCursor_VarDecl || what == CXCursor_ParmDecl) {
      CXCursor field = clang_getNullCursor();
      if (clang_getCursorKind(parent) == CXCursor_MemberRefExpr &&
          clang_getCursorKind(clang_getCursorReferenced(parent)) == CXCursor_FieldDecl)
        field = clang_getCursorReferenced(parent);
      struct geometry_changes changes = geometry_changes(s->g, to, field);
      bool constant = clang_isConstQualifiedType(clang_getCursorType(to));
      if (changes.n || changes.n_members || (!constant && !geometry_is_local(to)))
        s->bad = true;
    }
  }
  return s->bad ? 2 : 0;
}

bool geometry_steady(struct geometry *g, CXCursor c)
{
  struct geometry_steady s = {g, false};
  geometry_unsteady(&s, c, c);
  tu_visit(c, geometry_unsteady, &s);
  return !s.bad;
}
