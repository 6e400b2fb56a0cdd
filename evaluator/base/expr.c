#include "expr.h"

#include <errno.h>
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
  if (!(v.d >= -0x1p63 && v.d < 0x1p63) || v.d != trunc(v.d))
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

// ---- errors ----

static int expr_fail(struct kr_expr_error *error, size_t offset, size_t length, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));

static int expr_fail(struct kr_expr_error *error, size_t offset, size_t length, const char *fmt, ...)
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

// ---- parsing ----

struct parse {
  const char *text;
  const struct kr_token *toks;
  size_t n, pos;
  int depth, operators;
  struct kr_expr_error *error;
};

// In order of binding strength; a higher number binds tighter.
static const struct {
  const char *op;
  int level;
} binary_ops[] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6}, {"!=", 6},
                  {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9},
                  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
enum { LEVEL_COND = 0, LEVEL_UNARY = 11, LEVEL_PRIMARY = 12 };

static struct kr_token parse_peek(const struct parse *p)
{
  struct kr_token end = {KR_TOK_END, 0, 0, 0};
  if (p->pos < p->n)
    return p->toks[p->pos];
  if (p->n)
    end.offset = p->toks[p->n - 1].offset + p->toks[p->n - 1].length;
  return end;
}

static bool parse_at(const struct parse *p, const char *spelling)
{
  struct kr_token tok = parse_peek(p);
  return tok.kind == KR_TOK_PUNCT && kr_token_is(p->text, tok, spelling);
}

static bool parse_accept(struct parse *p, const char *spelling)
{
  if (!parse_at(p, spelling))
    return false;
  p->pos++;
  return true;
}

static struct kr_expr *expr_new(enum kr_expr_kind kind, size_t offset)
{
  struct kr_expr *e = kr_xcalloc(1, sizeof *e);
  e->kind = kind;
  e->offset = offset;
  return e;
}

static void expr_push(struct kr_expr *e, struct kr_expr *arg)
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

// Ends `e` behind the token before the current one.
static void parse_close(const struct parse *p, struct kr_expr *e)
{
  struct kr_token last = p->toks[p->pos - 1];
  e->length = last.offset + last.length - e->offset;
}

static struct kr_expr *parse_cond(struct parse *p);

// A pp-number's text as a value. Suffixes u, l, f are read and mean nothing.
static int parse_number(struct parse *p, struct kr_token tok, struct kr_value *out)
{
  char text[128];
  size_t n = 0, full = kr_token_text(p->text, tok, text, sizeof text);
  if (full >= sizeof text)
    return expr_fail(p->error, tok.offset, tok.length, "number of %zu characters", full);
  for (size_t i = 0; text[i]; i++)
    if (text[i] != '\'')
      text[n++] = text[i];
  text[n] = '\0';
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  bool binary = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
  bool real = strpbrk(text, hex ? ".pP" : ".eE") != NULL;
  size_t keep = n;
  while (keep > 0 && strchr(hex && !real ? "uUlL" : "uUlLfF", text[keep - 1]))
    keep--;
  if (n - keep > 3)
    return expr_fail(p->error, tok.offset, tok.length, "`%s` is not a number", text);
  text[keep] = '\0';
  char *end = text;
  if (real) {
    double d = strtod(text, &end);
    if (!*text || *end)
      return expr_fail(p->error, tok.offset, tok.length, "`%s` is not a number", text);
    if (!isfinite(d))
      return expr_fail(p->error, tok.offset, tok.length, "%s is too large", text);
    *out = kr_value_real(d);
    return 0;
  }
  errno = 0;
  const char *digits = hex || binary ? text + 2 : text;
  unsigned long long u = strtoull(digits, &end, hex ? 16 : binary ? 2 : text[0] == '0' ? 8 : 10);
  if (end == digits || *end || *digits == '-' || *digits == '+')
    return expr_fail(p->error, tok.offset, tok.length, "`%s` is not a number", text);
  if (errno == ERANGE || u > INT64_MAX)
    return expr_fail(p->error, tok.offset, tok.length, "%s overflows 64 bits", text);
  *out = kr_value_int((int64_t)u);
  return 0;
}

