#include "syntax_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"

// Questions about a parsed kernel: texts, types, effects, who points where.

// --- functions that CUDA C++ has ---

static const struct {
  const char *name;
  unsigned flags;
} known_functions[] = {
#define OVERLOAD(f) {f, KNOWN_PURE | KNOWN_OVERLOAD}
#define FLOAT(f) {f, KNOWN_PURE | KNOWN_FLOAT}
#define INT(f) {f, KNOWN_PURE | KNOWN_INT}
#define PURE(f) {f, KNOWN_PURE}
#define LOAD(f) {f, KNOWN_LOAD}
#define STORE(f) {f, KNOWN_STORE}
#define ATOMIC(f) {f, KNOWN_ATOMIC}
#define SYNC(f) {f, KNOWN_SYNC}
    OVERLOAD("sqrt"), OVERLOAD("exp"), OVERLOAD("exp2"), OVERLOAD("expm1"), OVERLOAD("log"),
    OVERLOAD("log2"), OVERLOAD("log10"), OVERLOAD("log1p"), OVERLOAD("sin"), OVERLOAD("cos"),
    OVERLOAD("tan"), OVERLOAD("asin"), OVERLOAD("acos"), OVERLOAD("atan"), OVERLOAD("atan2"),
    OVERLOAD("sinh"), OVERLOAD("cosh"), OVERLOAD("tanh"), OVERLOAD("pow"), OVERLOAD("fabs"),
    OVERLOAD("floor"), OVERLOAD("ceil"), OVERLOAD("round"), OVERLOAD("trunc"), OVERLOAD("rint"),
    OVERLOAD("nearbyint"), OVERLOAD("fmin"), OVERLOAD("fmax"), OVERLOAD("fmod"), OVERLOAD("fma"),
    OVERLOAD("cbrt"), OVERLOAD("hypot"), OVERLOAD("erf"), OVERLOAD("erfc"), OVERLOAD("rsqrt"),
    OVERLOAD("copysign"), OVERLOAD("fdim"), OVERLOAD("rcbrt"),
    FLOAT("sqrtf"), FLOAT("expf"), FLOAT("exp2f"), FLOAT("exp10f"), FLOAT("expm1f"), FLOAT("logf"),
    FLOAT("log2f"), FLOAT("log10f"), FLOAT("log1pf"), FLOAT("sinf"), FLOAT("cosf"), FLOAT("tanf"),
    FLOAT("asinf"), FLOAT("acosf"), FLOAT("atanf"), FLOAT("atan2f"), FLOAT("sinhf"),
    FLOAT("coshf"), FLOAT("tanhf"), FLOAT("powf"), FLOAT("fabsf"), FLOAT("floorf"), FLOAT("ceilf"),
    FLOAT("roundf"), FLOAT("truncf"), FLOAT("rintf"), FLOAT("nearbyintf"), FLOAT("fminf"),
    FLOAT("fmaxf"), FLOAT("fmodf"), FLOAT("fmaf"), FLOAT("cbrtf"), FLOAT("hypotf"), FLOAT("erff"),
    FLOAT("erfcf"), FLOAT("rsqrtf"), FLOAT("copysignf"), FLOAT("fdimf"), FLOAT("rcbrtf"),
    FLOAT("sinpif"), FLOAT("cospif"), FLOAT("normf"), FLOAT("__expf"), FLOAT("__exp10f"),
    FLOAT("__logf"), FLOAT("__log2f"), FLOAT("__log10f"), FLOAT("__sinf"), FLOAT("__cosf"),
    FLOAT("__tanf"), FLOAT("__powf"), FLOAT("__fdividef"), FLOAT("__saturatef"),
    FLOAT("__frcp_rn"), FLOAT("__fsqrt_rn"), FLOAT("__fmaf_rn"), FLOAT("__fmul_rn"),
    FLOAT("__fadd_rn"), FLOAT("__fsub_rn"), FLOAT("__fdiv_rn"), FLOAT("__int2float_rn"),
    FLOAT("__uint2float_rn"), FLOAT("__int_as_float"), FLOAT("__uint_as_float"),
    FLOAT("__half2float"), FLOAT("__bfloat162float"),
    INT("__float2int_rn"), INT("__float2int_rz"), INT("__float2int_rd"), INT("__float2int_ru"),
    INT("__float2uint_rn"), INT("__float2uint_rz"), INT("__float_as_int"), INT("__float_as_uint"),
    INT("__popc"), INT("__popcll"), INT("__clz"), INT("__clzll"), INT("__ffs"), INT("__ffsll"),
    INT("__brev"), INT("__mul24"), INT("__umul24"), INT("__mulhi"), INT("__umulhi"),
    PURE("min"), PURE("max"), PURE("abs"), PURE("isnan"), PURE("isinf"), PURE("isfinite"),
    PURE("signbit"), PURE("__float2half"), PURE("__float2half_rn"), PURE("__float2bfloat16"),
    PURE("make_float2"), PURE("make_float3"), PURE("make_float4"), PURE("make_int2"),
    PURE("make_int4"), PURE("make_uint2"), PURE("make_uint4"), PURE("make_double2"),
    LOAD("__ldg"), LOAD("__ldcs"), LOAD("__ldcg"), LOAD("__ldca"), LOAD("__ldlu"), LOAD("__ldcv"),
    STORE("__stcs"), STORE("__stcg"), STORE("__stwb"), STORE("__stwt"),
    ATOMIC("atomicAdd"), ATOMIC("atomicSub"), ATOMIC("atomicExch"), ATOMIC("atomicMin"),
    ATOMIC("atomicMax"), ATOMIC("atomicInc"), ATOMIC("atomicDec"), ATOMIC("atomicCAS"),
    ATOMIC("atomicAnd"), ATOMIC("atomicOr"), ATOMIC("atomicXor"), ATOMIC("atomicAdd_block"),
    ATOMIC("atomicMax_block"), ATOMIC("atomicMin_block"),
    SYNC("__syncthreads"), SYNC("__syncthreads_or"), SYNC("__syncthreads_and"),
    SYNC("__syncthreads_count"), SYNC("__syncwarp"), SYNC("__shfl_sync"), SYNC("__shfl_xor_sync"),
    SYNC("__shfl_down_sync"), SYNC("__shfl_up_sync"), SYNC("__ballot_sync"), SYNC("__any_sync"),
    SYNC("__all_sync"), SYNC("__activemask"), SYNC("__match_any_sync"), SYNC("__match_all_sync"),
    SYNC("__reduce_add_sync"), SYNC("__reduce_max_sync"), SYNC("__reduce_min_sync"),
    SYNC("__threadfence"), SYNC("__threadfence_block"), SYNC("__threadfence_system"),
};

