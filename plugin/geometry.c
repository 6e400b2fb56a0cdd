#include "geometry.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/expr.h"
#include "../evaluator/base/mem.h"

// The geometry of a launch in the kernel's own words. The site's expressions are
// read from the AST, in which macros are expanded and names are resolved:
//
//  - what equals an argument of the launch becomes the parameter it is passed for;
//  - a local variable of one assignment becomes what was assigned to it, as long
//    as nothing in it changes before the launch;
//  - a call of a function that is one `return` becomes its expression;
//  - constants of the program keep their names, down to the one that is spelt with
//    numbers, since the driver must know whether the kernel's body uses it too.
//
// Text is built with every bracket, and printed again by base/expr with few.
// Whatever is not understood makes the geometry an error that shows the
// expression; nothing is guessed.

static int geometry_expr(struct geometry *g, CXCursor c, struct kr_bytes *out);

// --- expressions ---

static bool geometry_param_type(const struct kr_pparam *p)
{
  return p->name[0] && p->type.n_leaves == 1 && !p->type.leaves[0].path[0] &&
         p->type.leaves[0].kind <= KR_SCALAR_U64;
}

// A whole argument, or a member of one that is a struct. 1: neither.
static int geometry_argument(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  int n = clang_Cursor_getNumArguments(g->call);
  bool steady = !g->followed || geometry_steady(g, c);
  for (int i = 0; i < n && (size_t)i < g->k->n_params; i++) {
    const struct kr_pparam *p = &g->k->params[i];
    CXCursor arg = clang_Cursor_getArgument(g->call, (unsigned)i);
    if (geometry_param_type(p) && geometry_same(arg, c))
      return steady ? kr_bytes_adds(out, p->name)
                    : geometry_no(g, "what is passed for `%s` may change before the launch", p->name);
  }
  char *path = NULL;
  int rc = 1;
  for (CXCursor at = c; rc == 1 && clang_getCursorKind(at) == CXCursor_MemberRefExpr;) {
    char *name = tu_take(clang_getCursorSpelling(at));
    char *longer = path ? kr_xasprintf("%s.%s", name, path) : kr_xstrdup(name);
    free(name);
    free(path);
    path = longer;
    size_t kids_n;
    CXCursor *kids = tu_children(at, &kids_n);
    CXCursor base = kids_n ? geometry_strip(kids[0]) : clang_getNullCursor();
    free(kids);
    if (clang_Cursor_isNull(base) ||
        clang_getCanonicalType(clang_getCursorType(base)).kind == CXType_Pointer)
      break;
    for (int i = 0; rc == 1 && i < n && (size_t)i < g->k->n_params; i++) {
      const struct kr_pparam *p = &g->k->params[i];
      if (!p->name[0] || !geometry_same(clang_Cursor_getArgument(g->call, (unsigned)i), base))
        continue;
      for (size_t j = 0; j < p->type.n_leaves; j++)
        if (p->type.leaves[j].kind <= KR_SCALAR_U64 && !strcmp(p->type.leaves[j].path, path)) {
          rc = steady ? kr_bytes_addf(out, "%s.%s", p->name, path)
                      : geometry_no(g, "what is passed for `%s` may change before the launch",
                                    p->name);
          break;
        }
    }
    at = base;
  }
  free(path);
  return rc;
}

