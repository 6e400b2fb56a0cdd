#include "syntax_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"

// Expressions by precedence climbing. The two places where C++ cannot be read
// without types, `(a)-b` and `a<b>(c)`, are decided only where words decide them.

enum { EXPR_MAX_DEPTH = 200 };

static size_t expr_new(struct syntax_at *at, enum syntax_expr_kind kind, size_t first)
{
  struct syntax *s = at->s;
  KR_GROW(s->exprs, s->n_exprs, s->cap_exprs);
  s->exprs[s->n_exprs] = (struct syntax_expr){
      .kind = kind,
      .span = {first, first + 1},
      .parent = SYNTAX_NONE,
      .child = SYNTAX_NONE,
      .next = SYNTAX_NONE,
      .function = at->function,
      .stmt = at->stmt,
      .op = SYNTAX_NONE,
      .name = SYNTAX_NONE,
  };
  return s->n_exprs++;
}

static void expr_adopt(struct syntax *s, size_t parent, size_t child)
{
  struct syntax_expr *p = &s->exprs[parent];
  s->exprs[child].parent = parent;
  p->n_children++;
  if (p->child == SYNTAX_NONE) {
    p->child = child;
    return;
  }
  size_t last = p->child;
  while (s->exprs[last].next != SYNTAX_NONE)
    last = s->exprs[last].next;
  s->exprs[last].next = child;
}

// The rest up to the end is not understood.
static size_t expr_unknown(struct syntax_at *at, size_t first)
{
  size_t e = expr_new(at, EXPR_UNKNOWN, first);
  at->s->exprs[e].span.end = at->end > first ? at->end : first;
  at->pos = at->end;
  at->s->functions[at->function].opaque = true;
  return e;
}

static int binary_strength(const struct syntax *s, size_t t)
{
  static const struct {
    const char *op;
    int strength;
  } ops[] = {{",", 1},  {"=", 2},  {"+=", 2}, {"-=", 2}, {"*=", 2},  {"/=", 2},  {"%=", 2},
             {"&=", 2}, {"|=", 2}, {"^=", 2}, {"<<=", 2}, {">>=", 2}, {"?", 3},   {"||", 4},
             {"&&", 5}, {"|", 6},  {"^", 7},  {"&", 8},  {"==", 9},  {"!=", 9},  {"<", 10},
             {">", 10}, {"<=", 10}, {">=", 10}, {"<<", 11}, {">>", 11}, {"+", 12}, {"-", 12},
             {"*", 13}, {"/", 13}, {"%", 13}};
  if (s->toks[t].kind != KR_TOK_PUNCT)
    return 0;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (syntax_is(s, t, ops[i].op))
      return ops[i].strength;
  }
  return 0;
}

size_t syntax_angle_end(const struct syntax *s, size_t open, size_t end)
{
  int depth = 0;
  for (size_t i = open; i < end && i < open + 64; i++) {
    if (syntax_is_punct(s, i, "<")) {
      depth++;
    } else if (syntax_is_punct(s, i, ">")) {
      if (!--depth)
        return i + 1;
    } else if (syntax_is_punct(s, i, ">>") && depth >= 2) {
      depth -= 2;
      if (!depth)
        return i + 1;
    } else if (s->toks[i].kind == KR_TOK_PUNCT && !syntax_is(s, i, ",") && !syntax_is(s, i, "::") &&
               !syntax_is(s, i, "*")) {
      return SYNTAX_NONE;
    } else if (s->toks[i].kind != KR_TOK_PUNCT && s->toks[i].kind != KR_TOK_IDENTIFIER &&
               s->toks[i].kind != KR_TOK_NUMBER) {
      return SYNTAX_NONE;
    }
  }
  return SYNTAX_NONE;
}

