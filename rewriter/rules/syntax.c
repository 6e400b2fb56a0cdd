#include "syntax_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "../decl.h"

// Cuts a kernel's text into functions, statements, declarations and expressions.
// The grammar is that of kernels as people write them; everything else becomes
// STMT_OTHER, and its function opaque.

enum { SYNTAX_MAX_DEPTH = 100 };

// --- words ---

bool syntax_is(const struct syntax *s, size_t token, const char *spelling)
{
  return token < s->n_toks && kr_token_is(s->text, s->toks[token], spelling);
}

bool syntax_is_punct(const struct syntax *s, size_t token, const char *p)
{
  return token < s->n_toks && s->toks[token].kind == KR_TOK_PUNCT && syntax_is(s, token, p);
}

bool syntax_is_word(const struct syntax *s, size_t token, const char *const *words)
{
  for (; *words; words++) {
    if (syntax_is(s, token, *words))
      return true;
  }
  return false;
}

char *syntax_word(const struct syntax *s, size_t token)
{
  return kr_xstrndup(s->text + s->toks[token].offset, s->toks[token].length);
}

size_t syntax_resolve(const struct syntax *s, const char *name, size_t token)
{
  for (size_t i = s->n_names; i-- > 0;) {
    const struct syntax_name *n = &s->names[i];
    if (n->scope.first <= token && token < n->scope.end && !strcmp(n->name, name))
      return i;
  }
  return SYNTAX_NONE;
}

// --- types ---

static const struct {
  const char *name;
  enum kr_kind kind;
} type_names[] = {
    {"size_t", KR_U64},   {"ptrdiff_t", KR_I64}, {"ssize_t", KR_I64},  {"int8_t", KR_I8},
    {"uint8_t", KR_U8},   {"int16_t", KR_I16},   {"uint16_t", KR_U16}, {"int32_t", KR_I32},
    {"uint32_t", KR_U32}, {"int64_t", KR_I64},   {"uint64_t", KR_U64}, {"uint", KR_U32},
    {"uchar", KR_U8},     {"ushort", KR_U16},    {"ulong", KR_U64},    {"intptr_t", KR_I64},
    {"uintptr_t", KR_U64}, {"half", KR_F16},     {"__half", KR_F16},   {"__nv_bfloat16", KR_BF16},
};

// Types of CUDA that are neither scalars nor names of anything else.
static const char *const vector_types[] = {
    "char2",   "char4",   "uchar2",  "uchar4",  "short2",    "short4",   "ushort2",  "ushort4",
    "int2",    "int3",    "int4",    "uint2",   "uint3",     "uint4",    "long2",    "longlong2",
    "ulonglong2", "float2", "float3", "float4", "double2",   "double3",  "double4",  "half2",
    "__half2", "dim3",    "__nv_bfloat162", NULL};

static bool read_builtin_words(const struct syntax *s, size_t *pos, size_t end,
                               struct syntax_specifiers *out)
{
  static const char *const qualifiers[] = {"const",    "constexpr",  "static",     "extern",
                                           "volatile", "register",   "inline",     "__shared__",
                                           "__device__", "__constant__", "__forceinline__",
                                           "__restrict__", "mutable", "__inline__", "__noinline__",
                                           "__host__", "__global__", NULL};
  unsigned n_long = 0;
  bool is_unsigned = false, is_signed = false, is_short = false, is_int = false;
  int base = -1; // 0 char, 1 bool, 2 float, 3 double, 4 void, 5 auto, 6 named
  bool any = false;
  out->type = (struct syntax_type){0};
  for (; *pos < end; (*pos)++) {
    if (s->toks[*pos].kind != KR_TOK_IDENTIFIER || (s->toks[*pos].flags & KR_TOK_DIRECTIVE))
      break;
    if (syntax_is(s, *pos, "alignas") || syntax_is(s, *pos, "__align__")) {
      if (*pos + 1 >= end || !syntax_is_punct(s, *pos + 1, "(") || s->match[*pos + 1] >= end)
        break;
      *pos = s->match[*pos + 1];
      continue;
    }
    if (syntax_is_word(s, *pos, qualifiers)) {
      out->type.is_const = out->type.is_const || syntax_is(s, *pos, "const") ||
                           syntax_is(s, *pos, "constexpr");
      out->is_constexpr = out->is_constexpr || syntax_is(s, *pos, "constexpr");
      out->is_static = out->is_static || syntax_is(s, *pos, "static");
      out->is_extern = out->is_extern || syntax_is(s, *pos, "extern");
      out->is_shared = out->is_shared || syntax_is(s, *pos, "__shared__");
      out->is_volatile = out->is_volatile || syntax_is(s, *pos, "volatile");
      continue;
    }
    if (base > 3 || (base >= 0 && !syntax_is(s, *pos, "unsigned") && !syntax_is(s, *pos, "signed")))
      break;
    if (syntax_is(s, *pos, "unsigned"))
      is_unsigned = any = true;
    else if (syntax_is(s, *pos, "signed"))
      is_signed = any = true;
    else if (syntax_is(s, *pos, "long"))
      n_long++, any = true;
    else if (syntax_is(s, *pos, "short"))
      is_short = any = true;
    else if (syntax_is(s, *pos, "int"))
      is_int = any = true;
    else if (syntax_is(s, *pos, "char"))
      base = 0, any = true;
    else if (any)
      break;
    else if (syntax_is(s, *pos, "bool"))
      base = 1, any = true;
    else if (syntax_is(s, *pos, "float"))
      base = 2, any = true;
    else if (syntax_is(s, *pos, "double"))
      base = 3, any = true;
    else if (syntax_is(s, *pos, "void"))
      base = 4, any = true;
    else if (syntax_is(s, *pos, "auto"))
      base = 5, any = true;
    else
      break;
  }
  (void)is_signed;
  if (!any)
    return false;
  out->type.known = base != 4 && base != 5 && !(base == 3 && n_long) && !out->is_volatile;
  out->type.kind = base == 0   ? (is_unsigned ? KR_U8 : KR_I8)
                   : base == 1 ? KR_BOOL
                   : base == 2 ? KR_F32
                   : base == 3 ? KR_F64
                   : n_long    ? (is_unsigned ? KR_U64 : KR_I64)
                   : is_short  ? (is_unsigned ? KR_U16 : KR_I16)
                               : (is_unsigned ? KR_U32 : KR_I32);
  (void)is_int;
  out->sure = true;
  return true;
}