unsigned syntax_known_function(const char *name)
{
  for (size_t i = 0; i < sizeof known_functions / sizeof *known_functions; i++) {
    if (!strcmp(name, known_functions[i].name))
      return known_functions[i].flags;
  }
  return 0;
}

// Every definition or declaration of `name` in the slice has a parameter list
// without `&`, and there is one. A macro of that name is none of these.
static bool slice_takes_values(const struct syntax *s, const char *name)
{
  const char *text = s->contract->before;
  const struct kr_token *toks = s->slice_toks;
  size_t n = s->n_slice_toks;
  bool found = false, fine = true;
  for (size_t i = 1; i + 1 < n && fine; i++) {
    if (!kr_token_is(text, toks[i], name))
      continue;
    if (toks[i].flags & KR_TOK_DIRECTIVE) {
      fine = !kr_token_is(text, toks[i - 1], "define");
      continue;
    }
    if (!kr_token_is(text, toks[i + 1], "("))
      continue;
    // A call follows a punctuator or `return`, a declaration its type.
    bool typed = (toks[i - 1].kind == KR_TOK_IDENTIFIER && !kr_token_is(text, toks[i - 1], "return")) ||
                 kr_token_is(text, toks[i - 1], "*") || kr_token_is(text, toks[i - 1], ">");
    int depth = 0;
    bool reference = false;
    size_t k = i + 1;
    for (; k < n; k++) {
      depth += kr_token_is(text, toks[k], "(");
      depth -= kr_token_is(text, toks[k], ")");
      reference = reference || kr_token_is(text, toks[k], "&") || kr_token_is(text, toks[k], "&&");
      if (!depth)
        break;
    }
    if (!typed || k + 1 >= n ||
        (!kr_token_is(text, toks[k + 1], "{") && !kr_token_is(text, toks[k + 1], ";")))
      continue;
    found = true;
    fine = !reference;
  }
  return found && fine;
}

bool syntax_takes_values(const struct syntax *s, const char *name)
{
  for (size_t i = 0; i < s->n_functions; i++) {
    if (strcmp(s->functions[i].name, name))
      continue;
    for (size_t t = s->functions[i].open; t < s->functions[i].close; t++) {
      if (syntax_is_punct(s, t, "&") || syntax_is_punct(s, t, "&&"))
        return false;
    }
    return true;
  }
  return s->contract && s->contract->before && slice_takes_values(s, name);
}