// Arguments up to the bracket at `close`, each adopted by `parent`.
static void parse_args(struct syntax_at *at, size_t parent, size_t close)
{
  size_t end = at->end;
  at->end = close;
  while (at->pos < close) {
    size_t e = syntax_parse_expr(at, STRENGTH_ASSIGN);
    expr_adopt(at->s, parent, e);
    if (at->pos < close) {
      if (!syntax_is_punct(at->s, at->pos, ",")) {
        expr_adopt(at->s, parent, expr_unknown(at, at->pos));
        break;
      }
      at->pos++;
    }
  }
  at->pos = close + 1;
  at->end = end;
}

// `(`type`)` at at->pos: 1 a cast, 0 none, -1 cannot be told.
static int looks_like_cast(struct syntax_at *at, struct syntax_specifiers *sp, size_t *close)
{
  struct syntax *s = at->s;
  size_t pos = at->pos + 1;
  *close = s->match[at->pos];
  if (*close == SYNTAX_NONE || *close >= at->end)
    return -1;
  if (!syntax_read_specifiers(s, &pos, *close, sp))
    return 0;
  bool stars = false;
  for (; pos < *close; pos++) {
    if (syntax_is_punct(s, pos, "*")) {
      sp->type.pointers++;
      stars = true;
    } else if (syntax_is_punct(s, pos, "&")) {
      sp->type.is_reference = true;
    } else if (!syntax_is(s, pos, "const") && !syntax_is(s, pos, "__restrict__")) {
      return 0;
    }
  }
  if (sp->sure || stars)
    return 1;
  // A name in parentheses that may be a type or a value.
  size_t after = *close + 1;
  if (after >= at->end)
    return 0;
  enum kr_token_kind k = s->toks[after].kind;
  if (k == KR_TOK_IDENTIFIER || k == KR_TOK_NUMBER)
    return 1;
  if (syntax_is_punct(s, after, "(") || syntax_is_punct(s, after, "-") ||
      syntax_is_punct(s, after, "+") || syntax_is_punct(s, after, "*") ||
      syntax_is_punct(s, after, "&") || syntax_is_punct(s, after, "!") ||
      syntax_is_punct(s, after, "~") || syntax_is_punct(s, after, "{"))
    return -1;
  return 0;
}

static size_t finish_cast(struct syntax_at *at, size_t first, struct syntax_span type_span,
                          const struct syntax_specifiers *sp, size_t operand, size_t end)
{
  struct syntax *s = at->s;
  size_t e = expr_new(at, EXPR_CAST, first);
  s->exprs[e].type_span = type_span;
  s->exprs[e].type = sp->type;
  s->exprs[e].reinterprets = sp->type.pointers > 0;
  s->exprs[e].span = (struct syntax_span){first, end};
  expr_adopt(s, e, operand);
  return e;
}

// static_cast<T>(e) and its kin.
static size_t parse_named_cast(struct syntax_at *at)
{
  struct syntax *s = at->s;
  size_t first = at->pos, type_first = first + 2;
  size_t end = syntax_is_punct(s, first + 1, "<") ? syntax_angle_end(s, first + 1, at->end) : SYNTAX_NONE;
  struct syntax_specifiers sp;
  size_t pos = type_first;
  if (end == SYNTAX_NONE) {
    // `float *` and `float &` are no template arguments to syntax_angle_end().
    for (end = type_first; end < at->end && end < first + 16 && !syntax_is_punct(s, end, ">"); end++)
      ;
    end++;
  }
  if (end >= at->end || !syntax_is_punct(s, end, "(") || s->match[end] >= at->end ||
      !syntax_read_specifiers(s, &pos, end - 1, &sp))
    return expr_unknown(at, first);
  for (; pos < end - 1; pos++) {
    if (syntax_is_punct(s, pos, "*"))
      sp.type.pointers++;
    else if (syntax_is_punct(s, pos, "&"))
      sp.type.is_reference = true;
    else if (!syntax_is(s, pos, "const"))
      return expr_unknown(at, first);
  }
  size_t close = s->match[end], outer = at->end;
  at->pos = end + 1;
  at->end = close;
  size_t operand = syntax_parse_expr(at, STRENGTH_COMMA);
  bool whole = at->pos == close;
  at->end = outer;
  at->pos = close + 1;
  size_t e = finish_cast(at, first, (struct syntax_span){type_first, end - 1}, &sp, operand, close + 1);
  s->exprs[e].reinterprets = s->exprs[e].reinterprets || syntax_is(s, first, "reinterpret_cast");
  if (!whole)
    s->functions[at->function].opaque = true;
  return e;
}