bool syntax_read_specifiers(const struct syntax *s, size_t *pos, size_t end,
                            struct syntax_specifiers *out)
{
  *out = (struct syntax_specifiers){0};
  if (read_builtin_words(s, pos, end, out))
    return out->any = true;
  // Qualifiers were read, then a name, then perhaps qualifiers again.
  bool is_const = out->type.is_const;
  size_t i = *pos;
  if (i < end && syntax_is_punct(s, i, "::"))
    i++;
  size_t name = SYNTAX_NONE, first = i;
  while (i < end && s->toks[i].kind == KR_TOK_IDENTIFIER && !(s->toks[i].flags & KR_TOK_DIRECTIVE)) {
    name = i++;
    if (i + 1 < end && syntax_is_punct(s, i, "::") && s->toks[i + 1].kind == KR_TOK_IDENTIFIER)
      i++;
    else
      break;
  }
  if (name == SYNTAX_NONE)
    return false;
  char *word = syntax_word(s, name);
  bool keyword = kr_lex_is_keyword(word, strlen(word));
  bool declared = name == first && syntax_resolve(s, word, name) != SYNTAX_NONE;
  out->type.known = false;
  for (size_t k = 0; k < sizeof type_names / sizeof *type_names; k++) {
    if (!strcmp(word, type_names[k].name)) {
      out->type.known = !out->is_volatile;
      out->type.kind = type_names[k].kind;
      out->sure = true;
    }
  }
  out->sure = out->sure || syntax_is_word(s, name, vector_types);
  free(word);
  if (keyword || declared)
    return false;
  if (i < end && syntax_is_punct(s, i, "<")) {
    size_t after = syntax_angle_end(s, i, end);
    if (after == SYNTAX_NONE)
      return false;
    i = after;
    out->sure = false;
  }
  while (i < end && (syntax_is(s, i, "const") || syntax_is(s, i, "__restrict__"))) {
    is_const = is_const || syntax_is(s, i, "const");
    i++;
  }
  out->type.is_const = is_const;
  *pos = i;
  return out->any = true;
}

// --- building ---

static size_t stmt_new(struct syntax *s, enum syntax_stmt_kind kind, size_t function, size_t parent,
                       size_t first)
{
  KR_GROW(s->stmts, s->n_stmts, s->cap_stmts);
  s->stmts[s->n_stmts] = (struct syntax_stmt){
      .kind = kind,
      .span = {first, first + 1},
      .function = function,
      .parent = parent,
      .child = SYNTAX_NONE,
      .next = SYNTAX_NONE,
      .expr = SYNTAX_NONE,
      .init = SYNTAX_NONE,
      .cond = SYNTAX_NONE,
      .step = SYNTAX_NONE,
      .body = SYNTAX_NONE,
      .orelse = SYNTAX_NONE,
  };
  size_t n = s->n_stmts++;
  if (parent == SYNTAX_NONE)
    return n;
  if (s->stmts[parent].child == SYNTAX_NONE) {
    s->stmts[parent].child = n;
    return n;
  }
  size_t last = s->stmts[parent].child;
  while (s->stmts[last].next != SYNTAX_NONE)
    last = s->stmts[last].next;
  s->stmts[last].next = n;
  return n;
}

