// Tree to text: the fewest brackets that keep the meaning, names replaced, and
// on demand with our functions written out in operators.

#include "expr_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct print {
  bool plain;
  const char *(*substitute)(void *arg, const char *name);
  void *arg;
  struct kr_bytes *out;
  struct kr_err *err;
};

static int expr_level(const struct kr_expr *e)
{
  switch (e->kind) {
  case KR_EXPR_COND:
    return EXPR_LEVEL_COND;
  case KR_EXPR_UNARY:
    return EXPR_LEVEL_UNARY;
  case KR_EXPR_INT:
  case KR_EXPR_REAL:
    return kr_value_as_real(e->value) < 0 ? EXPR_LEVEL_UNARY : EXPR_LEVEL_PRIMARY;
  case KR_EXPR_BINARY:
    for (size_t i = 0; i < EXPR_N_OPERATORS; i++)
      if (!strcmp(e->op, expr_operators[i].op))
        return expr_operators[i].level;
    return EXPR_LEVEL_PRIMARY;
  default:
    return EXPR_LEVEL_PRIMARY;
  }
}

static bool expr_has_call(const struct kr_expr *e)
{
  if (e->kind == KR_EXPR_CALL && expr_known_find(e->name) == KNOWN_NONE)
    return true;
  for (size_t i = 0; i < e->n_args; i++)
    if (expr_has_call(e->args[i]))
      return true;
  return false;
}

static struct kr_expr *expr_make(const char *op, struct kr_expr *a, struct kr_expr *b)
{
  struct kr_expr *e = expr_new(KR_EXPR_BINARY, 0);
  snprintf(e->op, sizeof e->op, "%s", op);
  expr_push(e, a);
  expr_push(e, b);
  return e;
}

static struct kr_expr *expr_make_int(int64_t i)
{
  struct kr_expr *e = expr_new(KR_EXPR_INT, 0);
  e->value = kr_value_int(i);
  return e;
}

// b - 1 folded when b is a number: (n + 255) / 256 reads better than (n + 256 - 1) / 256.
static struct kr_expr *expr_make_ceil_div(const struct kr_expr *a, const struct kr_expr *b)
{
  struct kr_expr *sum;
  if (b->kind == KR_EXPR_INT && b->value.i == 1)
    return kr_expr_clone(a);
  if (b->kind == KR_EXPR_INT)
    sum = expr_make("+", kr_expr_clone(a), expr_make_int(b->value.i - 1));
  else
    sum = expr_make("-", expr_make("+", kr_expr_clone(a), kr_expr_clone(b)), expr_make_int(1));
  return expr_make("/", sum, kr_expr_clone(b));
}

static struct kr_expr *expr_make_cond(struct kr_expr *cond, struct kr_expr *yes, struct kr_expr *no)
{
  struct kr_expr *e = expr_new(KR_EXPR_COND, 0);
  expr_push(e, cond);
  expr_push(e, yes);
  expr_push(e, no);
  return e;
}

// A call of ours written out in operators, or NULL when that cannot be done.
static struct kr_expr *expr_written_out(const struct kr_expr *e, enum expr_known which)
{
  const struct kr_expr *a = e->n_args > 0 ? e->args[0] : NULL, *b = e->n_args > 1 ? e->args[1] : NULL;
  if (e->n_args != expr_functions[which].args)
    return NULL;
  switch (which) {
  case KNOWN_MIN:
  case KNOWN_MAX:
    return expr_make_cond(
        expr_make(which == KNOWN_MIN ? "<" : ">", kr_expr_clone(a), kr_expr_clone(b)),
        kr_expr_clone(a), kr_expr_clone(b));
  case KNOWN_ABS: {
    struct kr_expr *minus = expr_new(KR_EXPR_UNARY, 0);
    minus->op[0] = '-';
    expr_push(minus, kr_expr_clone(a));
    return expr_make_cond(expr_make("<", kr_expr_clone(a), expr_make_int(0)), minus,
                          kr_expr_clone(a));
  }
  case KNOWN_CEIL_DIV:
    return expr_make_ceil_div(a, b);
  case KNOWN_ROUND_UP:
    return expr_make("*", expr_make_ceil_div(a, b), kr_expr_clone(b));
  case KNOWN_IS_POW2:
    return expr_make(
        "&&", expr_make(">", kr_expr_clone(a), expr_make_int(0)),
        expr_make("==",
                  expr_make("&", kr_expr_clone(a),
                            expr_make("-", kr_expr_clone(a), expr_make_int(1))),
                  expr_make_int(0)));
  default:
    return NULL;
  }
}