static size_t parse_unary(struct syntax_at *at, int depth);

static size_t parse_paren_like(struct syntax_at *at, int depth)
{
  struct syntax *s = at->s;
  size_t first = at->pos, close, outer = at->end;
  struct syntax_specifiers sp;
  int cast = looks_like_cast(at, &sp, &close);
  if (cast < 0)
    return expr_unknown(at, first);
  if (cast) {
    at->pos = close + 1;
    size_t operand = parse_unary(at, depth + 1);
    return finish_cast(at, first, (struct syntax_span){first + 1, close}, &sp, operand,
                       s->exprs[operand].span.end);
  }
  at->pos = first + 1;
  at->end = close;
  size_t inner = syntax_parse_expr(at, STRENGTH_COMMA);
  if (at->pos != close)
    s->functions[at->function].opaque = true;
  at->end = outer;
  at->pos = close + 1;
  size_t e = expr_new(at, EXPR_PAREN, first);
  s->exprs[e].span.end = close + 1;
  expr_adopt(s, e, inner);
  return e;
}

static size_t parse_list(struct syntax_at *at)
{
  struct syntax *s = at->s;
  size_t first = at->pos, close = s->match[first];
  if (close == SYNTAX_NONE || close >= at->end)
    return expr_unknown(at, first);
  size_t e = expr_new(at, EXPR_LIST, first);
  at->pos++;
  parse_args(at, e, close);
  s->exprs[e].span.end = close + 1;
  return e;
}

static size_t parse_name(struct syntax_at *at)
{
  static const char *const literals[] = {"true", "false", "nullptr", NULL};
  static const char *const strange[] = {"new",      "delete",       "throw",   "asm",   "__asm__",
                                        "typeid",   "dynamic_cast", "co_await", "const_cast",
                                        "template", "operator",     "typename", "decltype",
                                        "alignof",  "noexcept",     "requires", "if", "for",
                                        "while", "return", "do", "switch", "case", "goto",
                                        "struct", "class", "union", "enum", NULL};
  static const char *const casts[] = {"static_cast", "reinterpret_cast", NULL};
  struct syntax *s = at->s;
  size_t first = at->pos;
  if (syntax_is_word(s, first, strange))
    return expr_unknown(at, first);
  if (syntax_is_word(s, first, casts))
    return parse_named_cast(at);
  if (syntax_is_word(s, first, literals)) {
    at->pos++;
    return expr_new(at, EXPR_LITERAL, first);
  }
  // float(x), unsigned(x), size_t(x)
  struct syntax_specifiers sp;
  size_t pos = first;
  if (syntax_read_specifiers(s, &pos, at->end, &sp) && sp.sure) {
    if (pos >= at->end || !syntax_is_punct(s, pos, "(") || s->match[pos] >= at->end ||
        sp.is_shared || sp.is_static)
      return expr_unknown(at, first);
    size_t type_end = pos, close = s->match[pos];
    at->pos = pos + 1;
    size_t e = expr_new(at, EXPR_CAST, first);
    parse_args(at, e, close);
    s->exprs[e].type_span = (struct syntax_span){first, type_end};
    s->exprs[e].type = sp.type;
    s->exprs[e].span.end = close + 1;
    if (s->exprs[e].n_children != 1)
      s->functions[at->function].opaque = true;
    return e;
  }
  pos = first;
  if (syntax_is_punct(s, pos, "::"))
    pos++;
  size_t name = SYNTAX_NONE;
  while (pos < at->end && s->toks[pos].kind == KR_TOK_IDENTIFIER) {
    name = pos++;
    if (pos + 1 < at->end && syntax_is_punct(s, pos, "::") &&
        s->toks[pos + 1].kind == KR_TOK_IDENTIFIER)
      pos++;
    else
      break;
  }
  if (name == SYNTAX_NONE)
    return expr_unknown(at, first);
  size_t e = expr_new(at, EXPR_NAME, first);
  if (name == first) {
    char *word = syntax_word(s, name);
    s->exprs[e].name = syntax_resolve(s, word, name);
    free(word);
  }
  if (s->exprs[e].name == SYNTAX_NONE && pos < at->end && syntax_is_punct(s, pos, "<")) {
    size_t after = syntax_angle_end(s, pos, at->end);
    if (after != SYNTAX_NONE && after < at->end &&
        (syntax_is_punct(s, after, "(") || syntax_is_punct(s, after, "::"))) {
      if (syntax_is_punct(s, after, "::")) {
        at->pos = first;
        return expr_unknown(at, first);
      }
      pos = after;
    }
  }
  s->exprs[e].span.end = pos;
  at->pos = pos;
  return e;
}

