#ifndef KR_BASE_EXPR_H
#define KR_BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "err.h"
#include "lex.h"

// The small expression language of markers: a C conditional expression over
// numbers, names (paths), calls and sizeof(type). No assignment, comma, cast or
// string. Reading or evaluating one runs no code.
//
// Values are signed 64-bit integers, checked on every operation, or doubles.
// `int / int` truncates. Where an integer is wanted an integral double (1e6)
// serves. Comparisons and logic give 0 or 1. `&&`, `||` and `?:` evaluate only
// what they need. Shifts by less than 0 or more than 62, and shifts that lose
// bits, overflow.
//
// Functions known here: min max abs sqrt ceil_div(a, b) round_up(a, b) is_pow2
// next_pow2 clog2 (smallest k with 2^k >= a). All others, and every name, are
// asked of the environment.

enum { KR_EXPR_MAX_DEPTH = 64, KR_EXPR_MAX_OPERATORS = 1000, KR_EXPR_MAX_TEXT = 16 << 10 };

struct kr_value {
  bool is_real;
  int64_t i; // when !is_real
  double d;  // when is_real
};

struct kr_value kr_value_int(int64_t i);
struct kr_value kr_value_real(double d);
double kr_value_as_real(struct kr_value v);
// An integer, or a double that is one exactly. Returns 0, or -1.
int kr_value_as_int(struct kr_value v, int64_t *out);
bool kr_value_true(struct kr_value v);
// "4096", "0.25": shortest text that reads back as the same value.
void kr_value_print(struct kr_value v, struct kr_bytes *out);

enum kr_expr_kind {
  KR_EXPR_INT,
  KR_EXPR_REAL,
  KR_EXPR_NAME,   // a path, blanks removed: n, s.rows, Traits::kN, block.x, args.0
  KR_EXPR_CALL,   // name(args...)
  KR_EXPR_SIZEOF, // sizeof(type): `name` holds the type's tokens joined by single blanks
  KR_EXPR_UNARY,  // op in - + ! ~
  KR_EXPR_BINARY, // op as in C
  KR_EXPR_COND    // args[0] ? args[1] : args[2]
};

struct kr_expr {
  enum kr_expr_kind kind;
  // Byte span of the expression in the text it was parsed from.
  size_t offset, length;
  struct kr_value value; // INT, REAL
  char *name;            // NAME, CALL, SIZEOF; owned
  char op[3];            // UNARY, BINARY: "+", "<<", "&&", ...
  struct kr_expr **args; // owned
  size_t n_args;
};

// What went wrong and where, as a span of the parsed text.
struct kr_expr_error {
  size_t offset, length;
  char text[256];
};

// Parses the tokens from toks[*pos] on, up to the first one that cannot go on
// with the expression (a comma, an unmatched bracket, a `:` outside `?:`, the
// end), where *pos is left. Tokens must be free of comments; their offsets are
// those of `text`. Returns NULL with `error` set. The caller frees the result
// with kr_expr_free().
struct kr_expr *kr_expr_parse_tokens(const char *text, const struct kr_token *toks, size_t n,
                                     size_t *pos, struct kr_expr_error *error);
// Parses a whole text; anything left over is an error.
struct kr_expr *kr_expr_parse(const char *text, size_t len, struct kr_expr_error *error);
void kr_expr_free(struct kr_expr *e);
struct kr_expr *kr_expr_clone(const struct kr_expr *e);

// Where names and unknown functions come from. Each returns 0 with `*out` set,
// 1 when it does not know the name, or -1 with `error->text` set. NULL members
// know nothing.
struct kr_expr_env {
  int (*lookup)(void *arg, const char *name, struct kr_value *out, struct kr_expr_error *error);
  int (*size_of)(void *arg, const char *type, struct kr_value *out, struct kr_expr_error *error);
  int (*call)(void *arg, const char *name, const struct kr_value *args, size_t n,
              struct kr_value *out, struct kr_expr_error *error);
  void *arg;
};

// Returns 0, or -1 with the place and the reason: overflow ("n * n overflows 64
// bits: 4294967296 * 4294967296"), division by zero, an unknown name, a wrong
// number of arguments.
int kr_expr_eval(const struct kr_expr *e, const struct kr_expr_env *env, struct kr_value *out,
                 struct kr_expr_error *error);

// Calls `visit` for every NAME and SIZEOF, left to right, and for every CALL
// that is not a function known here (`is_call`).
void kr_expr_names(const struct kr_expr *e,
                   void (*visit)(void *arg, const struct kr_expr *name, bool is_call), void *arg);

// Prints the expression with the fewest brackets that keep its meaning, names
// replaced by what `substitute` gives (NULL keeps the name). A replacement is
// put in parentheses unless it is a single token. The text is valid C and C++
// for everything but functions; `ceil_div`, `min` and the others are written
// out in operators when `plain` is set: ceil_div(a, b) as (a + b - 1) / b with
// its operands in parentheses where needed. Operands with calls in them are
// refused there (returns -1, nothing is printed), since they would be evaluated
// twice.
int kr_expr_print(const struct kr_expr *e, bool plain,
                  const char *(*substitute)(void *arg, const char *name), void *arg,
                  struct kr_bytes *out, struct kr_err *err);

#endif