// A name that is given to the template as an argument, `k<HEAD_DIM><<<…>>>`. What is
// written as a number stays one: that it is equal may be chance.
static int geometry_template_argument(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  int rc = 1;
  if (!g->k->is_template || clang_getCursorKind(c) != CXCursor_DeclRefExpr)
    return rc;
  // It must be the same thing, and its place in the list is the text's to say:
  // types among the arguments are any number of nodes.
  size_t n;
  bool given = false;
  CXCursor *kids = tu_children(g->ref, &n);
  for (size_t i = 0; i < n; i++)
    given = given || geometry_same(kids[i], c);
  free(kids);
  struct kr_span at;
  if (!given || !tu_span(g->tu, g->ref, &at))
    return rc;
  char *name = tu_take(clang_getCursorSpelling(c));
  const char *text = g->tu->buffer + at.offset;
  struct kr_token *toks = kr_lex_all(text, at.length, false, &n);
  size_t open = 0;
  while (open < n && !kr_token_is(text, toks[open], "<"))
    open++;
  enum { MAX = 64 };
  struct kr_span args[MAX];
  size_t n_args = templates_split(text, toks, n, open, args, MAX);
  for (size_t i = 0; i < n_args && i < g->k->n_tparams && rc == 1; i++)
    if (args[i].length == strlen(name) && !memcmp(text + args[i].offset, name, args[i].length) &&
        g->k->tparams[i].name[0])
      rc = kr_bytes_adds(out, g->k->tparams[i].name);
  free(toks);
  free(name);
  return rc;
}

static CXCursor geometry_init(CXCursor var)
{
  CXCursor init = geometry_last_child(var);
  return !clang_Cursor_isNull(init) && clang_isExpression(clang_getCursorKind(init)) &&
                 clang_getCursorKind(init) != CXCursor_TypeRef
             ? init
             : clang_getNullCursor();
}

// What a variable of one assignment holds, or a null cursor with g->why set.
static CXCursor geometry_follow(struct geometry *g, CXCursor var)
{
  char *name = tu_take(clang_getCursorSpelling(var));
  CXCursor init = geometry_init(var), found = clang_getNullCursor();
  struct geometry_changes s = geometry_changes(g, var, clang_getNullCursor());
  if (clang_getCursorKind(var) != CXCursor_VarDecl || !geometry_is_local(var) ||
      clang_Cursor_getStorageClass(var) == CX_SC_Static)
    geometry_no(g, "`%s` is none of the kernel's parameters or constants", name);
  else if (!clang_Cursor_isNull(init) && !s.n && !s.n_members)
    found = init;
  else if (s.n == 1 && !s.n_members && s.plain)
    found = s.assigned;
  else
    geometry_no(g, "`%s` is assigned to more than once, or not always", name);
  free(name);
  return found;
}

static int geometry_variable(struct geometry *g, CXCursor var, struct kr_bytes *out)
{
  CXCursor init = geometry_init(var);
  long long value;
  bool constant = clang_isConstQualifiedType(clang_getCursorType(var));
  if (!geometry_is_local(var) && constant && !clang_Cursor_isNull(init) &&
      geometry_value(var, &value)) {
    // A constant spelt with other constants gives way to them.
    if (clang_getCursorKind(geometry_strip(init)) != CXCursor_IntegerLiteral) {
      struct kr_bytes inner;
      kr_bytes_init(&inner, KR_EXPR_MAX_TEXT);
      int rc = geometry_expr(g, init, &inner);
      if (!rc)
        kr_bytes_add(out, inner.data, inner.len);
      kr_bytes_release(&inner);
      return rc;
    }
    struct kr_bytes inner;
    kr_bytes_init(&inner, KR_EXPR_MAX_TEXT);
    int macro = geometry_macro(g, geometry_strip(init), &inner);
    if (!macro)
      kr_bytes_add(out, inner.data, inner.len);
    kr_bytes_release(&inner);
    if (macro <= 0)
      return macro;
    if (!geometry_before_kernel(g, var))
      return geometry_number(value, out);
    char *name = geometry_scoped(g, var);
    kr_bytes_adds(out, name);
    free(name);
    return 0;
  }
  CXCursor next = geometry_follow(g, var);
  if (clang_Cursor_isNull(next))
    return -1;
  bool followed = g->followed;
  CXCursor top = g->top;
  g->followed = true;
  g->top = next;
  int rc = geometry_expr(g, next, out);
  g->followed = followed;
  if (!rc)
    g->top = top;
  return rc;
}

