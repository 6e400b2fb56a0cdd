// Tree to value. Every operation is checked, and what fails says with which values.

#include "expr_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Prints an expression for a message, cut to a readable length.
static const char *expr_shown(const struct kr_expr *e, char *buf, size_t size)
{
  struct kr_bytes text;
  kr_bytes_init(&text, KR_EXPR_MAX_TEXT * 4);
  kr_expr_print(e, false, NULL, NULL, &text, NULL);
  snprintf(buf, size, "%.*s%s", 60, text.data, text.len > 60 ? "..." : "");
  kr_bytes_release(&text);
  return buf;
}

static const char *value_shown(struct kr_value v, char *buf, size_t size)
{
  struct kr_bytes text;
  kr_bytes_init(&text, 64);
  kr_value_print(v, &text);
  snprintf(buf, size, "%s", text.data);
  kr_bytes_release(&text);
  return buf;
}

static int eval_overflow(const struct kr_expr *e, const char *op, struct kr_value a,
                         struct kr_value b, struct kr_expr_error *error)
{
  char shown[96], left[40], right[40];
  return expr_fail(error, e->offset, e->length, "%s overflows 64 bits: %s %s %s",
                   expr_shown(e, shown, sizeof shown), value_shown(a, left, sizeof left), op,
                   value_shown(b, right, sizeof right));
}

static int eval_int(const struct kr_expr *e, struct kr_value v, int64_t *out,
                    struct kr_expr_error *error)
{
  char shown[96], value[40];
  if (!kr_value_as_int(v, out))
    return 0;
  return expr_fail(error, e->offset, e->length, "%s must be an integer; it is %s",
                   expr_shown(e, shown, sizeof shown), value_shown(v, value, sizeof value));
}

static int eval_divide_check(const struct kr_expr *e, bool zero, struct kr_expr_error *error)
{
  char shown[96];
  if (!zero)
    return 0;
  return expr_fail(error, e->offset, e->length, "division by zero in %s",
                   expr_shown(e, shown, sizeof shown));
}

static int eval_ceil_div(const struct kr_expr *e, int64_t a, int64_t b, int64_t *out,
                         struct kr_expr_error *error)
{
  if (eval_divide_check(e, b == 0, error))
    return -1;
  if (a == INT64_MIN && b == -1)
    return eval_overflow(e, "/", kr_value_int(a), kr_value_int(b), error);
  int64_t q = a / b, r = a % b;
  *out = q + (r != 0 && (r > 0) == (b > 0));
  return 0;
}

static int eval_known(const struct kr_expr *e, enum expr_known which, const struct kr_value *args,
                      struct kr_value *out, struct kr_expr_error *error)
{
  int64_t a = 0, b = 0;
  char shown[96];
  switch (which) {
  case KNOWN_MIN:
  case KNOWN_MAX: {
    bool less = args[0].is_real || args[1].is_real
                    ? kr_value_as_real(args[0]) < kr_value_as_real(args[1])
                    : args[0].i < args[1].i;
    struct kr_value v = args[less == (which == KNOWN_MIN) ? 0 : 1];
    *out = args[0].is_real || args[1].is_real ? kr_value_real(kr_value_as_real(v)) : v;
    return 0;
  }
  case KNOWN_ABS:
    if (args[0].is_real) {
      *out = kr_value_real(fabs(args[0].d));
      return 0;
    }
    if (args[0].i == INT64_MIN)
      return eval_overflow(e, "-", kr_value_int(0), args[0], error);
    *out = kr_value_int(args[0].i < 0 ? -args[0].i : args[0].i);
    return 0;
  case KNOWN_SQRT: {
    double d = kr_value_as_real(args[0]);
    if (d < 0)
      return expr_fail(error, e->offset, e->length, "%s is the root of a negative number",
                       expr_shown(e, shown, sizeof shown));
    *out = kr_value_real(sqrt(d));
    return 0;
  }
  case KNOWN_CEIL_DIV:
  case KNOWN_ROUND_UP:
    if (eval_int(e->args[0], args[0], &a, error) || eval_int(e->args[1], args[1], &b, error) ||
        eval_ceil_div(e, a, b, &out->i, error))
      return -1;
    out->is_real = false;
    if (which == KNOWN_ROUND_UP && __builtin_mul_overflow(out->i, b, &out->i))
      return eval_overflow(e, "rounded up to", args[0], args[1], error);
    return 0;
  case KNOWN_IS_POW2:
    if (eval_int(e->args[0], args[0], &a, error))
      return -1;
    *out = kr_value_int(a > 0 && (a & (a - 1)) == 0);
    return 0;
  case KNOWN_NEXT_POW2:
  case KNOWN_CLOG2: {
    if (eval_int(e->args[0], args[0], &a, error))
      return -1;
    int k = 0;
    while (k < 62 && (INT64_C(1) << k) < a)
      k++;
    if ((INT64_C(1) << k) < a)
      return expr_fail(error, e->offset, e->length, "%s overflows 64 bits: no power of two is left",
                       expr_shown(e, shown, sizeof shown));
    *out = kr_value_int(which == KNOWN_CLOG2 ? k : INT64_C(1) << k);
    return 0;
  }
  case KNOWN_NONE:
    break;
  }
  return expr_fail(error, e->offset, e->length, "unknown function");
}