static size_t parse_primary(struct syntax_at *at, int depth)
{
  struct syntax *s = at->s;
  size_t first = at->pos;
  if (first >= at->end || depth > EXPR_MAX_DEPTH || (s->toks[first].flags & KR_TOK_DIRECTIVE))
    return expr_unknown(at, first);
  switch (s->toks[first].kind) {
  case KR_TOK_NUMBER:
    at->pos++;
    return expr_new(at, EXPR_NUMBER, first);
  case KR_TOK_STRING:
  case KR_TOK_CHAR: {
    size_t e = expr_new(at, EXPR_LITERAL, first);
    while (at->pos < at->end && s->toks[at->pos].kind == s->toks[first].kind)
      at->pos++;
    s->exprs[e].span.end = at->pos;
    return e;
  }
  case KR_TOK_IDENTIFIER:
    return parse_name(at);
  case KR_TOK_PUNCT:
    if (syntax_is(s, first, "("))
      return parse_paren_like(at, depth);
    if (syntax_is(s, first, "{"))
      return parse_list(at);
    if (syntax_is(s, first, "::"))
      return parse_name(at);
    return expr_unknown(at, first);
  default:
    return expr_unknown(at, first);
  }
}

static size_t parse_postfix(struct syntax_at *at, int depth)
{
  struct syntax *s = at->s;
  size_t e = parse_primary(at, depth);
  while (at->pos < at->end && s->exprs[e].kind != EXPR_UNKNOWN) {
    size_t t = at->pos, first = s->exprs[e].span.first, n;
    if (s->toks[t].flags & KR_TOK_DIRECTIVE)
      break;
    if (syntax_is_punct(s, t, "[") || syntax_is_punct(s, t, "(")) {
      size_t close = s->match[t];
      if (close == SYNTAX_NONE || close >= at->end)
        return expr_unknown(at, first);
      n = expr_new(at, syntax_is(s, t, "[") ? EXPR_SUBSCRIPT : EXPR_CALL, first);
      s->exprs[n].op = t;
      expr_adopt(s, n, e);
      at->pos++;
      parse_args(at, n, close);
      s->exprs[n].span.end = close + 1;
      if (s->exprs[n].kind == EXPR_SUBSCRIPT && s->exprs[n].n_children != 2)
        s->functions[at->function].opaque = true;
    } else if (syntax_is_punct(s, t, ".") || syntax_is_punct(s, t, "->")) {
      if (t + 1 >= at->end || s->toks[t + 1].kind != KR_TOK_IDENTIFIER ||
          syntax_is(s, t + 1, "template"))
        return expr_unknown(at, first);
      n = expr_new(at, EXPR_MEMBER, first);
      s->exprs[n].op = t;
      expr_adopt(s, n, e);
      at->pos = t + 2;
      s->exprs[n].span.end = at->pos;
    } else if (syntax_is_punct(s, t, "++") || syntax_is_punct(s, t, "--")) {
      n = expr_new(at, EXPR_POSTFIX, first);
      s->exprs[n].op = t;
      expr_adopt(s, n, e);
      at->pos = t + 1;
      s->exprs[n].span.end = at->pos;
    } else {
      break;
    }
    e = n;
  }
  return e;
}