static struct syntax_name *name_new(struct syntax *s, size_t token)
{
  KR_GROW(s->names, s->n_names, s->cap_names);
  struct syntax_name *n = &s->names[s->n_names++];
  *n = (struct syntax_name){.name = syntax_word(s, token),
                            .token = token,
                            .stmt = SYNTAX_NONE,
                            .init = SYNTAX_NONE,
                            .dim_exprs = {SYNTAX_NONE, SYNTAX_NONE, SYNTAX_NONE, SYNTAX_NONE}};
  return n;
}

static size_t root_expr(struct syntax_at *at, int strength, unsigned use)
{
  size_t e = syntax_parse_expr(at, strength);
  syntax_mark(at->s, e, use);
  return e;
}

// Everything up to the end of a statement that is not understood.
static size_t parse_other(struct syntax_at *at, size_t stmt, size_t first)
{
  struct syntax *s = at->s;
  s->functions[at->function].opaque = true;
  s->stmts[stmt].kind = STMT_OTHER;
  at->pos = first;
  while (at->pos < at->end) {
    if (syntax_is_punct(s, at->pos, ";")) {
      at->pos++;
      break;
    }
    size_t m = s->match[at->pos];
    bool braces = syntax_is_punct(s, at->pos, "{");
    if (m != SYNTAX_NONE && m > at->pos && m < at->end)
      at->pos = m + 1;
    else
      at->pos++;
    if (braces && at->pos < at->end && !syntax_is_punct(s, at->pos, ";") &&
        !syntax_is_punct(s, at->pos, ",") && !syntax_is_punct(s, at->pos, ")"))
      break;
  }
  if (at->pos == first)
    at->pos++;
  s->stmts[stmt].span.end = at->pos;
  return stmt;
}

// One declarator behind the specifiers; false when it is not understood.
static bool parse_declarator(struct syntax_at *at, const struct syntax_specifiers *sp,
                             struct syntax_span specifiers, size_t scope_end)
{
  struct syntax *s = at->s;
  size_t first = at->pos;
  struct syntax_type type = sp->type;
  bool restricted = false, constant = sp->is_constexpr || (type.is_const);
  for (; at->pos < at->end; at->pos++) {
    if (syntax_is_punct(s, at->pos, "*")) {
      type.pointers++;
      constant = false;
    } else if (syntax_is_punct(s, at->pos, "&")) {
      type.is_reference = true;
    } else if (syntax_is(s, at->pos, "const")) {
      constant = true;
    } else if (syntax_is(s, at->pos, "__restrict__") || syntax_is(s, at->pos, "__restrict")) {
      restricted = true;
    } else {
      break;
    }
  }
  if (at->pos >= at->end || s->toks[at->pos].kind != KR_TOK_IDENTIFIER)
    return false;
  char *word = syntax_word(s, at->pos);
  bool keyword = kr_lex_is_keyword(word, strlen(word));
  free(word);
  if (keyword)
    return false;
  name_new(s, at->pos);
  size_t n = s->n_names - 1;
  s->names[n].function = at->function;
  s->names[n].stmt = at->stmt;
  s->names[n].storage = sp->is_shared ? SYNTAX_SHARED : SYNTAX_LOCAL;
  s->names[n].specifiers = specifiers;
  s->names[n].type = type;
  s->names[n].restricted = restricted;
  s->names[n].is_static = sp->is_static;
  s->names[n].is_extern = sp->is_extern;
  s->names[n].is_constant = constant;
  // Seen from its declarator's end; its own initialiser must not name it.
  s->names[n].scope = (struct syntax_span){scope_end, scope_end};
  at->pos++;
  bool fine = true;
  while (at->pos < at->end && syntax_is_punct(s, at->pos, "[")) {
    size_t close = s->match[at->pos], outer = at->end;
    if (close == SYNTAX_NONE || close >= at->end || s->names[n].n_dims == 4)
      return false;
    unsigned d = s->names[n].n_dims++;
    s->names[n].dims[d] = (struct syntax_span){at->pos + 1, close};
    at->pos++;
    if (at->pos < close) {
      at->end = close;
      size_t e = root_expr(at, STRENGTH_ASSIGN, SYNTAX_READ);
      s->names[n].dim_exprs[d] = e;
      fine = fine && at->pos == close;
      at->end = outer;
    }
    at->pos = close + 1;
  }
  if (at->pos < at->end && syntax_is_punct(s, at->pos, "=")) {
    at->pos++;
    size_t e = root_expr(at, STRENGTH_ASSIGN,
                         type.is_reference ? SYNTAX_READ | SYNTAX_ESCAPES : SYNTAX_READ);
    s->names[n].init = e;
  } else if (at->pos < at->end && syntax_is_punct(s, at->pos, "(")) {
    size_t close = s->match[at->pos], outer = at->end;
    if (close == SYNTAX_NONE || close >= at->end || close == at->pos + 1)
      return false; // `T f();`
    at->pos++;
    at->end = close;
    size_t e = root_expr(at, STRENGTH_COMMA, SYNTAX_READ | SYNTAX_ESCAPES);
    fine = fine && at->pos == close && s->exprs[e].kind != EXPR_COMMA;
    s->names[n].init = e;
    at->end = outer;
    at->pos = close + 1;
  } else if (at->pos < at->end && syntax_is_punct(s, at->pos, "{")) {
    size_t e = root_expr(at, STRENGTH_ASSIGN, SYNTAX_READ);
    if (s->exprs[e].kind == EXPR_LIST && s->exprs[e].n_children == 1 && !s->names[n].n_dims)
      e = s->exprs[e].child;
    s->names[n].init = e;
  }
  if (type.is_reference)
    s->functions[at->function].opaque = true; // another name for something: too much to follow
  s->names[n].declarator = (struct syntax_span){first, at->pos};
  s->names[n].scope = (struct syntax_span){at->pos, scope_end};
  return fine;
}