// One that holds a number however it is followed, so that an argument that is
// passed it says nothing about the geometry.
static bool geometry_is_constant(struct geometry *g, CXCursor var)
{
  if (clang_getCursorKind(var) != CXCursor_VarDecl)
    return false;
  bool constant = false;
  CXCursor init = geometry_init(var);
  long long value;
  if (!clang_Cursor_isNull(init) && geometry_value(init, &value)) {
    struct geometry_changes s = geometry_changes(g, var, clang_getNullCursor());
    constant = !s.n && !s.n_members;
  }
  return constant;
}

static const char *geometry_operator(enum CXBinaryOperatorKind op)
{
  switch (op) {
  case CXBinaryOperator_Mul:
    return "*";
  case CXBinaryOperator_Div:
    return "/";
  case CXBinaryOperator_Rem:
    return "%";
  case CXBinaryOperator_Add:
    return "+";
  case CXBinaryOperator_Sub:
    return "-";
  case CXBinaryOperator_Shl:
    return "<<";
  case CXBinaryOperator_Shr:
    return ">>";
  case CXBinaryOperator_LT:
    return "<";
  case CXBinaryOperator_GT:
    return ">";
  case CXBinaryOperator_LE:
    return "<=";
  case CXBinaryOperator_GE:
    return ">=";
  case CXBinaryOperator_EQ:
    return "==";
  case CXBinaryOperator_NE:
    return "!=";
  case CXBinaryOperator_And:
    return "&";
  case CXBinaryOperator_Xor:
    return "^";
  case CXBinaryOperator_Or:
    return "|";
  case CXBinaryOperator_LAnd:
    return "&&";
  case CXBinaryOperator_LOr:
    return "||";
  default:
    return NULL;
  }
}

static int geometry_binary(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  const char *op = geometry_operator(clang_getCursorBinaryOperatorKind(c));
  size_t n;
  CXCursor *kids = tu_children(c, &n);
  int rc = -1;
  if (!op || n != 2) {
    geometry_no(g, "an operator that is not there yet%s", "");
  } else if (!geometry_is_int(clang_getCursorType(c))) {
    geometry_no(g, "it is computed in floating point%s", "");
  } else {
    kr_bytes_addc(out, '(');
    rc = geometry_expr(g, kids[0], out);
    kr_bytes_addf(out, " %s ", op);
    rc = rc ? rc : geometry_expr(g, kids[1], out);
    kr_bytes_addc(out, ')');
  }
  free(kids);
  return rc;
}

// The operand of a division in double: an integer below casts, or an integral literal.
static int geometry_integral(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  for (;;) {
    c = geometry_strip(c);
    enum CXCursorKind kind = clang_getCursorKind(c);
    if (geometry_is_int(clang_getCursorType(c)))
      return geometry_expr(g, c, out);
    if (kind == CXCursor_FloatingLiteral) {
      CXEvalResult e = clang_Cursor_Evaluate(c);
      double d = e ? clang_EvalResult_getAsDouble(e) : 0.5;
      if (e)
        clang_EvalResult_dispose(e);
      int64_t i;
      if (kr_value_as_int(kr_value_real(d), &i))
        return geometry_no(g, "it is computed in floating point%s", "");
      return geometry_number(i, out);
    }
    if (kind != CXCursor_CStyleCastExpr && kind != CXCursor_CXXStaticCastExpr &&
        kind != CXCursor_CXXFunctionalCastExpr)
      return geometry_no(g, "it is computed in floating point%s", "");
    c = geometry_last_child(c);
  }
}

// ceil(double(a) / b) is exact for what fits a launch; in float it is not.
static int geometry_ceil(struct geometry *g, CXCursor call, struct kr_bytes *out)
{
  CXCursor arg = geometry_strip(clang_Cursor_getArgument(call, 0));
  if (geometry_is_int(clang_getCursorType(arg)))
    return geometry_expr(g, arg, out);
  size_t n;
  CXCursor *kids = tu_children(arg, &n);
  int rc = -1;
  if (clang_getCursorKind(arg) == CXCursor_BinaryOperator && n == 2 &&
      clang_getCursorBinaryOperatorKind(arg) == CXBinaryOperator_Div &&
      clang_getCanonicalType(clang_getCursorType(arg)).kind == CXType_Double) {
    kr_bytes_adds(out, "ceil_div(");
    rc = geometry_integral(g, kids[0], out);
    kr_bytes_adds(out, ", ");
    rc = rc ? rc : geometry_integral(g, kids[1], out);
    kr_bytes_addc(out, ')');
  } else {
    geometry_no(g, "it is computed in %s",
                clang_getCanonicalType(clang_getCursorType(arg)).kind == CXType_Float
                    ? "float, which rounds"
                    : "floating point");
  }
  free(kids);
  return rc;
}