bool syntax_takes_only_values(const struct syntax *s, const char *function)
{
  return syntax_known_function(function) || syntax_takes_values(s, function);
}

bool syntax_has_float_twin(const char *function)
{
  return syntax_known_function(function) & KNOWN_OVERLOAD;
}

bool syntax_is_float_function(const char *function)
{
  return (syntax_known_function(function) & KNOWN_FLOAT) && strcmp(function, "__half2float") &&
         strcmp(function, "__bfloat162float") && !strstr(function, "_as_");
}

bool syntax_slice_syncs(const struct syntax *s)
{
  static const char *const signs[] = {"__sync", "__shfl", "barrier", "cooperative_groups", "sync(",
                                      "__ballot", "__reduce_", "asm", NULL};
  if (!s->contract || !s->contract->before)
    return true;
  for (size_t i = 0; signs[i]; i++) {
    if (strstr(s->contract->before, signs[i]))
      return true;
  }
  return false;
}

// --- texts ---

char *syntax_text(const struct syntax *s, struct syntax_span span)
{
  if (span.first >= span.end)
    return kr_xstrdup("");
  size_t from = s->toks[span.first].offset;
  const struct kr_token *last = &s->toks[span.end - 1];
  return kr_xstrndup(s->text + from, last->offset + last->length - from);
}

static bool wordlike(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

char *syntax_squeeze(const struct syntax *s, struct syntax_span span)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  for (size_t i = span.first; i < span.end; i++) {
    const char *text = s->text + s->toks[i].offset;
    char last = b.len ? b.data[b.len - 1] : ' ';
    if ((wordlike(last) && wordlike(*text)) || (strchr("+-&", last) && last == *text))
      kr_bytes_addc(&b, ' ');
    kr_bytes_add(&b, text, s->toks[i].length);
  }
  return kr_bytes_take(&b);
}

bool syntax_same(const struct syntax *s, struct syntax_span a, struct syntax_span b)
{
  if (a.end - a.first != b.end - b.first)
    return false;
  for (size_t i = 0; i < a.end - a.first; i++) {
    const struct kr_token *x = &s->toks[a.first + i], *y = &s->toks[b.first + i];
    if (x->length != y->length || memcmp(s->text + x->offset, s->text + y->offset, x->length))
      return false;
  }
  return true;
}

// --- trees ---

size_t syntax_param(const struct syntax *s, const char *name)
{
  for (size_t i = 0; i < s->n_names; i++) {
    if (s->names[i].storage == SYNTAX_PARAM && s->names[i].function == s->kernel &&
        !strcmp(s->names[i].name, name))
      return i;
  }
  return SYNTAX_NONE;
}

size_t syntax_arg(const struct syntax *s, size_t expr, unsigned i)
{
  size_t a = expr == SYNTAX_NONE ? SYNTAX_NONE : s->exprs[expr].child;
  while (i-- && a != SYNTAX_NONE)
    a = s->exprs[a].next;
  return a;
}

size_t syntax_strip(const struct syntax *s, size_t expr)
{
  while (expr != SYNTAX_NONE && s->exprs[expr].kind == EXPR_PAREN)
    expr = s->exprs[expr].child;
  return expr;
}

char *syntax_callee(const struct syntax *s, size_t call)
{
  if (call == SYNTAX_NONE || s->exprs[call].kind != EXPR_CALL)
    return NULL;
  const struct syntax_expr *e = &s->exprs[s->exprs[call].child];
  if (e->kind != EXPR_NAME || e->name != SYNTAX_NONE)
    return NULL;
  size_t name = e->span.first;
  for (size_t i = name; i < e->span.end && !syntax_is_punct(s, i, "<"); i++) {
    if (s->toks[i].kind == KR_TOK_IDENTIFIER)
      name = i;
  }
  return syntax_word(s, name);
}

bool syntax_calls(const struct syntax *s, size_t expr, const char *callee)
{
  char *name = syntax_callee(s, expr);
  bool same = name && !strcmp(name, callee);
  free(name);
  return same;
}

bool syntax_within(struct syntax_span inner, struct syntax_span outer)
{
  return inner.first >= outer.first && inner.end <= outer.end;
}