// The end of the scope that a declaration at `stmt` stands in.
static size_t scope_end(const struct syntax *s, size_t stmt)
{
  for (size_t p = s->stmts[stmt].parent; p != SYNTAX_NONE; p = s->stmts[p].parent) {
    if (s->stmts[p].kind == STMT_BLOCK)
      return s->stmts[p].span.end;
  }
  return s->n_toks;
}

static size_t parse_decl(struct syntax_at *at, size_t stmt)
{
  struct syntax *s = at->s;
  size_t first = at->pos, end = scope_end(s, stmt);
  struct syntax_specifiers sp;
  s->stmts[stmt].kind = STMT_DECL;
  if (!syntax_read_specifiers(s, &at->pos, at->end, &sp))
    return parse_other(at, stmt, first);
  struct syntax_span specifiers = {first, at->pos};
  if (sp.is_volatile)
    s->functions[at->function].opaque = true;
  for (;;) {
    if (!parse_declarator(at, &sp, specifiers, end))
      return parse_other(at, stmt, at->pos);
    if (at->pos < at->end && syntax_is_punct(s, at->pos, ",")) {
      at->pos++;
      continue;
    }
    if (at->pos >= at->end || !syntax_is_punct(s, at->pos, ";"))
      return parse_other(at, stmt, at->pos);
    at->pos++;
    s->stmts[stmt].span.end = at->pos;
    return stmt;
  }
}

static bool starts_decl(const struct syntax *s, size_t pos, size_t end)
{
  struct syntax_specifiers sp;
  size_t i = pos;
  if (!syntax_read_specifiers(s, &i, end, &sp))
    return false;
  bool stars = false;
  while (i < end && (syntax_is_punct(s, i, "*") || syntax_is_punct(s, i, "&") ||
                     syntax_is(s, i, "const") || syntax_is(s, i, "__restrict__") ||
                     syntax_is(s, i, "__restrict"))) {
    stars = true;
    i++;
  }
  if (i >= end || s->toks[i].kind != KR_TOK_IDENTIFIER)
    return false;
  (void)stars;
  static const char *const after[] = {"=", ";", ",", "[", "{", "(", ":", NULL};
  return i + 1 < end && s->toks[i + 1].kind == KR_TOK_PUNCT && syntax_is_word(s, i + 1, after);
}

static size_t parse_stmt(struct syntax_at *at, size_t parent, int depth);

static size_t parse_block(struct syntax_at *at, size_t stmt, int depth)
{
  struct syntax *s = at->s;
  size_t close = s->match[at->pos], outer = at->end;
  if (close == SYNTAX_NONE || close >= at->end || depth > SYNTAX_MAX_DEPTH)
    return parse_other(at, stmt, at->pos);
  s->stmts[stmt].kind = STMT_BLOCK;
  s->stmts[stmt].span.end = close + 1;
  at->pos++;
  at->end = close;
  while (at->pos < close)
    parse_stmt(at, stmt, depth + 1);
  at->end = outer;
  at->pos = close + 1;
  return stmt;
}