// The expression of a function whose body is one `return`.
static CXCursor geometry_returned(CXCursor function)
{
  CXCursor found = clang_getNullCursor();
  CXCursor body = geometry_last_child(function);
  if (clang_getCursorKind(body) != CXCursor_CompoundStmt)
    return found;
  size_t n;
  CXCursor *kids = tu_children(body, &n);
  if (n == 1 && clang_getCursorKind(kids[0]) == CXCursor_ReturnStmt)
    found = geometry_last_child(kids[0]);
  free(kids);
  return found;
}

// Opens a frame for a call: arguments become texts. 0, or -1.
static int geometry_enter(struct geometry *g, CXCursor call, CXCursor function,
                          struct geometry_frame *frame)
{
  int n = clang_Cursor_getNumArguments(call);
  frame->n = 0;
  for (int i = 0; i < n && i < GEOMETRY_MAX_PARAMS; i++) {
    CXCursor arg = clang_Cursor_getArgument(call, (unsigned)i);
    struct kr_bytes text;
    kr_bytes_init(&text, KR_EXPR_MAX_TEXT);
    if (geometry_expr(g, arg, &text)) {
      kr_bytes_release(&text);
      return -1;
    }
    frame->params[frame->n] = clang_Cursor_getArgument(function, (unsigned)i);
    frame->texts[frame->n++] = kr_bytes_take(&text);
    kr_bytes_release(&text);
  }
  return 0;
}

static void geometry_leave(struct geometry_frame *frame)
{
  for (size_t i = 0; i < frame->n; i++)
    free(frame->texts[i]);
}

static int geometry_call(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  CXCursor callee = clang_getCursorReferenced(c);
  char *name = tu_take(clang_getCursorSpelling(c));
  int n = clang_Cursor_getNumArguments(c), rc = -1;
  CXFile file = NULL;
  size_t offset;
  tu_place(clang_getCursorLocation(callee), &file, &offset);
  bool users = tu_is_users(g->tu, file);
  CXCursor function = clang_getCursorDefinition(callee);
  CXCursor value = clang_Cursor_isNull(function) ? function : geometry_returned(function);
  if (!users && n == 2 && (!strcmp(name, "min") || !strcmp(name, "max"))) {
    kr_bytes_addf(out, "%s(", name);
    rc = geometry_expr(g, clang_Cursor_getArgument(c, 0), out);
    kr_bytes_adds(out, ", ");
    rc = rc ? rc : geometry_expr(g, clang_Cursor_getArgument(c, 1), out);
    kr_bytes_addc(out, ')');
  } else if (!users && n == 1 && (!strcmp(name, "ceil") || !strcmp(name, "ceilf"))) {
    rc = geometry_ceil(g, c, out);
  } else if (users && clang_getCursorKind(callee) == CXCursor_FunctionDecl &&
             !clang_Cursor_isNull(value)) {
    struct geometry_frame frame;
    rc = geometry_enter(g, c, function, &frame);
    struct geometry_frame *outer = g->frame;
    g->frame = &frame;
    if (!rc) {
      kr_bytes_addc(out, '(');
      rc = geometry_expr(g, value, out);
      kr_bytes_addc(out, ')');
    }
    g->frame = outer;
    geometry_leave(&frame);
  } else {
    geometry_no(g, "it calls `%s`", name);
  }
  free(name);
  return rc;
}