static void name_add(struct kr_bytes *name, const struct parse *p, struct kr_token tok)
{
  char buf[256];
  size_t n = kr_token_text(p->text, tok, buf, sizeof buf);
  kr_bytes_add(name, buf, n < sizeof buf ? n : sizeof buf - 1);
}

// What follows the first name of a path: `::name`, `.name`, `.0`. A member by
// number comes from the tokenizer as the number `.0`, two of them as `.0.1`.
static int parse_path_rest(struct parse *p, struct kr_bytes *name)
{
  for (;;) {
    struct kr_token tok = parse_peek(p);
    if (tok.kind == KR_TOK_NUMBER && p->text[tok.offset] == '.') {
      char text[64];
      kr_token_text(p->text, tok, text, sizeof text);
      for (const char *s = text; *s;) {
        size_t digits = *s == '.' ? strspn(s + 1, "0123456789") : 0;
        if (!digits)
          return expr_fail(p->error, tok.offset, tok.length, "`%s` is not a member", text);
        s += 1 + digits;
      }
      kr_bytes_adds(name, text);
      p->pos++;
      continue;
    }
    bool scope = parse_at(p, "::");
    if (!scope && !parse_at(p, "."))
      return 0;
    p->pos++;
    tok = parse_peek(p);
    if (tok.kind != KR_TOK_IDENTIFIER)
      return expr_fail(p->error, tok.offset, tok.length, "a name must follow `%s`",
                       scope ? "::" : ".");
    kr_bytes_adds(name, scope ? "::" : ".");
    name_add(name, p, tok);
    p->pos++;
  }
}

// The type in sizeof(type): tokens up to the bracket that closes it.
static struct kr_expr *parse_sizeof(struct parse *p, size_t offset)
{
  if (!parse_accept(p, "(")) {
    struct kr_token tok = parse_peek(p);
    expr_fail(p->error, tok.offset, tok.length, "sizeof needs a type in brackets");
    return NULL;
  }
  struct kr_expr *e = expr_new(KR_EXPR_SIZEOF, offset);
  struct kr_bytes type;
  kr_bytes_init(&type, KR_EXPR_MAX_TEXT);
  int open = 1;
  for (; p->pos < p->n; p->pos++) {
    struct kr_token tok = p->toks[p->pos];
    if (tok.kind == KR_TOK_END)
      break;
    if (parse_at(p, "("))
      open++;
    else if (parse_at(p, ")") && --open == 0)
      break;
    if (type.len)
      kr_bytes_addc(&type, ' ');
    name_add(&type, p, tok);
  }
  if (open || !type.len) {
    struct kr_token tok = parse_peek(p);
    expr_fail(p->error, tok.offset, tok.length,
              open ? "`(` of sizeof is not closed" : "sizeof needs a type");
    kr_bytes_release(&type);
    kr_expr_free(e);
    return NULL;
  }
  p->pos++;
  e->name = kr_bytes_take(&type);
  kr_bytes_release(&type);
  parse_close(p, e);
  return e;
}