// An expression in the brackets at at->pos, which is left behind them; NONE when
// it is not one whole expression.
static size_t parse_condition(struct syntax_at *at)
{
  struct syntax *s = at->s;
  if (at->pos >= at->end || !syntax_is_punct(s, at->pos, "("))
    return SYNTAX_NONE;
  size_t close = s->match[at->pos], outer = at->end;
  if (close == SYNTAX_NONE || close >= at->end || starts_decl(s, at->pos + 1, close))
    return SYNTAX_NONE;
  at->pos++;
  at->end = close;
  size_t e = root_expr(at, STRENGTH_COMMA, SYNTAX_READ);
  bool whole = at->pos == close;
  at->end = outer;
  at->pos = close + 1;
  return whole ? e : SYNTAX_NONE;
}

// The statement that an if or a loop governs.
static size_t parse_governed(struct syntax_at *at, size_t stmt, int depth)
{
  if (at->pos >= at->end)
    return SYNTAX_NONE;
  size_t outer = at->stmt, n = parse_stmt(at, stmt, depth + 1);
  // A pragma goes with the loop behind it.
  while (at->s->stmts[n].kind == STMT_PRAGMA && at->pos < at->end)
    n = parse_stmt(at, stmt, depth + 1);
  at->stmt = outer;
  if (at->s->stmts[n].kind == STMT_PRAGMA || at->s->stmts[n].kind == STMT_DECL)
    at->s->functions[at->function].opaque = true;
  return n;
}

static size_t parse_for(struct syntax_at *at, size_t stmt, int depth)
{
  struct syntax *s = at->s;
  size_t first = at->pos++, open = at->pos;
  s->stmts[stmt].kind = STMT_FOR;
  if (!syntax_is_punct(s, open, "(") || s->match[open] >= at->end)
    return parse_other(at, stmt, first);
  size_t close = s->match[open], outer = at->end;
  at->pos = open + 1;
  at->end = close;
  size_t names = s->n_names;
  size_t init = parse_stmt(at, stmt, depth + 1);
  s->stmts[stmt].init = init;
  at->stmt = stmt;
  bool fine = s->stmts[init].kind == STMT_DECL || s->stmts[init].kind == STMT_EXPR ||
              s->stmts[init].kind == STMT_EMPTY;
  if (fine && at->pos < close && !syntax_is_punct(s, at->pos, ";")) {
    size_t e = root_expr(at, STRENGTH_COMMA, SYNTAX_READ);
    s->stmts[stmt].cond = e;
  }
  fine = fine && at->pos < close && syntax_is_punct(s, at->pos, ";");
  at->pos += fine;
  if (fine && at->pos < close) {
    size_t e = root_expr(at, STRENGTH_COMMA, SYNTAX_READ);
    s->stmts[stmt].step = e;
  }
  fine = fine && at->pos == close;
  at->end = outer;
  at->pos = close + 1;
  if (!fine)
    return parse_other(at, stmt, first);
  size_t declared = s->n_names;
  size_t body = parse_governed(at, stmt, depth);
  s->stmts[stmt].body = body;
  s->stmts[stmt].span.end = at->pos;
  for (size_t i = names; i < declared; i++)
    s->names[i].scope.end = at->pos;
  return stmt;
}

static size_t parse_pragma(struct syntax_at *at, size_t stmt)
{
  struct syntax *s = at->s;
  size_t first = at->pos++;
  while (at->pos < at->end && (s->toks[at->pos].flags & KR_TOK_DIRECTIVE) &&
         !(s->toks[at->pos].flags & KR_TOK_DIRECTIVE_START))
    at->pos++;
  s->stmts[stmt].kind = STMT_PRAGMA;
  s->stmts[stmt].span.end = at->pos;
  if (first + 1 >= at->pos || !syntax_is(s, first + 1, "pragma")) {
    s->stmts[stmt].kind = STMT_OTHER;
    s->functions[at->function].opaque = true;
  }
  return stmt;
}