static int geometry_ref(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  CXCursor to = clang_getCursorReferenced(c);
  switch (clang_getCursorKind(to)) {
  case CXCursor_EnumConstantDecl: {
    if (!geometry_before_kernel(g, to))
      return geometry_number(clang_getEnumConstantDeclValue(to), out);
    char *name = geometry_scoped(g, to);
    kr_bytes_adds(out, name);
    free(name);
    return 0;
  }
  case CXCursor_ParmDecl:
    for (size_t i = 0; g->frame && i < g->frame->n; i++)
      if (clang_equalCursors(g->frame->params[i], to))
        return kr_bytes_addf(out, "(%s)", g->frame->texts[i]);
    return geometry_follow(g, to), -1;
  case CXCursor_VarDecl:
    return geometry_variable(g, to, out);
  default: {
    char *name = tu_take(clang_getCursorSpelling(c));
    geometry_no(g, "`%s` is none of the kernel's parameters or constants", name);
    free(name);
    return -1;
  }
  }
}

static int geometry_one(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  c = geometry_strip(c);
  enum CXCursorKind kind = clang_getCursorKind(c);
  int rc = geometry_macro(g, c, out);
  if (rc <= 0)
    return rc;
  bool constant = kind == CXCursor_IntegerLiteral || kind == CXCursor_CXXBoolLiteralExpr ||
                  kind == CXCursor_CharacterLiteral || kind == CXCursor_UnaryExpr;
  long long value;
  if (constant)
    return geometry_value(c, &value) ? geometry_number(value, out)
                                     : geometry_no(g, "its value is not known here%s", "");
  rc = geometry_template_argument(g, c, out);
  if (rc <= 0)
    return rc;
  if (kind != CXCursor_DeclRefExpr || !geometry_is_constant(g, clang_getCursorReferenced(c))) {
    rc = geometry_argument(g, c, out);
    if (rc <= 0)
      return rc;
  }
  size_t n;
  CXCursor *kids;
  switch (kind) {
  case CXCursor_DeclRefExpr:
    return geometry_ref(g, c, out);
  case CXCursor_BinaryOperator:
    return geometry_binary(g, c, out);
  case CXCursor_CallExpr:
    return geometry_call(g, c, out);
  case CXCursor_UnaryOperator: {
    enum CXUnaryOperatorKind op = clang_getCursorUnaryOperatorKind(c);
    const char *spelt = op == CXUnaryOperator_Minus ? "-"
                        : op == CXUnaryOperator_Not ? "~"
                        : op == CXUnaryOperator_LNot ? "!"
                        : op == CXUnaryOperator_Plus ? "+"
                                                     : NULL;
    if (!spelt)
      return geometry_no(g, "an operator that is not there yet%s", "");
    kr_bytes_addf(out, "(%s", spelt);
    rc = geometry_expr(g, geometry_last_child(c), out);
    kr_bytes_addc(out, ')');
    return rc;
  }
  case CXCursor_ConditionalOperator:
    kids = tu_children(c, &n);
    rc = n == 3 ? 0 : -1;
    kr_bytes_addc(out, '(');
    for (size_t i = 0; !rc && i < n; i++) {
      rc = geometry_expr(g, kids[i], out);
      kr_bytes_adds(out, i == 0 ? " ? " : i == 1 ? " : " : "");
    }
    kr_bytes_addc(out, ')');
    free(kids);
    return rc;
  case CXCursor_InitListExpr: // `int blocks{...}`
    kids = tu_children(c, &n);
    rc = n == 1 ? geometry_expr(g, kids[0], out)
                : geometry_no(g, "a list of values%s", "");
    free(kids);
    return rc;
  case CXCursor_CStyleCastExpr:
  case CXCursor_CXXStaticCastExpr:
  case CXCursor_CXXFunctionalCastExpr: {
    // From floating point to integer: fine when what is below is a ceil.
    CXCursor below = geometry_strip(geometry_last_child(c));
    if (geometry_is_int(clang_getCursorType(c)) &&
        clang_getCursorKind(below) == CXCursor_CallExpr)
      return geometry_expr(g, below, out);
    return geometry_no(g, "it is computed in floating point%s", "");
  }
  case CXCursor_MemberRefExpr: {
    long long known;
    CXCursor to = clang_getCursorReferenced(c);
    if (clang_getCursorKind(to) == CXCursor_VarDecl)
      return geometry_variable(g, to, out);
    if (clang_getCursorKind(to) == CXCursor_EnumConstantDecl && geometry_value(c, &known))
      return geometry_number(known, out);
    char *name = tu_take(clang_getCursorSpelling(c));
    geometry_no(g, "member `%s` is not passed to the kernel", name);
    free(name);
    return -1;
  }
  default:
    return geometry_no(g, "an expression that is not there yet%s", "");
  }
}