static struct kr_expr *parse_name(struct parse *p)
{
  struct kr_token tok = parse_peek(p);
  if (kr_token_is(p->text, tok, "sizeof")) {
    p->pos++;
    return parse_sizeof(p, tok.offset);
  }
  struct kr_bytes name;
  kr_bytes_init(&name, KR_EXPR_MAX_TEXT);
  name_add(&name, p, tok);
  p->pos++;
  if (parse_path_rest(p, &name)) {
    kr_bytes_release(&name);
    return NULL;
  }
  struct kr_expr *e = expr_new(KR_EXPR_NAME, tok.offset);
  e->name = kr_bytes_take(&name);
  kr_bytes_release(&name);
  parse_close(p, e);
  if (!strcmp(e->name, "true") || !strcmp(e->name, "false")) {
    e->kind = KR_EXPR_INT;
    e->value = kr_value_int(e->name[0] == 't');
    free(e->name);
    e->name = NULL;
    return e;
  }
  if (!parse_accept(p, "("))
    return e;
  e->kind = KR_EXPR_CALL;
  if (!parse_accept(p, ")")) {
    do {
      struct kr_expr *arg = parse_cond(p);
      if (!arg) {
        kr_expr_free(e);
        return NULL;
      }
      expr_push(e, arg);
    } while (parse_accept(p, ","));
    if (!parse_accept(p, ")")) {
      struct kr_token at = parse_peek(p);
      expr_fail(p->error, at.offset, at.length, "`(` of %s is not closed", e->name);
      kr_expr_free(e);
      return NULL;
    }
  }
  parse_close(p, e);
  return e;
}

static struct kr_expr *parse_primary(struct parse *p)
{
  struct kr_token tok = parse_peek(p);
  if (tok.kind == KR_TOK_NUMBER) {
    struct kr_value v;
    if (parse_number(p, tok, &v))
      return NULL;
    struct kr_expr *e = expr_new(v.is_real ? KR_EXPR_REAL : KR_EXPR_INT, tok.offset);
    e->value = v;
    p->pos++;
    parse_close(p, e);
    return e;
  }
  if (tok.kind == KR_TOK_IDENTIFIER)
    return parse_name(p);
  if (parse_accept(p, "(")) {
    struct kr_expr *e = parse_cond(p);
    if (!e)
      return NULL;
    if (!parse_accept(p, ")")) {
      expr_fail(p->error, tok.offset, tok.length, "`(` is not closed");
      kr_expr_free(e);
      return NULL;
    }
    return e;
  }
  if (tok.kind == KR_TOK_END)
    expr_fail(p->error, tok.offset, 0, "an expression is missing here");
  else if (tok.kind == KR_TOK_STRING || tok.kind == KR_TOK_CHAR)
    expr_fail(p->error, tok.offset, tok.length, "a string is no part of an expression");
  else
    expr_fail(p->error, tok.offset, tok.length, "an expression cannot begin with `%.*s`",
              (int)(tok.length < 40 ? tok.length : 40), p->text + tok.offset);
  return NULL;
}

static struct kr_expr *parse_unary(struct parse *p)
{
  struct kr_token tok = parse_peek(p);
  static const char *const ops[] = {"-", "+", "!", "~"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (!parse_at(p, ops[i]))
      continue;
    if (p->depth >= KR_EXPR_MAX_DEPTH) {
      expr_fail(p->error, tok.offset, tok.length, "nested more than %d deep", KR_EXPR_MAX_DEPTH);
      return NULL;
    }
    p->pos++;
    p->depth++;
    struct kr_expr *arg = parse_unary(p);
    p->depth--;
    if (!arg)
      return NULL;
    struct kr_expr *e = expr_new(KR_EXPR_UNARY, tok.offset);
    e->op[0] = ops[i][0];
    expr_push(e, arg);
    parse_close(p, e);
    return e;
  }
  return parse_primary(p);
}

static int parse_binary_level(const struct parse *p, const char **op)
{
  struct kr_token tok = parse_peek(p);
  if (tok.kind != KR_TOK_PUNCT)
    return 0;
  for (size_t i = 0; i < sizeof binary_ops / sizeof *binary_ops; i++)
    if (kr_token_is(p->text, tok, binary_ops[i].op)) {
      *op = binary_ops[i].op;
      return binary_ops[i].level;
    }
  return 0;
}