static size_t parse_stmt(struct syntax_at *at, size_t parent, int depth)
{
  static const char *const strange[] = {
      "switch", "case",  "default", "goto",     "try",     "catch",  "struct", "class", "union",
      "enum",   "using", "typedef", "template", "asm",     "__asm__", "else",  "namespace",
      "friend", "public", "private", NULL};
  struct syntax *s = at->s;
  size_t first = at->pos;
  size_t stmt = stmt_new(s, STMT_EMPTY, at->function, parent, first);
  at->stmt = stmt;
  if (depth > SYNTAX_MAX_DEPTH)
    return parse_other(at, stmt, first);
  if (s->toks[first].flags & KR_TOK_DIRECTIVE)
    return parse_pragma(at, stmt);
  if (syntax_is_punct(s, first, "{")) {
    parse_block(at, stmt, depth);
  } else if (syntax_is_punct(s, first, ";")) {
    at->pos++;
  } else if (syntax_is(s, first, "if")) {
    s->stmts[stmt].kind = STMT_IF;
    at->pos++;
    if (syntax_is(s, at->pos, "constexpr"))
      at->pos++;
    size_t cond = parse_condition(at);
    if (cond == SYNTAX_NONE)
      return parse_other(at, stmt, first);
    s->stmts[stmt].cond = cond;
    size_t body = parse_governed(at, stmt, depth);
    s->stmts[stmt].body = body;
    if (at->pos < at->end && syntax_is(s, at->pos, "else")) {
      at->pos++;
      size_t orelse = parse_governed(at, stmt, depth);
      s->stmts[stmt].orelse = orelse;
    }
    s->stmts[stmt].span.end = at->pos;
  } else if (syntax_is(s, first, "while")) {
    s->stmts[stmt].kind = STMT_WHILE;
    at->pos++;
    size_t cond = parse_condition(at);
    if (cond == SYNTAX_NONE)
      return parse_other(at, stmt, first);
    s->stmts[stmt].cond = cond;
    size_t body = parse_governed(at, stmt, depth);
    s->stmts[stmt].body = body;
    s->stmts[stmt].span.end = at->pos;
  } else if (syntax_is(s, first, "do")) {
    s->stmts[stmt].kind = STMT_DO;
    at->pos++;
    size_t body = parse_governed(at, stmt, depth);
    s->stmts[stmt].body = body;
    if (!syntax_is(s, at->pos, "while"))
      return parse_other(at, stmt, first);
    at->pos++;
    size_t cond = parse_condition(at);
    s->stmts[stmt].cond = cond;
    if (cond == SYNTAX_NONE || !syntax_is_punct(s, at->pos, ";"))
      return parse_other(at, stmt, first);
    at->pos++;
    s->stmts[stmt].span.end = at->pos;
  } else if (syntax_is(s, first, "for")) {
    parse_for(at, stmt, depth);
  } else if (syntax_is(s, first, "return")) {
    s->stmts[stmt].kind = STMT_RETURN;
    at->pos++;
    if (at->pos < at->end && !syntax_is_punct(s, at->pos, ";")) {
      size_t e = root_expr(at, STRENGTH_COMMA, SYNTAX_READ);
      s->stmts[stmt].expr = e;
    }
    if (at->pos >= at->end || !syntax_is_punct(s, at->pos, ";"))
      return parse_other(at, stmt, first);
    at->pos++;
    s->stmts[stmt].span.end = at->pos;
  } else if ((syntax_is(s, first, "break") || syntax_is(s, first, "continue")) &&
             syntax_is_punct(s, first + 1, ";")) {
    s->stmts[stmt].kind = syntax_is(s, first, "break") ? STMT_BREAK : STMT_CONTINUE;
    at->pos += 2;
    s->stmts[stmt].span.end = at->pos;
  } else if (syntax_is(s, first, "static_assert")) {
    parse_other(at, stmt, first);
    s->stmts[stmt].kind = STMT_ASSERT;
  } else if (syntax_is_word(s, first, strange) ||
             (s->toks[first].kind == KR_TOK_IDENTIFIER && syntax_is_punct(s, first + 1, ":"))) {
    parse_other(at, stmt, first);
  } else if (starts_decl(s, first, at->end)) {
    parse_decl(at, stmt);
  } else {
    s->stmts[stmt].kind = STMT_EXPR;
    size_t e = root_expr(at, STRENGTH_COMMA, 0);
    s->stmts[stmt].expr = e;
    if (at->pos >= at->end || !syntax_is_punct(s, at->pos, ";"))
      return parse_other(at, stmt, first);
    at->pos++;
    s->stmts[stmt].span.end = at->pos;
  }
  at->stmt = stmt;
  return stmt;
}

// --- functions ---