static size_t parse_unary(struct syntax_at *at, int depth)
{
  static const char *const ops[] = {"+", "-", "!", "~", "*", "&", "++", "--", NULL};
  struct syntax *s = at->s;
  size_t first = at->pos;
  if (first >= at->end || depth > EXPR_MAX_DEPTH)
    return expr_unknown(at, first);
  if (s->toks[first].kind == KR_TOK_PUNCT && syntax_is_word(s, first, ops)) {
    at->pos++;
    size_t operand = parse_unary(at, depth + 1);
    size_t e = expr_new(at, EXPR_UNARY, first);
    s->exprs[e].op = first;
    s->exprs[e].span.end = s->exprs[operand].span.end;
    expr_adopt(s, e, operand);
    return e;
  }
  if (syntax_is(s, first, "sizeof")) {
    // What is in it is not evaluated, so nothing in it is a use.
    if (first + 1 >= at->end || !syntax_is_punct(s, first + 1, "(") ||
        s->match[first + 1] >= at->end)
      return expr_unknown(at, first);
    size_t e = expr_new(at, EXPR_UNARY, first);
    s->exprs[e].op = first;
    at->pos = s->match[first + 1] + 1;
    s->exprs[e].span.end = at->pos;
    return e;
  }
  return parse_postfix(at, depth);
}

static size_t parse_binary(struct syntax_at *at, int strength, int depth)
{
  struct syntax *s = at->s;
  size_t e = parse_unary(at, depth);
  while (at->pos < at->end && s->exprs[e].kind != EXPR_UNKNOWN) {
    size_t t = at->pos;
    int level = binary_strength(s, t);
    if (!level || level < strength || (s->toks[t].flags & KR_TOK_DIRECTIVE))
      break;
    size_t first = s->exprs[e].span.first;
    if (depth > EXPR_MAX_DEPTH)
      return expr_unknown(at, first);
    at->pos++;
    size_t n = expr_new(at, level == 1   ? EXPR_COMMA
                            : level == 2 ? EXPR_ASSIGN
                            : level == 3 ? EXPR_COND
                                         : EXPR_BINARY,
                        first);
    s->exprs[n].op = t;
    expr_adopt(s, n, e);
    if (level == 3) {
      expr_adopt(s, n, parse_binary(at, STRENGTH_COMMA, depth + 1));
      if (at->pos >= at->end || !syntax_is_punct(s, at->pos, ":"))
        return expr_unknown(at, first);
      at->pos++;
      expr_adopt(s, n, parse_binary(at, STRENGTH_ASSIGN, depth + 1));
    } else {
      // Assignments group from the right, everything else from the left.
      expr_adopt(s, n, parse_binary(at, level == 2 ? level : level + 1, depth + 1));
    }
    size_t last = s->exprs[n].child;
    while (s->exprs[last].next != SYNTAX_NONE)
      last = s->exprs[last].next;
    s->exprs[n].span.end = s->exprs[last].span.end;
    e = n;
  }
  return e;
}

size_t syntax_parse_expr(struct syntax_at *at, int strength)
{
  return parse_binary(at, strength, 0);
}

// --- how each part is used ---

static void mark(struct syntax *s, size_t e, unsigned use);