static struct kr_expr *parse_binary(struct parse *p, int min_level)
{
  struct kr_expr *left = parse_unary(p);
  const char *op = NULL;
  for (int level; left && (level = parse_binary_level(p, &op)) >= min_level && level > 0;) {
    struct kr_token tok = parse_peek(p);
    p->pos++;
    // A chain of operators is a tree as deep as it is long, and trees are walked
    // by recursion.
    bool many = p->operators++ >= KR_EXPR_MAX_OPERATORS;
    if (many)
      expr_fail(p->error, tok.offset, tok.length, "more than %d operators", KR_EXPR_MAX_OPERATORS);
    struct kr_expr *right = many ? NULL : parse_binary(p, level + 1);
    if (!right) {
      kr_expr_free(left);
      return NULL;
    }
    struct kr_expr *e = expr_new(KR_EXPR_BINARY, left->offset);
    snprintf(e->op, sizeof e->op, "%s", op);
    expr_push(e, left);
    expr_push(e, right);
    parse_close(p, e);
    left = e;
  }
  return left;
}

static struct kr_expr *parse_cond(struct parse *p)
{
  struct kr_token tok = parse_peek(p);
  if (p->depth >= KR_EXPR_MAX_DEPTH) {
    expr_fail(p->error, tok.offset, tok.length, "nested more than %d deep", KR_EXPR_MAX_DEPTH);
    return NULL;
  }
  p->depth++;
  struct kr_expr *e = parse_binary(p, 1);
  if (e && parse_accept(p, "?")) {
    struct kr_expr *cond = expr_new(KR_EXPR_COND, e->offset);
    expr_push(cond, e);
    e = NULL;
    struct kr_expr *yes = parse_cond(p);
    if (yes)
      expr_push(cond, yes);
    if (yes && !parse_accept(p, ":")) {
      struct kr_token at = parse_peek(p);
      expr_fail(p->error, at.offset, at.length, "`:` of `?` is missing");
      yes = NULL;
    }
    struct kr_expr *no = yes ? parse_cond(p) : NULL;
    if (no) {
      expr_push(cond, no);
      parse_close(p, cond);
      e = cond;
    } else {
      kr_expr_free(cond);
    }
  }
  p->depth--;
  return e;
}

struct kr_expr *kr_expr_parse_tokens(const char *text, const struct kr_token *toks, size_t n,
                                     size_t *pos, struct kr_expr_error *error)
{
  struct parse p = {.text = text, .toks = toks, .n = n, .pos = *pos, .error = error};
  struct kr_expr *e = parse_cond(&p);
  *pos = p.pos;
  return e;
}

struct kr_expr *kr_expr_parse(const char *text, size_t len, struct kr_expr_error *error)
{
  if (len > KR_EXPR_MAX_TEXT) {
    expr_fail(error, 0, len, "an expression of %zu bytes; at most %d", len, KR_EXPR_MAX_TEXT);
    return NULL;
  }
  // The tokenizer would skip it, as it must at the start of a file.
  if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
    expr_fail(error, 0, 3, "an expression cannot begin with a byte order mark");
    return NULL;
  }
  size_t n, pos = 0;
  struct kr_token *toks = kr_lex_all(text, len, false, &n);
  struct kr_expr *e = kr_expr_parse_tokens(text, toks, n, &pos, error);
  if (e && toks[pos].kind != KR_TOK_END) {
    struct kr_token tok = toks[pos];
    expr_fail(error, tok.offset, tok.length, "`%.*s` does not go on with the expression",
              (int)(tok.length < 40 ? tok.length : 40), text + tok.offset);
    kr_expr_free(e);
    e = NULL;
  }
  free(toks);
  return e;
}

// ---- evaluation ----