static int geometry_expr(struct geometry *g, CXCursor c, struct kr_bytes *out)
{
  if (clang_Cursor_isNull(c) || g->depth >= GEOMETRY_MAX_DEPTH)
    return geometry_no(g, "it is too deep to follow%s", "");
  g->depth++;
  int rc = geometry_one(g, c, out);
  g->depth--;
  return rc || out->toobig ? -1 : 0;
}

// The same text with few brackets, or NULL.
static char *geometry_print(struct geometry *g, CXCursor c)
{
  struct kr_bytes text, shorter;
  char *result = NULL;
  kr_bytes_init(&text, KR_EXPR_MAX_TEXT);
  kr_bytes_init(&shorter, KR_EXPR_MAX_TEXT);
  struct kr_expr *e = NULL;
  struct kr_expr_error error;
  if (!geometry_expr(g, c, &text)) {
    e = kr_expr_parse(text.data, text.len, &error);
    if (!e)
      geometry_no(g, "%s", error.text);
    else if (!kr_expr_print(e, false, NULL, NULL, &shorter, NULL))
      result = kr_bytes_take(&shorter);
    else
      geometry_no(g, "it cannot be printed%s", "");
  }
  kr_expr_free(e);
  kr_bytes_release(&text);
  kr_bytes_release(&shorter);
  return result;
}

// --- dim3 ---

static bool geometry_is_dim3(CXType type)
{
  char *name = types_canonical(type);
  bool is = !strcmp(name, "dim3");
  free(name);
  return is;
}

// Up to three expressions, each null where the dimension is 1. 0, or -1 with why.
static int geometry_dims(struct geometry *g, CXCursor c, CXCursor dims[3])
{
  for (int depth = 0; depth < GEOMETRY_MAX_DEPTH; depth++) {
    c = geometry_strip(c);
    if (clang_getCursorKind(c) == CXCursor_CXXFunctionalCastExpr &&
        geometry_is_dim3(clang_getCursorType(c)))
      c = geometry_strip(geometry_last_child(c));
    enum CXCursorKind kind = clang_getCursorKind(c);
    CXType type = clang_getCursorType(c);
    if (geometry_is_int(type) || clang_getCanonicalType(type).kind == CXType_Double ||
        clang_getCanonicalType(type).kind == CXType_Float) {
      dims[0] = c;
      return 0;
    }
    size_t n;
    CXCursor *kids;
    CXCursor to = clang_getCursorReferenced(c);
    if (kind == CXCursor_CallExpr && clang_getCursorKind(to) == CXCursor_Constructor &&
        geometry_is_dim3(type)) {
      int args = clang_Cursor_getNumArguments(c);
      for (int i = 0; i < args && i < 3; i++) {
        CXCursor arg = clang_Cursor_getArgument(c, (unsigned)i);
        struct kr_span at;
        if (tu_span(g->tu, arg, &at)) // else a default argument
          dims[i] = arg;
      }
      return 0;
    }
    if (kind == CXCursor_InitListExpr) {
      kids = tu_children(c, &n);
      for (size_t i = 0; i < n && i < 3; i++)
        dims[i] = kids[i];
      free(kids);
      return 0;
    }
    if (kind != CXCursor_DeclRefExpr || clang_getCursorKind(to) != CXCursor_VarDecl)
      break;
    g->followed = true;
    struct geometry_changes s = geometry_changes(g, to, clang_getNullCursor());
    CXCursor init = geometry_init(to);
    char *name = tu_take(clang_getCursorSpelling(to));
    bool once = !s.n && !clang_Cursor_isNull(init) &&
                (geometry_is_local(to) || clang_isConstQualifiedType(clang_getCursorType(to)));
    if (!s.n && s.n_members && s.member_plain && !clang_Cursor_isNull(init) &&
        geometry_is_local(to)) {
      // `dim3 grid(a); grid.y = b;`
      free(name);
      CXCursor first[3] = {dims[0], dims[1], dims[2]};
      if (geometry_dims(g, init, first))
        return -1;
      for (int i = 0; i < 3; i++)
        dims[i] = clang_Cursor_isNull(s.member[i]) ? first[i] : s.member[i];
      return 0;
    }
    if (once && !s.n_members) {
      c = init;
    } else if (s.n == 1 && !s.n_members && s.plain && geometry_is_local(to)) {
      c = s.assigned;
    } else {
      geometry_no(g, "`%s` is assigned to more than once, or not always", name);
      free(name);
      return -1;
    }
    free(name);
    g->top = c;
  }
  return geometry_no(g, "it is not dim3(...) or a number%s", "");
}