static int eval_call(const struct kr_expr *e, const struct kr_expr_env *env, struct kr_value *out,
                     struct kr_expr_error *error)
{
  enum { MAX_ARGS = 8 };
  struct kr_value args[MAX_ARGS];
  if (e->n_args > MAX_ARGS)
    return expr_fail(error, e->offset, e->length, "%s has %zu arguments, at most %d", e->name,
                     e->n_args, MAX_ARGS);
  enum expr_known which = expr_known_find(e->name);
  if (which != KNOWN_NONE && e->n_args != expr_functions[which].args)
    return expr_fail(error, e->offset, e->length, "%s takes %u argument%s, not %zu", e->name,
                     expr_functions[which].args, expr_functions[which].args == 1 ? "" : "s",
                     e->n_args);
  for (size_t i = 0; i < e->n_args; i++)
    if (kr_expr_eval(e->args[i], env, &args[i], error))
      return -1;
  if (which != KNOWN_NONE)
    return eval_known(e, which, args, out, error);
  struct kr_expr_error inner = {.offset = e->offset, .length = e->length};
  int rc = env && env->call ? env->call(env->arg, e->name, args, e->n_args, out, &inner) : 1;
  if (rc == 0)
    return 0;
  if (rc > 0)
    return expr_fail(error, e->offset, e->length,
                     "`%s` is not a function of markers; these are min max abs sqrt ceil_div "
                     "round_up is_pow2 next_pow2 clog2",
                     e->name);
  return expr_fail(error, e->offset, e->length, "%s", inner.text);
}

static int eval_name(const struct kr_expr *e, const struct kr_expr_env *env, struct kr_value *out,
                     struct kr_expr_error *error)
{
  bool size_of = e->kind == KR_EXPR_SIZEOF;
  struct kr_expr_error inner = {.offset = e->offset, .length = e->length};
  int rc = 1;
  if (env && size_of && env->size_of)
    rc = env->size_of(env->arg, e->name, out, &inner);
  else if (env && !size_of && env->lookup)
    rc = env->lookup(env->arg, e->name, out, &inner);
  if (rc == 0)
    return 0;
  if (rc > 0)
    return expr_fail(error, e->offset, e->length,
                     size_of ? "the size of `%s` is not known" : "`%s` is not known", e->name);
  return expr_fail(error, e->offset, e->length, "%s", inner.text);
}

static int eval_unary(const struct kr_expr *e, const struct kr_expr_env *env, struct kr_value *out,
                      struct kr_expr_error *error)
{
  struct kr_value v;
  if (kr_expr_eval(e->args[0], env, &v, error))
    return -1;
  int64_t i;
  switch (e->op[0]) {
  case '+':
    *out = v;
    return 0;
  case '-':
    if (v.is_real) {
      *out = kr_value_real(-v.d);
      return 0;
    }
    if (v.i == INT64_MIN)
      return eval_overflow(e, "-", kr_value_int(0), v, error);
    *out = kr_value_int(-v.i);
    return 0;
  case '!':
    *out = kr_value_int(!kr_value_true(v));
    return 0;
  default:
    if (eval_int(e->args[0], v, &i, error))
      return -1;
    *out = kr_value_int(~i);
    return 0;
  }
}