size_t syntax_enclosing(const struct syntax *s, size_t stmt, enum syntax_stmt_kind kind)
{
  for (size_t p = stmt == SYNTAX_NONE ? stmt : s->stmts[stmt].parent; p != SYNTAX_NONE;
       p = s->stmts[p].parent) {
    if (s->stmts[p].kind == kind)
      return p;
  }
  return SYNTAX_NONE;
}

size_t syntax_insertable(const struct syntax *s, size_t stmt)
{
  size_t p = stmt == SYNTAX_NONE ? SYNTAX_NONE : s->stmts[stmt].parent;
  return p != SYNTAX_NONE && s->stmts[p].kind == STMT_BLOCK ? stmt : SYNTAX_NONE;
}

// --- types ---

static struct syntax_type scalar(enum kr_kind kind)
{
  return (struct syntax_type){.known = true, .kind = kind};
}

static struct syntax_type type_of_number(const char *code, struct kr_token token)
{
  char text[64];
  size_t n = kr_token_text(code, token, text, sizeof text);
  struct syntax_type none = {0};
  if (!n || n >= sizeof text)
    return none;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  bool real = strpbrk(text, hex ? "pP." : "eE.") != NULL;
  if (real) {
    char last = text[n - 1];
    if (last == 'f' || last == 'F')
      return scalar(KR_F32);
    return strchr("0123456789.", last) ? scalar(KR_F64) : none;
  }
  bool u = strpbrk(text, "uU") != NULL, l = strpbrk(text, "lL") != NULL;
  if (!u && !l && !hex && strtoull(text, NULL, 0) > 2147483647ULL)
    return scalar(KR_I64);
  if (hex && !l && strtoull(text, NULL, 0) > 2147483647ULL)
    return scalar(strtoull(text, NULL, 0) > 4294967295ULL ? KR_I64 : KR_U32);
  return scalar(l ? (u ? KR_U64 : KR_I64) : u ? KR_U32 : KR_I32);
}

// A constant of the slice: `#define N 0.5`, `const double N`, `constexpr float N`.
static struct syntax_type type_of_slice_name(const struct syntax *s, const struct syntax_expr *e)
{
  struct syntax_type t = {0}, none = {0};
  if (!s->slice_toks || e->span.end != e->span.first + 1)
    return none;
  char *word = syntax_word(s, e->span.first);
  const char *text = s->contract->before;
  const struct kr_token *toks = s->slice_toks;
  unsigned found = 0;
  for (size_t i = 2; i + 2 < s->n_slice_toks; i++) {
    if (!kr_token_is(text, toks[i], word))
      continue;
    if (toks[i].flags & KR_TOK_DIRECTIVE) {
      if (!kr_token_is(text, toks[i - 1], "define"))
        continue;
      // One number, in brackets or not.
      size_t k = i + 1, end = k;
      while (end < s->n_slice_toks && (toks[end].flags & KR_TOK_DIRECTIVE) &&
             !(toks[end].flags & KR_TOK_DIRECTIVE_START))
        end++;
      if (end == k + 3 && kr_token_is(text, toks[k], "(") && kr_token_is(text, toks[k + 2], ")"))
        k++;
      else if (end != k + 1)
        found = 2;
      if (k < end && toks[k].kind == KR_TOK_NUMBER)
        t = type_of_number(text, toks[k]);
      found++;
    } else if (kr_token_is(text, toks[i + 1], "=")) {
      static const char *const words[] = {"double", "float", "int", "unsigned"};
      static const enum kr_kind kinds[] = {KR_F64, KR_F32, KR_I32, KR_U32};
      bool constant = kr_token_is(text, toks[i - 2], "const") ||
                      kr_token_is(text, toks[i - 2], "constexpr");
      for (size_t w = 0; constant && w < sizeof kinds / sizeof *kinds; w++) {
        if (kr_token_is(text, toks[i - 1], words[w]))
          t = scalar(kinds[w]);
      }
      found++;
    }
  }
  free(word);
  return found == 1 ? t : none;
}

static bool is_scalar(struct syntax_type t)
{
  return t.known && !t.pointers;
}

static struct syntax_type usual(struct syntax_type a, struct syntax_type b)
{
  struct syntax_type none = {0};
  if (!is_scalar(a) || !is_scalar(b))
    return none;
  if (a.kind == KR_F16 || b.kind == KR_F16 || a.kind == KR_BF16 || b.kind == KR_BF16)
    return none;
  static const enum kr_kind ranks[] = {KR_F64, KR_F32, KR_U64, KR_I64, KR_U32};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    if (a.kind == ranks[i] || b.kind == ranks[i])
      return scalar(ranks[i]);
  }
  return scalar(KR_I32);
}