static void geometry_error(struct geometry *g, const char *what, struct kr_psite *site)
{
  CXFile file = NULL;
  struct kr_span at;
  unsigned line = site->line;
  char *text = NULL;
  if (tu_extent(g->top, &file, &at)) {
    size_t len;
    const char *all = tu_file_text(g->tu, file, &len);
    if (all && at.offset + at.length <= len)
      text = kr_xstrndup(all + at.offset, at.length);
    clang_getFileLocation(clang_getCursorLocation(g->top), NULL, &line, NULL, NULL);
  }
  if (!site->geometry_error)
    site->geometry_error =
        kr_xasprintf("cannot read the %s at line %u: `%s` (%s)", what, line, text ? text : "?",
                     g->why ? g->why : "not understood");
  free(text);
  free(g->why);
  g->why = NULL;
}

void geometry_read(struct tu *tu, CXCursor kernel, const struct kr_pkernel *k, CXCursor call,
                   CXCursor ref, CXCursor config, CXCursor function, struct kr_psite *site)
{
  struct geometry g = {
      .tu = tu, .kernel = kernel, .k = k, .call = call, .ref = ref, .function = function};
  static const char *const what[2] = {"grid", "block"};
  if (clang_Cursor_getNumArguments(config) < 2) {
    site->geometry_error = kr_xasprintf("cannot read the launch at line %u", site->line);
    return;
  }
  for (int part = 0; part < 2; part++) {
    char **texts = part ? site->block : site->grid;
    CXCursor arg = clang_Cursor_getArgument(config, (unsigned)part);
    CXCursor dims[3] = {clang_getNullCursor(), clang_getNullCursor(), clang_getNullCursor()};
    g.top = arg;
    g.followed = false;
    int rc = geometry_dims(&g, arg, dims);
    bool followed = g.followed;
    CXCursor top = g.top;
    for (int i = 0; !rc && i < 3; i++) {
      g.followed = followed;
      g.top = top;
      if (!clang_Cursor_isNull(dims[i]) && !(texts[i] = geometry_print(&g, dims[i])))
        rc = -1;
    }
    if (!rc && !texts[0]) // dim3() is one block
      texts[0] = kr_xstrdup("1");
    if (!rc)
      continue;
    // The other parts stay: the marker may give just this one.
    geometry_error(&g, what[part], site);
    for (int i = 0; i < 3; i++) {
      free(texts[i]);
      texts[i] = NULL;
    }
  }
  if (clang_Cursor_getNumArguments(config) > 2) {
    CXCursor arg = clang_Cursor_getArgument(config, 2);
    struct kr_span at;
    g.top = arg;
    g.followed = false;
    if (tu_span(tu, arg, &at) && !(site->shared = geometry_print(&g, arg)))
      geometry_error(&g, "shared memory size", site);
  }
}
