#ifndef KR_BASE_EXPR_INTERNAL_H
#define KR_BASE_EXPR_INTERNAL_H

#include "expr.h"

// What the files of the expression language share.

// Levels of binding strength; a higher number binds tighter.
enum { EXPR_LEVEL_COND = 0, EXPR_LEVEL_UNARY = 11, EXPR_LEVEL_PRIMARY = 12 };

struct expr_operator {
  const char *op;
  int level;
};
enum { EXPR_N_OPERATORS = 18 };
extern const struct expr_operator expr_operators[EXPR_N_OPERATORS];

// The functions that the language knows by itself.
enum expr_known {
  KNOWN_MIN,
  KNOWN_MAX,
  KNOWN_ABS,
  KNOWN_SQRT,
  KNOWN_CEIL_DIV,
  KNOWN_ROUND_UP,
  KNOWN_IS_POW2,
  KNOWN_NEXT_POW2,
  KNOWN_CLOG2,
  KNOWN_NONE
};

struct expr_function {
  const char *name;
  unsigned args;
};
extern const struct expr_function expr_functions[KNOWN_NONE];
enum expr_known expr_known_find(const char *name);

// Sets place and sentence. Returns -1.
int expr_fail(struct kr_expr_error *error, size_t offset, size_t length, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

struct kr_expr *expr_new(enum kr_expr_kind kind, size_t offset);
void expr_push(struct kr_expr *e, struct kr_expr *arg); // takes `arg`

#endif