static struct syntax_type type_of_member(const struct syntax *s, const struct syntax_expr *e)
{
  struct syntax_type none = {0};
  const struct syntax_expr *object = &s->exprs[e->child];
  if (object->kind != EXPR_NAME || !syntax_is(s, e->op, "."))
    return none;
  if (object->name == SYNTAX_NONE) {
    static const char *const builtins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", NULL};
    return syntax_is_word(s, object->span.first, builtins) ? scalar(KR_U32) : none;
  }
  const struct syntax_name *n = &s->names[object->name];
  if (!s->contract || n->storage != SYNTAX_PARAM || n->function != s->kernel ||
      n->param >= s->contract->n_params)
    return none;
  char *member = syntax_word(s, e->op + 1);
  const struct kr_param *p = &s->contract->params[n->param];
  struct syntax_type t = none;
  for (size_t i = 0; i < p->n_leaves; i++) {
    if (!strcmp(p->leaves[i].path, member) && p->leaves[i].kind != KR_POINTER)
      t = scalar(p->leaves[i].kind);
  }
  free(member);
  return t;
}

static struct syntax_type type_of_call(const struct syntax *s, size_t e)
{
  struct syntax_type t = {0};
  char *name = syntax_callee(s, e);
  unsigned known = name ? syntax_known_function(name) : 0;
  size_t first = syntax_arg(s, e, 1);
  if (known & KNOWN_FLOAT) {
    t = scalar(KR_F32);
  } else if (known & KNOWN_INT) {
    t = scalar(KR_I32);
  } else if (known & KNOWN_LOAD && first != SYNTAX_NONE) {
    t = syntax_type_of(s, first);
    if (t.pointers)
      t.pointers--;
    else
      t.known = false;
  } else if (known & KNOWN_OVERLOAD && first != SYNTAX_NONE) {
    bool all_float = true, all_known = true;
    for (size_t a = first; a != SYNTAX_NONE; a = s->exprs[a].next) {
      struct syntax_type arg = syntax_type_of(s, a);
      all_known = all_known && is_scalar(arg) && arg.kind != KR_F16 && arg.kind != KR_BF16;
      all_float = all_float && arg.kind == KR_F32;
    }
    if (all_known)
      t = scalar(all_float ? KR_F32 : KR_F64);
  } else if (name && first != SYNTAX_NONE &&
             (!strcmp(name, "min") || !strcmp(name, "max") || !strcmp(name, "abs"))) {
    struct syntax_type a = syntax_type_of(s, first);
    size_t second = s->exprs[first].next;
    struct syntax_type b = second == SYNTAX_NONE ? a : syntax_type_of(s, second);
    if (is_scalar(a) && is_scalar(b) &&
        (a.kind == b.kind || (kr_kind_is_float(a.kind) && kr_kind_is_float(b.kind))))
      t = usual(a, b);
  } else if (name) {
    // A helper of the code, or of the slice, has the type it is declared with.
    for (size_t i = 0; i < s->n_functions; i++) {
      const struct syntax_function *f = &s->functions[i];
      struct syntax_specifiers sp;
      size_t pos = f->span.first;
      if (!strcmp(f->name, name) && !f->is_template &&
          syntax_read_specifiers(s, &pos, f->name_token, &sp) && pos == f->name_token)
        t = sp.type;
    }
  }
  free(name);
  return t;
}