enum known {
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

static const struct {
  const char *name;
  unsigned args;
} known_functions[] = {[KNOWN_MIN] = {"min", 2},           [KNOWN_MAX] = {"max", 2},
                       [KNOWN_ABS] = {"abs", 1},           [KNOWN_SQRT] = {"sqrt", 1},
                       [KNOWN_CEIL_DIV] = {"ceil_div", 2}, [KNOWN_ROUND_UP] = {"round_up", 2},
                       [KNOWN_IS_POW2] = {"is_pow2", 1},   [KNOWN_NEXT_POW2] = {"next_pow2", 1},
                       [KNOWN_CLOG2] = {"clog2", 1}};

static enum known known_find(const char *name)
{
  for (int k = 0; k < KNOWN_NONE; k++)
    if (!strcmp(name, known_functions[k].name))
      return (enum known)k;
  return KNOWN_NONE;
}

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

static int eval_known(const struct kr_expr *e, enum known which, const struct kr_value *args,
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
  enum known which = known_find(e->name);
  if (which != KNOWN_NONE && e->n_args != known_functions[which].args)
    return expr_fail(error, e->offset, e->length, "%s takes %u argument%s, not %zu", e->name,
                     known_functions[which].args, known_functions[which].args == 1 ? "" : "s",
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

void kr_expr_names(const struct kr_expr *e,
                   void (*visit)(void *arg, const struct kr_expr *name, bool is_call), void *arg)
{
  if (e->kind == KR_EXPR_NAME || e->kind == KR_EXPR_SIZEOF)
    visit(arg, e, false);
  else if (e->kind == KR_EXPR_CALL && known_find(e->name) == KNOWN_NONE)
    visit(arg, e, true);
  for (size_t i = 0; i < e->n_args; i++)
    kr_expr_names(e->args[i], visit, arg);
}

// ---- printing ----

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
    return LEVEL_COND;
  case KR_EXPR_UNARY:
    return LEVEL_UNARY;
  case KR_EXPR_INT:
  case KR_EXPR_REAL:
    return kr_value_as_real(e->value) < 0 ? LEVEL_UNARY : LEVEL_PRIMARY;
  case KR_EXPR_BINARY:
    for (size_t i = 0; i < sizeof binary_ops / sizeof *binary_ops; i++)
      if (!strcmp(e->op, binary_ops[i].op))
        return binary_ops[i].level;
    return LEVEL_PRIMARY;
  default:
    return LEVEL_PRIMARY;
  }
}

static bool expr_has_call(const struct kr_expr *e)
{
  if (e->kind == KR_EXPR_CALL && known_find(e->name) == KNOWN_NONE)
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
static struct kr_expr *expr_written_out(const struct kr_expr *e, enum known which)
{
  const struct kr_expr *a = e->n_args > 0 ? e->args[0] : NULL, *b = e->n_args > 1 ? e->args[1] : NULL;
  if (e->n_args != known_functions[which].args)
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
  enum known which = known_find(e->name);
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
    if (print_expr(p, e->args[i], LEVEL_COND))
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
        (e->op[0] == '-' && e->args[0]->kind != KR_EXPR_UNARY && expr_level(e->args[0]) == LEVEL_UNARY))
      kr_bytes_addc(p->out, ' ');
    rc = print_expr(p, e->args[0], LEVEL_UNARY);
    break;
  case KR_EXPR_BINARY:
    rc = print_expr(p, e->args[0], level);
    kr_bytes_addf(p->out, " %s ", e->op);
    if (!rc)
      rc = print_expr(p, e->args[1], level + 1);
    break;
  case KR_EXPR_COND:
    rc = print_expr(p, e->args[0], LEVEL_COND + 1);
    kr_bytes_adds(p->out, " ? ");
    if (!rc)
      rc = print_expr(p, e->args[1], LEVEL_COND + 1);
    kr_bytes_adds(p->out, " : ");
    if (!rc)
      rc = print_expr(p, e->args[2], LEVEL_COND);
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
  int rc = print_expr(&p, e, LEVEL_COND);
  if (!rc)
    kr_bytes_add(out, text.data, text.len);
  kr_bytes_release(&text);
  return rc;
}