static int print_expr(struct print *p, const struct kr_expr *e, int min_level);

static int print_call(struct print *p, const struct kr_expr *e, int min_level)
{
  enum expr_known which = expr_known_find(e->name);
  if (p->plain && which != KNOWN_NONE) {
    struct kr_expr *plain = expr_written_out(e, which);
    if (!plain)
      return kr_err_set(p->err, "%s(...) cannot be written in C operators", e->name);
    int rc = -1;
    if (expr_has_call(e))
      kr_err_set(p->err, "%s(...) has a call inside, which would be evaluated twice", e->name);
    else
      rc = print_expr(p, plain, min_level);
    kr_expr_free(plain);
    return rc;
  }
  kr_bytes_addf(p->out, "%s(", e->name);
  for (size_t i = 0; i < e->n_args; i++) {
    if (i)
      kr_bytes_adds(p->out, ", ");
    if (print_expr(p, e->args[i], EXPR_LEVEL_COND))
      return -1;
  }
  kr_bytes_addc(p->out, ')');
  return 0;
}

static void print_name(struct print *p, const struct kr_expr *e)
{
  const char *text = p->substitute ? p->substitute(p->arg, e->name) : NULL;
  if (!text) {
    kr_bytes_adds(p->out, e->name);
    return;
  }
  size_t n;
  struct kr_token *toks = kr_lex_all(text, strlen(text), true, &n);
  bool single = n == 2; // the token and the end
  free(toks);
  kr_bytes_addf(p->out, single ? "%s" : "(%s)", text);
}

static int print_expr(struct print *p, const struct kr_expr *e, int min_level)
{
  if (e->kind == KR_EXPR_CALL)
    return print_call(p, e, min_level);
  int level = expr_level(e);
  bool brackets = level < min_level;
  if (brackets)
    kr_bytes_addc(p->out, '(');
  int rc = 0;
  switch (e->kind) {
  case KR_EXPR_INT:
  case KR_EXPR_REAL:
    kr_value_print(e->value, p->out);
    break;
  case KR_EXPR_NAME:
    print_name(p, e);
    break;
  case KR_EXPR_SIZEOF:
    kr_bytes_addf(p->out, "sizeof(%s)", e->name);
    break;
  case KR_EXPR_UNARY:
    kr_bytes_addc(p->out, e->op[0]);
    // A blank keeps `- -x` from becoming `--x`.
    if ((e->args[0]->kind == KR_EXPR_UNARY && e->args[0]->op[0] == e->op[0]) ||
        (e->op[0] == '-' && e->args[0]->kind != KR_EXPR_UNARY && expr_level(e->args[0]) == EXPR_LEVEL_UNARY))
      kr_bytes_addc(p->out, ' ');
    rc = print_expr(p, e->args[0], EXPR_LEVEL_UNARY);
    break;
  case KR_EXPR_BINARY:
    rc = print_expr(p, e->args[0], level);
    kr_bytes_addf(p->out, " %s ", e->op);
    if (!rc)
      rc = print_expr(p, e->args[1], level + 1);
    break;
  case KR_EXPR_COND:
    rc = print_expr(p, e->args[0], EXPR_LEVEL_COND + 1);
    kr_bytes_adds(p->out, " ? ");
    if (!rc)
      rc = print_expr(p, e->args[1], EXPR_LEVEL_COND + 1);
    kr_bytes_adds(p->out, " : ");
    if (!rc)
      rc = print_expr(p, e->args[2], EXPR_LEVEL_COND);
    break;
  case KR_EXPR_CALL:
    break;
  }
  if (brackets)
    kr_bytes_addc(p->out, ')');
  return rc;
}

int kr_expr_print(const struct kr_expr *e, bool plain,
                  const char *(*substitute)(void *arg, const char *name), void *arg,
                  struct kr_bytes *out, struct kr_err *err)
{
  struct kr_bytes text;
  kr_bytes_init(&text, out->max);
  struct print p = {plain, substitute, arg, &text, err};
  int rc = print_expr(&p, e, EXPR_LEVEL_COND);
  if (!rc)
    kr_bytes_add(out, text.data, text.len);
  kr_bytes_release(&text);
  return rc;
}