static bool parse_params(struct syntax_at *at, const struct syntax_function *f)
{
  struct syntax *s = at->s;
  size_t param = 0, end = s->match[f->open];
  size_t body_end = f->body == SYNTAX_NONE ? end : s->n_toks;
  at->pos = f->open + 1;
  while (at->pos < end) {
    // Up to the comma of this level.
    size_t stop = at->pos;
    while (stop < end && !syntax_is_punct(s, stop, ","))
      stop = s->match[stop] != SYNTAX_NONE && s->match[stop] > stop ? s->match[stop] + 1 : stop + 1;
    if (stop > end)
      return false;
    at->end = stop;
    struct syntax_specifiers sp;
    size_t first = at->pos;
    if (!syntax_read_specifiers(s, &at->pos, stop, &sp))
      return first == at->pos && stop == end && syntax_is(s, first, "void");
    struct syntax_span specifiers = {first, at->pos};
    if (at->pos == stop)
      return stop == end && syntax_is(s, first, "void") && stop == first + 1;
    bool opaque = s->functions[at->function].opaque;
    if (!parse_declarator(at, &sp, specifiers, body_end) || at->pos != stop)
      return false;
    struct syntax_name *n = &s->names[s->n_names - 1];
    n->storage = SYNTAX_PARAM;
    n->param = param++;
    n->stmt = SYNTAX_NONE;
    if (n->n_dims) { // an array parameter is a pointer
      n->type.pointers++;
      n->n_dims--;
      memmove(n->dims, n->dims + 1, sizeof n->dims - sizeof *n->dims);
      memmove(n->dim_exprs, n->dim_exprs + 1, sizeof n->dim_exprs - sizeof *n->dim_exprs);
    }
    s->functions[at->function].opaque = opaque; // a reference as parameter is well known
    at->pos = stop + 1;
  }
  return true;
}

// The kinds of parameters that words do not tell.
static void kinds_of_contract(struct syntax *s, size_t function)
{
  const struct kr_contract *c = s->contract;
  for (size_t i = 0; c && i < s->n_names; i++) {
    struct syntax_name *n = &s->names[i];
    if (n->function != function || n->storage != SYNTAX_PARAM || n->type.known ||
        n->param >= c->n_params || n->type.is_reference)
      continue;
    const struct kr_param *p = &c->params[n->param];
    if (p->n_leaves != 1 || p->leaves[0].path[0])
      continue;
    const struct kr_leaf *leaf = &p->leaves[0];
    if (leaf->kind != KR_POINTER) {
      n->type.known = n->type.pointers == 0;
      n->type.kind = leaf->kind;
    } else if (n->type.pointers == 1 && c->types[leaf->type].n_leaves == 1 &&
               !c->types[leaf->type].leaves[0].path[0] &&
               c->types[leaf->type].leaves[0].kind != KR_POINTER) {
      n->type.known = true;
      n->type.kind = c->types[leaf->type].leaves[0].kind;
    }
  }
}

static void add_function(struct syntax *s, const struct decls *d, const struct decl *one)
{
  size_t body, name = decl_name(d, one, s->text, &body);
  if (name == SYNTAX_NONE || name + 1 >= one->end || !syntax_is_punct(s, name + 1, "("))
    return;
  size_t close = s->match[name + 1];
  if (close == SYNTAX_NONE || close >= one->end)
    return;
  struct syntax_function f = {.name = syntax_word(s, name),
                              .span = {one->first, one->end},
                              .name_token = name,
                              .open = name + 1,
                              .close = close,
                              .body = SYNTAX_NONE,
                              .is_template = syntax_is(s, one->first, "template")};
  KR_GROW(s->functions, s->n_functions, s->cap_functions);
  size_t function = s->n_functions++;
  s->functions[function] = f;
  struct syntax_at at = {.s = s, .function = function, .stmt = SYNTAX_NONE};
  bool has_body = body != SYNTAX_NONE && syntax_is_punct(s, body, "{") && s->match[body] < one->end;
  if (has_body)
    f.body = 0; // scopes of parameters reach into it
  size_t names = s->n_names;
  bool fine = parse_params(&at, &f);
  s->functions[function].opaque = s->functions[function].opaque || !fine;
  for (size_t i = names; i < s->n_names; i++)
    s->names[i].scope.end = one->end;
  if (!has_body)
    return;
  at.pos = body;
  at.end = one->end;
  size_t stmt = stmt_new(s, STMT_BLOCK, function, SYNTAX_NONE, body);
  at.stmt = stmt;
  parse_block(&at, stmt, 0);
  s->functions[function].body = stmt;
}

static void find_kernel(struct syntax *s)
{
  const char *name = s->contract ? s->contract->kernel : NULL;
  if (name && strrchr(name, ':'))
    name = strrchr(name, ':') + 1;
  for (size_t i = 0; i < s->n_functions; i++) {
    const struct syntax_function *f = &s->functions[i];
    bool global = false;
    for (size_t t = f->span.first; t < f->name_token; t++)
      global = global || syntax_is(s, t, "__global__");
    if (f->body != SYNTAX_NONE && (name ? !strcmp(f->name, name) : global))
      s->kernel = i;
  }
  if (s->kernel != SYNTAX_NONE)
    s->functions[s->kernel].is_kernel = true;
}