struct syntax_type syntax_type_of(const struct syntax *s, size_t expr)
{
  struct syntax_type none = {0};
  if (expr == SYNTAX_NONE)
    return none;
  const struct syntax_expr *e = &s->exprs[expr];
  switch (e->kind) {
  case EXPR_NUMBER:
    return type_of_number(s->text, s->toks[e->span.first]);
  case EXPR_LITERAL:
    return syntax_is(s, e->span.first, "true") || syntax_is(s, e->span.first, "false")
               ? scalar(KR_BOOL)
               : none;
  case EXPR_NAME: {
    if (e->name == SYNTAX_NONE) {
      if (syntax_is(s, e->span.first, "INFINITY"))
        return scalar(KR_F32);
      return syntax_is(s, e->span.first, "warpSize") ? scalar(KR_I32) : type_of_slice_name(s, e);
    }
    struct syntax_type t = s->names[e->name].type;
    t.pointers += s->names[e->name].n_dims;
    t.is_reference = false;
    return t;
  }
  case EXPR_MEMBER:
    return type_of_member(s, e);
  case EXPR_SUBSCRIPT: {
    struct syntax_type t = syntax_type_of(s, e->child);
    if (!t.known || !t.pointers)
      return none;
    t.pointers--;
    return t;
  }
  case EXPR_UNARY: {
    if (syntax_is(s, e->op, "sizeof"))
      return scalar(KR_U64);
    if (syntax_is(s, e->op, "!"))
      return scalar(KR_BOOL);
    struct syntax_type t = syntax_type_of(s, e->child);
    if (!t.known)
      return none;
    if (syntax_is(s, e->op, "*")) {
      if (!t.pointers)
        return none;
      t.pointers--;
      return t;
    }
    if (syntax_is(s, e->op, "&")) {
      t.pointers++;
      return t;
    }
    if (syntax_is(s, e->op, "++") || syntax_is(s, e->op, "--"))
      return t;
    return t.pointers ? none : usual(t, scalar(KR_I32));
  }
  case EXPR_POSTFIX:
    return syntax_type_of(s, e->child);
  case EXPR_BINARY: {
    static const char *const truth[] = {"==", "!=", "<", ">", "<=", ">=", "&&", "||", NULL};
    if (syntax_is_word(s, e->op, truth))
      return scalar(KR_BOOL);
    struct syntax_type a = syntax_type_of(s, e->child);
    struct syntax_type b = syntax_type_of(s, s->exprs[e->child].next);
    if (syntax_is(s, e->op, "<<") || syntax_is(s, e->op, ">>"))
      return usual(a, scalar(KR_I32));
    if (a.known && a.pointers && is_scalar(b) && !kr_kind_is_float(b.kind) &&
        (syntax_is(s, e->op, "+") || syntax_is(s, e->op, "-")))
      return a;
    return usual(a, b);
  }
  case EXPR_ASSIGN:
    return syntax_type_of(s, e->child);
  case EXPR_COND: {
    size_t b = syntax_arg(s, expr, 1), c = syntax_arg(s, expr, 2);
    return usual(syntax_type_of(s, b), syntax_type_of(s, c));
  }
  case EXPR_CALL:
    return type_of_call(s, expr);
  case EXPR_CAST:
    return e->type;
  case EXPR_PAREN:
    return syntax_type_of(s, e->child);
  case EXPR_COMMA:
    return syntax_type_of(s, s->exprs[e->child].next);
  case EXPR_LIST:
  case EXPR_UNKNOWN:
    return none;
  }
  return none;
}

// --- effects ---

// A name that the text does not declare: plain values of the file only, no macro
// that might be anything.
static bool free_name_is_plain(const struct syntax *s, const struct syntax_expr *e)
{
  static const char *const builtins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                         "warpSize", "INFINITY", "NAN", NULL};
  if (syntax_is_word(s, e->span.first, builtins))
    return true;
  if (!s->contract || !s->contract->before)
    return false;
  // A macro whose body has a bracket or an operator with an effect in it.
  const char *text = s->contract->before;
  char *word = syntax_word(s, e->span.end - 1);
  const struct kr_token *toks = s->slice_toks;
  size_t n = s->n_slice_toks;
  bool plain = true;
  for (size_t i = 1; i + 1 < n && plain; i++) {
    if (!kr_token_is(text, toks[i], word) || !kr_token_is(text, toks[i - 1], "define"))
      continue;
    for (size_t k = i + 1; k < n && (toks[k].flags & KR_TOK_DIRECTIVE) &&
                           !(toks[k].flags & KR_TOK_DIRECTIVE_START) && plain;
         k++) {
      static const char *const fine[] = {"(", ")", "+", "-", "*", "/", "%", "<<", ">>", NULL};
      bool ok = toks[k].kind == KR_TOK_NUMBER;
      for (size_t f = 0; fine[f] && !ok; f++)
        ok = kr_token_is(text, toks[k], fine[f]);
      plain = ok;
    }
  }
  free(word);
  return plain;
}

