// Text to tree: precedence climbing over the tokens of lex.h.

#include "expr_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parse {
  const char *text;
  const struct kr_token *toks;
  size_t n, pos;
  int depth, operators;
  struct kr_expr_error *error;
};

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
    // Its brackets are part of its text: what begins with it begins there.
    e->offset = tok.offset;
    parse_close(p, e);
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
  for (size_t i = 0; i < EXPR_N_OPERATORS; i++)
    if (kr_token_is(p->text, tok, expr_operators[i].op)) {
      *op = expr_operators[i].op;
      return expr_operators[i].level;
    }
  return 0;
}

static struct kr_expr *parse_binary(struct parse *p, int min_level)
{
  struct kr_expr *left = parse_unary(p);
  const char *op = NULL;
  if (!left)
    return NULL;
  for (int level; (level = parse_binary_level(p, &op)) >= min_level && level > 0;) {
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