static bool match_brackets(struct syntax *s)
{
  size_t *open = kr_xcalloc(s->n_toks + 1, sizeof *open), n = 0;
  bool fine = true;
  for (size_t i = 0; i < s->n_toks; i++)
    s->match[i] = SYNTAX_NONE;
  for (size_t i = 0; i < s->n_toks && fine; i++) {
    fine = !(s->toks[i].flags & (KR_TOK_UNTERMINATED | KR_TOK_SPLICED | KR_TOK_DIGRAPH)) &&
           s->toks[i].kind != KR_TOK_OTHER;
    if (s->toks[i].kind != KR_TOK_PUNCT || s->toks[i].length != 1)
      continue;
    char c = s->text[s->toks[i].offset];
    if (strchr("([{", c)) {
      open[n++] = i;
    } else if (strchr(")]}", c)) {
      static const char pairs[] = "()[]{}";
      char want = n ? s->text[s->toks[open[n - 1]].offset] : 0;
      fine = n && strchr(pairs, c) == strchr(pairs, want) + 1;
      if (fine) {
        s->match[i] = open[n - 1];
        s->match[open[--n]] = i;
      }
    }
  }
  free(open);
  return fine && !n;
}

// --- what is known of names when everything is read ---

static void tally(struct syntax *s)
{
  for (size_t i = 0; i < s->n_names; i++) {
    const struct syntax_name *n = &s->names[i];
    s->names[i].is_loop = n->stmt != SYNTAX_NONE && s->stmts[n->stmt].parent != SYNTAX_NONE &&
                          s->stmts[s->stmts[n->stmt].parent].kind == STMT_FOR &&
                          s->stmts[s->stmts[n->stmt].parent].init == n->stmt && !n->n_dims;
  }
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind != EXPR_NAME || e->name == SYNTAX_NONE)
      continue;
    struct syntax_name *n = &s->names[e->name];
    n->n_reads += (e->use & (SYNTAX_READ | SYNTAX_BASE)) != 0;
    n->n_writes += (e->use & SYNTAX_WRITTEN) != 0;
    // `&p[i]` takes the address of what p points to, not of p.
    bool behind = (e->use & SYNTAX_BASE) && n->type.pointers && !n->n_dims;
    n->escapes = n->escapes || ((e->use & SYNTAX_ESCAPES) && !behind);
    if (!n->is_loop)
      continue;
    const struct syntax_stmt *loop = &s->stmts[s->stmts[n->stmt].parent];
    bool in_step = loop->step != SYNTAX_NONE && syntax_within(e->span, s->exprs[loop->step].span);
    if ((e->use & SYNTAX_ESCAPES) || ((e->use & SYNTAX_WRITTEN) && !in_step))
      n->is_loop = false;
  }
  for (size_t i = 0; i < s->n_functions; i++) {
    struct syntax_function *f = &s->functions[i];
    if (f->body != SYNTAX_NONE)
      f->syncs = syntax_may_sync(s, s->stmts[f->body].span);
  }
}

void syntax_parse(struct syntax *s, const char *code, const struct kr_contract *contract)
{
  *s = (struct syntax){.contract = contract, .kernel = SYNTAX_NONE};
  s->len = strlen(code);
  s->text = kr_xstrndup(code, s->len);
  s->toks = kr_lex_all(s->text, s->len, false, &s->n_toks);
  s->match = kr_xcalloc(s->n_toks + 1, sizeof *s->match);
  if (contract && contract->before)
    s->slice_toks =
        kr_lex_all(contract->before, strlen(contract->before), false, &s->n_slice_toks);
  if (!match_brackets(s)) {
    s->broken = true;
    return;
  }
  struct decls d;
  decls_scan(&d, s->text, s->len);
  // Both lists are of the code tokens of one text.
  if (d.unbalanced == SYNTAX_NONE && d.n_toks == s->n_toks) {
    for (size_t i = 0; i < d.n; i++)
      add_function(s, &d, &d.items[i]);
  } else {
    s->broken = true;
  }
  decls_release(&d);
  find_kernel(s);
  if (s->kernel != SYNTAX_NONE)
    kinds_of_contract(s, s->kernel);
  tally(s);
}

void syntax_release(struct syntax *s)
{
  for (size_t i = 0; i < s->n_functions; i++)
    free(s->functions[i].name);
  for (size_t i = 0; i < s->n_names; i++)
    free(s->names[i].name);
  for (size_t i = 0; i < s->n_symbols; i++)
    free(s->symbols[i].text);
  free(s->functions);
  free(s->names);
  free(s->symbols);
  free(s->stmts);
  free(s->exprs);
  free(s->match);
  free(s->slice_toks);
  free(s->toks);
  free(s->text);
  *s = (struct syntax){.kernel = SYNTAX_NONE};
}