bool syntax_pure(const struct syntax *s, size_t expr, bool *reads_memory)
{
  bool dummy = false;
  if (!reads_memory)
    reads_memory = &dummy;
  if (expr == SYNTAX_NONE)
    return false;
  const struct syntax_expr *e = &s->exprs[expr];
  switch (e->kind) {
  case EXPR_ASSIGN:
  case EXPR_POSTFIX:
  case EXPR_UNKNOWN:
  case EXPR_LIST:
  case EXPR_COMMA:
    return false;
  case EXPR_NAME:
    return e->name != SYNTAX_NONE || free_name_is_plain(s, e);
  case EXPR_UNARY:
    if (syntax_is(s, e->op, "++") || syntax_is(s, e->op, "--"))
      return false;
    *reads_memory = *reads_memory || syntax_is(s, e->op, "*");
    break;
  case EXPR_SUBSCRIPT:
    *reads_memory = true;
    break;
  case EXPR_MEMBER:
    *reads_memory = *reads_memory || syntax_is(s, e->op, "->");
    break;
  case EXPR_CALL: {
    char *name = syntax_callee(s, expr);
    unsigned known = name ? syntax_known_function(name) : 0;
    free(name);
    if (!(known & (KNOWN_PURE | KNOWN_LOAD)))
      return false;
    *reads_memory = *reads_memory || (known & KNOWN_LOAD);
    for (size_t a = syntax_arg(s, expr, 1); a != SYNTAX_NONE; a = s->exprs[a].next) {
      if (!syntax_pure(s, a, reads_memory))
        return false;
    }
    return true;
  }
  default:
    break;
  }
  for (size_t a = e->child; a != SYNTAX_NONE; a = s->exprs[a].next) {
    if (!syntax_pure(s, a, reads_memory))
      return false;
  }
  return true;
}

bool syntax_changes(const struct syntax *s, size_t name, struct syntax_span span)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind == EXPR_NAME && e->name == name && syntax_within(e->span, span) &&
        (e->use & (SYNTAX_WRITTEN | SYNTAX_ESCAPES)))
      return true;
  }
  // What stands in it and was not understood may do anything.
  for (size_t i = 0; i < s->n_stmts; i++) {
    if (s->stmts[i].kind == STMT_OTHER && syntax_within(s->stmts[i].span, span))
      return true;
  }
  return s->functions[s->names[name].function].opaque;
}

bool syntax_mentions(const struct syntax *s, struct syntax_span span, size_t name)
{
  for (size_t t = span.first; t < span.end; t++) {
    if (s->toks[t].kind == KR_TOK_IDENTIFIER && syntax_is(s, t, s->names[name].name) &&
        !(t && (syntax_is_punct(s, t - 1, ".") || syntax_is_punct(s, t - 1, "->"))) &&
        syntax_resolve(s, s->names[name].name, t) == name)
      return true;
  }
  return false;
}

static bool may_sync(const struct syntax *s, struct syntax_span span, int depth)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    if (s->exprs[i].kind != EXPR_CALL || !syntax_within(s->exprs[i].span, span))
      continue;
    char *name = syntax_callee(s, i);
    unsigned known = name ? syntax_known_function(name) : 0;
    bool sync = !known, found = false;
    for (size_t f = 0; name && !known && f < s->n_functions; f++) {
      if (strcmp(s->functions[f].name, name) || s->functions[f].body == SYNTAX_NONE)
        continue;
      found = true;
      sync = depth > 8 || may_sync(s, s->stmts[s->functions[f].body].span, depth + 1);
    }
    if (name && !known && !found)
      sync = syntax_slice_syncs(s);
    if (known & KNOWN_SYNC)
      sync = true;
    free(name);
    if (sync)
      return true;
  }
  for (size_t i = 0; i < s->n_stmts; i++) {
    if (s->stmts[i].kind == STMT_OTHER && syntax_within(s->stmts[i].span, span))
      return true;
  }
  return false;
}

bool syntax_may_sync(const struct syntax *s, struct syntax_span span)
{
  return may_sync(s, span, 0);
}

// The name at the start of `p`, `p + e`, `e + p`, `&p[e]`: where a pointer comes from.
static size_t pointer_source(const struct syntax *s, size_t expr)
{
  expr = syntax_strip(s, expr);
  if (expr == SYNTAX_NONE)
    return SYNTAX_NONE;
  const struct syntax_expr *e = &s->exprs[expr];
  if (e->kind == EXPR_NAME)
    return e->name;
  if (e->kind == EXPR_UNARY && syntax_is(s, e->op, "&")) {
    size_t inner = syntax_strip(s, e->child);
    if (s->exprs[inner].kind != EXPR_SUBSCRIPT)
      return SYNTAX_NONE;
    return pointer_source(s, s->exprs[inner].child);
  }
  if (e->kind == EXPR_SUBSCRIPT) // a row of an array
    return pointer_source(s, e->child);
  if (e->kind == EXPR_BINARY && (syntax_is(s, e->op, "+") || syntax_is(s, e->op, "-"))) {
    size_t b = s->exprs[e->child].next;
    if (syntax_type_of(s, e->child).pointers)
      return pointer_source(s, e->child);
    if (syntax_is(s, e->op, "+") && syntax_type_of(s, b).pointers)
      return pointer_source(s, b);
  }
  return SYNTAX_NONE;
}

