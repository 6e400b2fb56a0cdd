// Values, trees and the tables of the expression language. What is done with
// them is in expr_parse.c, expr_eval.c and expr_print.c.

#include "expr_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

// ---- values ----

struct kr_value kr_value_int(int64_t i)
{
  return (struct kr_value){.is_real = false, .i = i};
}

struct kr_value kr_value_real(double d)
{
  return (struct kr_value){.is_real = true, .d = d};
}

double kr_value_as_real(struct kr_value v)
{
  return v.is_real ? v.d : (double)v.i;
}

int kr_value_as_int(struct kr_value v, int64_t *out)
{
  if (!v.is_real) {
    *out = v.i;
    return 0;
  }
  // 2^63 itself is a double but no int64_t.
  if (!(v.d >= -9223372036854775808.0 && v.d < 9223372036854775808.0) || v.d != trunc(v.d))
    return -1;
  *out = (int64_t)v.d;
  return 0;
}

bool kr_value_true(struct kr_value v)
{
  return v.is_real ? v.d != 0 : v.i != 0;
}

void kr_value_print(struct kr_value v, struct kr_bytes *out)
{
  if (!v.is_real) {
    kr_bytes_addf(out, "%" PRId64, v.i);
    return;
  }
  if (fabs(v.d) < 1e15 && v.d == trunc(v.d)) {
    kr_bytes_addf(out, "%.1f", v.d);
    return;
  }
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v.d);
    if (strtod(text, NULL) == v.d)
      break;
  }
  kr_bytes_adds(out, text);
  if (!strpbrk(text, ".eni"))
    kr_bytes_adds(out, ".0");
}

// ---- tables ----

const struct expr_operator expr_operators[EXPR_N_OPERATORS] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6}, {"!=", 6},
                  {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9},
                  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

const struct expr_function expr_functions[KNOWN_NONE] = {[KNOWN_MIN] = {"min", 2},           [KNOWN_MAX] = {"max", 2},
                       [KNOWN_ABS] = {"abs", 1},           [KNOWN_SQRT] = {"sqrt", 1},
                       [KNOWN_CEIL_DIV] = {"ceil_div", 2}, [KNOWN_ROUND_UP] = {"round_up", 2},
                       [KNOWN_IS_POW2] = {"is_pow2", 1},   [KNOWN_NEXT_POW2] = {"next_pow2", 1},
                       [KNOWN_CLOG2] = {"clog2", 1}};

enum expr_known expr_known_find(const char *name)
{
  for (int k = 0; k < KNOWN_NONE; k++)
    if (!strcmp(name, expr_functions[k].name))
      return (enum expr_known)k;
  return KNOWN_NONE;
}

// ---- errors ----

int expr_fail(struct kr_expr_error *error, size_t offset, size_t length, const char *fmt, ...)
{
  if (error) {
    error->offset = offset;
    error->length = length;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(error->text, sizeof error->text, fmt, ap);
    va_end(ap);
  }
  return -1;
}

// ---- trees ----

struct kr_expr *expr_new(enum kr_expr_kind kind, size_t offset)
{
  struct kr_expr *e = kr_xcalloc(1, sizeof *e);
  e->kind = kind;
  e->offset = offset;
  return e;
}

void expr_push(struct kr_expr *e, struct kr_expr *arg)
{
  e->args = kr_xreallocarray(e->args, e->n_args + 1, sizeof *e->args);
  e->args[e->n_args++] = arg;
}

void kr_expr_free(struct kr_expr *e)
{
  if (!e)
    return;
  for (size_t i = 0; i < e->n_args; i++)
    kr_expr_free(e->args[i]);
  free(e->args);
  free(e->name);
  free(e);
}

struct kr_expr *kr_expr_clone(const struct kr_expr *e)
{
  struct kr_expr *c = kr_xmalloc(sizeof *c);
  *c = *e;
  c->name = e->name ? kr_xstrdup(e->name) : NULL;
  c->args = NULL;
  c->n_args = 0;
  for (size_t i = 0; i < e->n_args; i++)
    expr_push(c, kr_expr_clone(e->args[i]));
  return c;
}

void kr_expr_names(const struct kr_expr *e,
                   void (*visit)(void *arg, const struct kr_expr *name, bool is_call), void *arg)
{
  if (e->kind == KR_EXPR_NAME || e->kind == KR_EXPR_SIZEOF)
    visit(arg, e, false);
  else if (e->kind == KR_EXPR_CALL && expr_known_find(e->name) == KNOWN_NONE)
    visit(arg, e, true);
  for (size_t i = 0; i < e->n_args; i++)
    kr_expr_names(e->args[i], visit, arg);
}