static bool eval_compare(const char *op, struct kr_value a, struct kr_value b, int64_t *out)
{
  int order;
  if (a.is_real || b.is_real) {
    double x = kr_value_as_real(a), y = kr_value_as_real(b);
    order = x < y ? -1 : x > y;
  } else {
    order = a.i < b.i ? -1 : a.i > b.i;
  }
  if (!strcmp(op, "=="))
    *out = order == 0;
  else if (!strcmp(op, "!="))
    *out = order != 0;
  else if (!strcmp(op, "<"))
    *out = order < 0;
  else if (!strcmp(op, ">"))
    *out = order > 0;
  else if (!strcmp(op, "<="))
    *out = order <= 0;
  else if (!strcmp(op, ">="))
    *out = order >= 0;
  else
    return false;
  return true;
}

static int eval_real_binary(const struct kr_expr *e, char op, double a, double b,
                            struct kr_value *out, struct kr_expr_error *error)
{
  if (op == '/' && eval_divide_check(e, b == 0, error))
    return -1;
  double d = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
  char shown[96];
  if (!isfinite(d))
    return expr_fail(error, e->offset, e->length, "%s overflows",
                     expr_shown(e, shown, sizeof shown));
  *out = kr_value_real(d);
  return 0;
}

static int eval_int_binary(const struct kr_expr *e, const char *op, int64_t a, int64_t b,
                           int64_t *out, struct kr_expr_error *error)
{
  bool over = false;
  switch (op[0]) {
  case '+':
    over = __builtin_add_overflow(a, b, out);
    break;
  case '-':
    over = __builtin_sub_overflow(a, b, out);
    break;
  case '*':
    over = __builtin_mul_overflow(a, b, out);
    break;
  case '/':
  case '%':
    if (eval_divide_check(e, b == 0, error))
      return -1;
    over = a == INT64_MIN && b == -1;
    if (!over)
      *out = op[0] == '/' ? a / b : a % b;
    break;
  case '&':
    *out = a & b;
    break;
  case '|':
    *out = a | b;
    break;
  case '^':
    *out = a ^ b;
    break;
  case '<':
    over = b < 0 || b > 62 || __builtin_mul_overflow(a, INT64_C(1) << b, out);
    break;
  default: // >>
    over = b < 0 || b > 62;
    if (!over)
      *out = a >> b;
    break;
  }
  return over ? eval_overflow(e, op, kr_value_int(a), kr_value_int(b), error) : 0;
}

static int eval_binary(const struct kr_expr *e, const struct kr_expr_env *env,
                       struct kr_value *out, struct kr_expr_error *error)
{
  struct kr_value a, b;
  if (kr_expr_eval(e->args[0], env, &a, error))
    return -1;
  bool both = !strcmp(e->op, "&&"), either = !strcmp(e->op, "||");
  if ((both && !kr_value_true(a)) || (either && kr_value_true(a))) {
    *out = kr_value_int(either);
    return 0;
  }
  if (kr_expr_eval(e->args[1], env, &b, error))
    return -1;
  if (both || either) {
    *out = kr_value_int(kr_value_true(b));
    return 0;
  }
  out->is_real = false;
  if (eval_compare(e->op, a, b, &out->i))
    return 0;
  if ((a.is_real || b.is_real) && strlen(e->op) == 1 && strchr("+-*/", e->op[0]))
    return eval_real_binary(e, e->op[0], kr_value_as_real(a), kr_value_as_real(b), out, error);
  int64_t x, y;
  if (eval_int(e->args[0], a, &x, error) || eval_int(e->args[1], b, &y, error))
    return -1;
  return eval_int_binary(e, e->op, x, y, &out->i, error);
}

int kr_expr_eval(const struct kr_expr *e, const struct kr_expr_env *env, struct kr_value *out,
                 struct kr_expr_error *error)
{
  struct kr_value v = {0};
  int rc = 0;
  switch (e->kind) {
  case KR_EXPR_INT:
  case KR_EXPR_REAL:
    v = e->value;
    break;
  case KR_EXPR_NAME:
  case KR_EXPR_SIZEOF:
    rc = eval_name(e, env, &v, error);
    break;
  case KR_EXPR_CALL:
    rc = eval_call(e, env, &v, error);
    break;
  case KR_EXPR_UNARY:
    rc = eval_unary(e, env, &v, error);
    break;
  case KR_EXPR_BINARY:
    rc = eval_binary(e, env, &v, error);
    break;
  case KR_EXPR_COND:
    rc = kr_expr_eval(e->args[0], env, &v, error);
    if (!rc)
      rc = kr_expr_eval(e->args[kr_value_true(v) ? 1 : 2], env, &v, error);
    break;
  }
  if (!rc)
    *out = v;
  return rc;
}