size_t syntax_root(const struct syntax *s, size_t pointer)
{
  for (int depth = 0; depth < 16 && pointer != SYNTAX_NONE; depth++) {
    const struct syntax_name *n = &s->names[pointer];
    if (s->functions[n->function].opaque)
      return SYNTAX_NONE;
    if (n->n_dims)
      return n->storage == SYNTAX_PARAM ? SYNTAX_NONE : pointer;
    if (n->type.pointers != 1 || n->n_writes || n->type.is_reference)
      return SYNTAX_NONE;
    if (n->storage == SYNTAX_PARAM)
      return pointer;
    if (n->escapes || n->init == SYNTAX_NONE)
      return SYNTAX_NONE;
    pointer = pointer_source(s, n->init);
  }
  return SYNTAX_NONE;
}

bool syntax_plainly_used(const struct syntax *s, size_t name)
{
  const struct syntax_name *n = &s->names[name];
  if (s->functions[n->function].opaque || n->n_writes)
    return false;
  for (size_t i = 0; i < s->n_exprs; i++) {
    const struct syntax_expr *e = &s->exprs[i];
    if (e->kind != EXPR_NAME || e->name != name)
      continue;
    if (!(e->use & SYNTAX_BASE) || (e->use & SYNTAX_ESCAPES))
      return false;
  }
  return true;
}

bool syntax_loop(const struct syntax *s, size_t stmt, struct syntax_loop *out)
{
  const struct syntax_stmt *l = stmt == SYNTAX_NONE ? NULL : &s->stmts[stmt];
  *out = (struct syntax_loop){.stmt = stmt, .step = SYNTAX_NONE};
  if (!l || l->kind != STMT_FOR || s->stmts[l->init].kind != STMT_DECL || l->cond == SYNTAX_NONE ||
      l->step == SYNTAX_NONE || s->functions[l->function].opaque)
    return false;
  out->var = SYNTAX_NONE;
  for (size_t i = 0; i < s->n_names; i++) {
    if (s->names[i].stmt != l->init)
      continue;
    if (out->var != SYNTAX_NONE)
      return false;
    out->var = i;
  }
  if (out->var == SYNTAX_NONE || !s->names[out->var].is_loop ||
      s->names[out->var].init == SYNTAX_NONE)
    return false;
  out->init = s->names[out->var].init;
  const struct syntax_expr *cond = &s->exprs[syntax_strip(s, l->cond)];
  static const struct {
    const char *op, *mirrored;
  } relations[] = {{"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}, {"!=", "!="}};
  if (cond->kind != EXPR_BINARY)
    return false;
  for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
    if (!syntax_is(s, cond->op, relations[i].op))
      continue;
    size_t a = syntax_strip(s, cond->child), b = s->exprs[cond->child].next;
    size_t sb = syntax_strip(s, b);
    if (s->exprs[a].kind == EXPR_NAME && s->exprs[a].name == out->var) {
      out->bound = b;
      strcpy(out->relation, relations[i].op);
    } else if (s->exprs[sb].kind == EXPR_NAME && s->exprs[sb].name == out->var) {
      out->bound = cond->child;
      strcpy(out->relation, relations[i].mirrored);
    }
  }
  if (!out->relation[0] || syntax_mentions(s, s->exprs[out->bound].span, out->var))
    return false;
  const struct syntax_expr *step = &s->exprs[syntax_strip(s, l->step)];
  if (step->kind != EXPR_UNARY && step->kind != EXPR_POSTFIX && step->kind != EXPR_ASSIGN)
    return false;
  size_t target = syntax_strip(s, step->child);
  if (s->exprs[target].kind != EXPR_NAME || s->exprs[target].name != out->var)
    return false;
  static const char *const ops[] = {"++", "--", "+=", "-=", "*=", "/=", "<<=", ">>=", NULL};
  for (size_t i = 0; ops[i]; i++) {
    if (syntax_is(s, step->op, ops[i]))
      strcpy(out->step_op, ops[i]);
  }
  if (!out->step_op[0])
    return false;
  out->down = out->step_op[0] == '-';
  if (step->kind == EXPR_ASSIGN) {
    out->step = s->exprs[step->child].next;
    if (syntax_mentions(s, s->exprs[out->step].span, out->var))
      return false;
  }
  return true;
}