static void mark_call(struct syntax *s, size_t e)
{
  size_t callee = s->exprs[e].child;
  char *name = syntax_callee(s, e);
  unsigned known = name ? syntax_known_function(name) : 0;
  bool values = known || (name && syntax_takes_values(s, name));
  if (s->exprs[callee].kind == EXPR_MEMBER)
    mark(s, s->exprs[callee].child, SYNTAX_READ | SYNTAX_ESCAPES);
  else if (!name)
    mark(s, callee, SYNTAX_READ);
  bool first = true;
  for (size_t a = s->exprs[callee].next; a != SYNTAX_NONE; a = s->exprs[a].next, first = false) {
    size_t inner = syntax_strip(s, a);
    bool address = s->exprs[inner].kind == EXPR_UNARY && syntax_is(s, s->exprs[inner].op, "&");
    if (first && (known & (KNOWN_ATOMIC | KNOWN_LOAD | KNOWN_STORE))) {
      unsigned use = known & KNOWN_LOAD    ? SYNTAX_READ
                     : known & KNOWN_STORE ? SYNTAX_WRITTEN
                                           : SYNTAX_ATOMIC | SYNTAX_READ | SYNTAX_WRITTEN;
      if (address)
        mark(s, s->exprs[inner].child, use);
      else
        mark(s, a, known & KNOWN_LOAD ? SYNTAX_READ : SYNTAX_READ | SYNTAX_ESCAPES);
      continue;
    }
    size_t n = s->exprs[inner].kind == EXPR_NAME ? s->exprs[inner].name : SYNTAX_NONE;
    bool behind = n != SYNTAX_NONE &&
                  (!s->names[n].type.known || s->names[n].type.pointers || s->names[n].n_dims);
    if (known)
      mark(s, a, SYNTAX_READ);
    else if (values)
      mark(s, a, behind ? SYNTAX_READ | SYNTAX_ESCAPES : SYNTAX_READ);
    else
      mark(s, a, SYNTAX_READ | SYNTAX_ESCAPES);
  }
  free(name);
}

static void mark(struct syntax *s, size_t e, unsigned use)
{
  struct syntax_expr *x = &s->exprs[e];
  size_t a = x->child, b = a == SYNTAX_NONE ? SYNTAX_NONE : s->exprs[a].next;
  x->use |= use;
  switch (x->kind) {
  case EXPR_NAME:
  case EXPR_NUMBER:
  case EXPR_LITERAL:
  case EXPR_UNKNOWN:
    return;
  case EXPR_PAREN:
    mark(s, a, use);
    return;
  case EXPR_MEMBER:
    mark(s, a, syntax_is(s, x->op, ".") ? use : SYNTAX_READ | SYNTAX_BASE);
    return;
  case EXPR_SUBSCRIPT:
    mark(s, a, SYNTAX_BASE | (use & SYNTAX_ESCAPES));
    if (b != SYNTAX_NONE)
      mark(s, b, SYNTAX_READ);
    return;
  case EXPR_UNARY:
    if (a == SYNTAX_NONE)
      return;
    if (syntax_is(s, x->op, "*"))
      mark(s, a, SYNTAX_READ | SYNTAX_BASE);
    else if (syntax_is(s, x->op, "&"))
      mark(s, a, SYNTAX_ESCAPES);
    else if (syntax_is(s, x->op, "++") || syntax_is(s, x->op, "--"))
      mark(s, a, SYNTAX_READ | SYNTAX_WRITTEN);
    else
      mark(s, a, SYNTAX_READ);
    return;
  case EXPR_POSTFIX:
    mark(s, a, SYNTAX_READ | SYNTAX_WRITTEN);
    return;
  case EXPR_ASSIGN:
    mark(s, a, syntax_is(s, x->op, "=") ? SYNTAX_WRITTEN : SYNTAX_READ | SYNTAX_WRITTEN);
    mark(s, b, SYNTAX_READ);
    return;
  case EXPR_COND:
    mark(s, a, SYNTAX_READ);
    for (; b != SYNTAX_NONE; b = s->exprs[b].next)
      mark(s, b, use);
    return;
  case EXPR_CALL:
    mark_call(s, e);
    return;
  case EXPR_CAST:
    mark(s, a, x->type.is_reference ? use | SYNTAX_ESCAPES : SYNTAX_READ);
    return;
  case EXPR_BINARY:
  case EXPR_COMMA:
  case EXPR_LIST:
    for (; a != SYNTAX_NONE; a = s->exprs[a].next)
      mark(s, a, SYNTAX_READ | (use & SYNTAX_ESCAPES));
    return;
  }
}

void syntax_mark(struct syntax *s, size_t root, unsigned use)
{
  mark(s, root, use);
}
