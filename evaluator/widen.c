#include "widen.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"

// An oracle that is wrong in silence loosens tolerances or refuses honest work, so
// a name that is called has to be in one of the lists below or be declared in the
// text itself.

enum { MAX_NAME = 128, MAX_TEMPLATE = 64 };

struct pair {
  const char *from, *to;
};

static const struct pair float_types[] = {
    {"float", "double"},   {"float1", "double1"}, {"float2", "double2"},
    {"float3", "double3"}, {"float4", "double4"}, {"float_t", "double"}};

static const struct pair half_types[] = {
    {"__half", "double"},         {"half", "double"},          {"__nv_bfloat16", "double"},
    {"nv_bfloat16", "double"},    {"__half2", "double2"},      {"half2", "double2"},
    {"__nv_bfloat162", "double2"}, {"nv_bfloat162", "double2"}};

// Functions of <math.h> that exist as `name` for double and as `namef` for float.
static const char *const math[] = {
    "sin",    "cos",    "tan",     "asin",   "acos",    "atan",    "sinh",   "cosh",   "tanh",
    "asinh",  "acosh",  "atanh",   "exp",    "exp2",    "exp10",   "expm1",  "log",    "log2",
    "log10",  "log1p",  "sqrt",    "rsqrt",  "cbrt",    "rcbrt",   "fabs",   "floor",  "ceil",
    "round",  "rint",   "trunc",   "nearbyint", "erf",  "erfc",    "erfinv", "erfcinv", "erfcx",
    "normcdf", "normcdfinv", "lgamma", "tgamma", "sinpi", "cospi", "pow",    "atan2",  "fmod",
    "fmax",   "fmin",   "fdim",    "hypot",  "rhypot",  "copysign", "remainder", "fma", "ldexp",
    "scalbn", "scalbln", "frexp",  "modf",   "sincos",  "sincospi", "lrint", "llrint", "lround",
    "llround", "ilogb", "logb",    "norm3d", "rnorm3d", "norm4d",  "rnorm4d", "nan",   NULL};

static const struct pair calls[] = {
    {"make_float1", "make_double1"}, {"make_float2", "make_double2"},
    {"make_float3", "make_double3"}, {"make_float4", "make_double4"},
    {"__sinf", "sin"}, {"__cosf", "cos"}, {"__tanf", "tan"}, {"__tanhf", "tanh"},
    {"__expf", "exp"}, {"__exp10f", "exp10"}, {"__logf", "log"}, {"__log2f", "log2"},
    {"__log10f", "log10"}, {"__powf", "pow"}, {"__sincosf", "sincos"},
    {"__fdividef", "__ddiv_rn"}, {"fdividef", "__ddiv_rn"}, {"__frsqrt_rn", "rsqrt"},
    {"__saturatef", "kevin_wide_saturate"},
    // Of half and bfloat16.
    {"__half2float", "kevin_wide"}, {"__float2half", "kevin_wide"},
    {"__float2half_rn", "kevin_wide"}, {"__double2half", "kevin_wide"},
    {"__bfloat162float", "kevin_wide"}, {"__float2bfloat16", "kevin_wide"},
    {"__float2bfloat16_rn", "kevin_wide"}, {"__double2bfloat16", "kevin_wide"},
    {"__hadd", "__dadd_rn"}, {"__hsub", "__dsub_rn"}, {"__hmul", "__dmul_rn"},
    {"__hdiv", "__ddiv_rn"}, {"__hfma", "fma"}, {"__hneg", "kevin_wide_minus"},
    {"__habs", "fabs"}, {"__hmax", "fmax"}, {"__hmin", "fmin"}, {"hexp", "exp"},
    {"hexp2", "exp2"}, {"hlog", "log"}, {"hlog2", "log2"}, {"hsqrt", "sqrt"},
    {"hrsqrt", "rsqrt"}, {"hrcp", "__drcp_rn"}, {"hsin", "sin"}, {"hcos", "cos"},
    {"htanh", "tanh"}, {"hfloor", "floor"}, {"hceil", "ceil"}, {"htrunc", "trunc"},
    {"hrint", "rint"}, {"__hgt", "kevin_wide_gt"}, {"__hge", "kevin_wide_ge"},
    {"__hlt", "kevin_wide_lt"}, {"__hle", "kevin_wide_le"}, {"__heq", "kevin_wide_eq"},
    {"__hne", "kevin_wide_ne"}, {"__hisnan", "isnan"},
    {"__half22float2", "kevin_wide2"}, {"__float22half2_rn", "kevin_wide2"},
    {"__bfloat1622float2", "kevin_wide2"}, {"__float22bfloat162_rn", "kevin_wide2"},
    {"__floats2half2_rn", "make_double2"}, {"__halves2half2", "make_double2"},
    {"__floats2bfloat162_rn", "make_double2"}, {"__halves2bfloat162", "make_double2"},
    {"__float2half2_rn", "kevin_wide_both"}, {"__half2half2", "kevin_wide_both"},
    {"__float2bfloat162_rn", "kevin_wide_both"}, {"__bfloat162bfloat162", "kevin_wide_both"},
    {"__low2float", "kevin_wide_low"}, {"__low2half", "kevin_wide_low"},
    {"__low2bfloat16", "kevin_wide_low"}, {"__high2float", "kevin_wide_high"},
    {"__high2half", "kevin_wide_high"}, {"__high2bfloat16", "kevin_wide_high"},
    {"__hadd2", "kevin_wide_add2"}, {"__hsub2", "kevin_wide_sub2"},
    {"__hmul2", "kevin_wide_mul2"}, {"__hfma2", "kevin_wide_fma2"}};

#define FN "static __device__ __forceinline__ "
static const char prelude[] =
    "#line 1 \"widened\"\n"
    FN "double kevin_wide(double a) { return a; }\n"
    FN "double2 kevin_wide2(double2 a) { return a; }\n"
    FN "double kevin_wide_minus(double a) { return -a; }\n"
    FN "double kevin_wide_saturate(double a) { return a > 0 ? a < 1 ? a : 1.0 : 0.0; }\n"
    FN "bool kevin_wide_gt(double a, double b) { return a > b; }\n"
    FN "bool kevin_wide_ge(double a, double b) { return a >= b; }\n"
    FN "bool kevin_wide_lt(double a, double b) { return a < b; }\n"
    FN "bool kevin_wide_le(double a, double b) { return a <= b; }\n"
    FN "bool kevin_wide_eq(double a, double b) { return a == b; }\n"
    FN "bool kevin_wide_ne(double a, double b) { return a < b || a > b; }\n"
    FN "double2 kevin_wide_both(double a) { return make_double2(a, a); }\n"
    FN "double kevin_wide_low(double2 a) { return a.x; }\n"
    FN "double kevin_wide_high(double2 a) { return a.y; }\n"
    FN "double2 kevin_wide_add2(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }\n"
    FN "double2 kevin_wide_sub2(double2 a, double2 b) { return make_double2(a.x - b.x, a.y - b.y); }\n"
    FN "double2 kevin_wide_mul2(double2 a, double2 b) { return make_double2(a.x * b.x, a.y * b.y); }\n"
    FN "double2 kevin_wide_fma2(double2 a, double2 b, double2 c)\n"
    "{ return make_double2(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)); }\n";
#undef FN

// Called, and the same in double.
static const char *const kept[] = {
    // words of the language and types
    "if", "for", "while", "switch", "return", "sizeof", "alignof", "alignas", "decltype", "catch",
    "noexcept", "operator", "static_assert", "int", "unsigned", "signed", "long", "short", "char",
    "bool", "double", "void", "auto", "constexpr", "template", "and", "or", "not", "defined",
    "static_cast", "const_cast", "reinterpret_cast", "this", "else", "do", "explicit", "throw",
    "size_t", "ptrdiff_t", "ssize_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "uint", "ushort", "uchar", "ulong", "dim3", "uint3",
    "int2", "int3", "int4", "uint2", "uint4", "double2", "double3", "double4", "__restrict__",
    "__restrict", "const", "volatile", "__launch_bounds__", "__align__", "__forceinline__",
    "__noinline__", "__device__", "__host__", "__global__", "__shared__", "__constant__",
    "__VA_ARGS__", "_Pragma",
    // synchronisation, votes, shuffles, integers
    "__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__syncwarp",
    "__threadfence", "__threadfence_block", "__threadfence_system", "__shfl_sync",
    "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__any_sync",
    "__all_sync", "__activemask", "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
    "__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync", "__popc", "__popcll", "__ffs",
    "__ffsll", "__clz", "__clzll", "__brev", "__brevll", "__mul24", "__umul24", "__mulhi",
    "__umulhi", "__mul64hi", "__umul64hi", "__sad", "__usad", "umin", "umax", "labs", "llabs",
    // memory
    "__ldg", "__ldcs", "__ldca", "__ldcg", "__ldcv", "__ldlu", "__stcs", "__stcg", "__stwt",
    "__stwb", "atomicAdd", "atomicSub", "atomicInc", "atomicDec", "atomicAnd", "atomicOr",
    "atomicXor", "atomicMin", "atomicMax", "atomicExch", "atomicCAS",
    // of either type
    "min", "max", "abs", "swap", "move", "forward", "isnan", "isinf", "isfinite", "isnormal",
    "signbit", "make_int2", "make_int3", "make_int4", "make_uint2", "make_uint3", "make_uint4",
    "make_double2", "make_double3", "make_double4", "__dadd_rn", "__dsub_rn", "__dmul_rn",
    "__ddiv_rn", "__drcp_rn", "__dsqrt_rn", "__fma_rn",
    // cooperative groups
    "this_thread_block", "this_grid", "tiled_partition", "coalesced_threads", "reduce", "sync",
    "plus", "less", "greater", "bit_or", "bit_and", "thread_rank", "block_rank", "num_threads",
    "num_blocks", "size", "group_size", "meta_group_rank", "meta_group_size", "group_index",
    "thread_index", "group_dim", "dim_blocks", "is_valid", "shfl", "shfl_up", "shfl_down",
    "shfl_xor", "any", "all", "ballot",
    // limits, assertions, hints
    "assert", "__assertfail", "printf", "__builtin_assume", "__builtin_expect",
    "__builtin_unreachable", "__builtin_offsetof", "__trap", "clock", "clock64", "infinity",
    "quiet_NaN", "lowest", "digits", NULL};

static const struct pair refused[] = {
    {"__float_as_int", "it reads the bits of a floating value"},
    {"__float_as_uint", "it reads the bits of a floating value"},
    {"__int_as_float", "it makes a floating value of bits"},
    {"__uint_as_float", "it makes a floating value of bits"},
    {"__half_as_short", "it reads the bits of a floating value"},
    {"__half_as_ushort", "it reads the bits of a floating value"},
    {"__short_as_half", "it makes a floating value of bits"},
    {"__ushort_as_half", "it makes a floating value of bits"},
    {"__double_as_longlong", "it reads the bits of a floating value"},
    {"__double2hiint", "it reads the bits of a floating value"},
    {"__double2loint", "it reads the bits of a floating value"},
    {"memcpy", "it copies bytes"},
    {"memset", "it sets bytes"},
    {"bit_cast", "it reads the bits of a floating value"},
    {"__builtin_bit_cast", "it reads the bits of a floating value"},
    {"union", "it holds a union"},
    {"asm", "it holds assembly"},
    {"__asm", "it holds assembly"},
    {"__asm__", "it holds assembly"},
    {"__half_raw", "it reads the bits of a half"},
    {"__nv_bfloat16_raw", "it reads the bits of a bfloat16"},
    {"uintptr_t", "it computes with addresses"},
    {"intptr_t", "it computes with addresses"},
    {"__cvta_generic_to_shared", "it computes with addresses"},
    {"nvcuda", "it uses matrix fragments"},
    {"texture", "it reads a texture"},
    {"surface", "it writes a surface"},
    {"cudaTextureObject_t", "it reads a texture"},
    {"cudaSurfaceObject_t", "it writes a surface"},
    {"FLT_EPSILON", "it asks how precise a float is"},
    {"epsilon", "it asks how precise a float is"}};

static const char *const headers[] = {
    "<math.h>",    "<cmath>",  "<stddef.h>", "<stdint.h>", "<cstddef>", "<cstdint>", "<float.h>",
    "<cfloat>",    "<limits.h>", "<climits>", "<limits>",  "<stdio.h>", "<cstdio>", "<assert.h>",
    "<cassert>",   "<stdlib.h>", "<cstdlib>", "<type_traits>", "<utility>", "<algorithm>",
    "<sys/types.h>", "<cuda_fp16.h>", "<cuda_bf16.h>", "<cuda_runtime.h>",
    "<cooperative_groups.h>", "<cooperative_groups/reduce.h>", "<math_constants.h>",
    "<cuda/std/cstdint>", "<cuda/std/limits>", "<cuda/std/type_traits>", "<cuda/std/utility>",
    NULL};

struct widener {
  const char *text;
  struct kr_token *toks;
  size_t n;
  bool half_header; // `half` is the type and no name of the text's own
  bool halves, casts, plain_shared;
  struct kr_err *why;
};

static bool listed(const char *const *list, const char *word)
{
  for (; *list; list++) {
    if (!strcmp(*list, word))
      return true;
  }
  return false;
}

static const char *paired(const struct pair *list, size_t n, const char *word)
{
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(list[i].from, word))
      return list[i].to;
  }
  return NULL;
}
#define PAIRED(list, word) paired(list, sizeof(list) / sizeof *(list), word)

static bool is(const struct widener *w, size_t i, const char *spelling)
{
  return i < w->n && kr_token_is(w->text, w->toks[i], spelling);
}

static bool is_word(const struct widener *w, size_t i)
{
  return i < w->n && w->toks[i].kind == KR_TOK_IDENTIFIER;
}

static const char *word_at(const struct widener *w, size_t i, char out[MAX_NAME])
{
  out[0] = '\0';
  if (kr_token_text(w->text, w->toks[i], out, MAX_NAME) >= MAX_NAME)
    out[0] = '\0';
  return out;
}

static const char *wide_type(const struct widener *w, const char *word, bool *half)
{
  *half = false;
  const char *to = PAIRED(float_types, word);
  if (to)
    return to;
  to = !strcmp(word, "half") && !w->half_header ? NULL : PAIRED(half_types, word);
  *half = to != NULL;
  return to;
}

// "__fadd_rz", "__float2int_rn", "__int2float_rn", "fmaxf": what they are in double.
static bool wide_call(const char *word, char out[MAX_NAME])
{
  static const char *const arithmetic[][2] = {
      {"__fadd_r", "__dadd_rn"}, {"__fsub_r", "__dsub_rn"},   {"__fmul_r", "__dmul_rn"},
      {"__fdiv_r", "__ddiv_rn"}, {"__fsqrt_r", "__dsqrt_rn"}, {"__frcp_r", "__drcp_rn"},
      {"__fmaf_r", "__fma_rn"}};
  static const char *const whole[] = {"int", "uint", "ll", "ull"};
  size_t len = strlen(word);
  const char *to = PAIRED(calls, word);
  for (size_t i = 0; !to && i < sizeof arithmetic / sizeof *arithmetic; i++) {
    size_t n = strlen(arithmetic[i][0]);
    if (!strncmp(word, arithmetic[i][0], n) && len == n + 1 && strchr("nzud", word[n]))
      to = arithmetic[i][1];
  }
  if (to) {
    snprintf(out, MAX_NAME, "%s", to);
    return true;
  }
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    char from[32];
    size_t n = (size_t)snprintf(from, sizeof from, "__float2%s_r", whole[i]);
    if (len == n + 1 && !strncmp(word, from, n) && strchr("nzud", word[n])) {
      snprintf(out, MAX_NAME, "__double2%s_r%c", whole[i], word[n]);
      return true;
    }
    n = (size_t)snprintf(from, sizeof from, "__%s2float_r", whole[i]);
    if (len == n + 1 && !strncmp(word, from, n) && strchr("nzud", word[n])) {
      snprintf(out, MAX_NAME, "__%s2double_rn", whole[i]);
      return true;
    }
  }
  if (len < 2 || len >= MAX_NAME || word[len - 1] != 'f')
    return false;
  snprintf(out, MAX_NAME, "%.*s", (int)len - 1, word);
  return listed(math, out);
}

// --- what the text declares ---

// The token behind the brackets that open at `i`; 0 when they do not close.
static size_t behind(const struct widener *w, size_t i, const char *open, const char *close)
{
  int depth = 0;
  for (; i < w->n && w->toks[i].kind != KR_TOK_END; i++) {
    depth += is(w, i, open);
    depth -= is(w, i, close);
    if (!depth)
      return i + 1;
  }
  return 0;
}

// Behind `<...>` when it can be a list of template arguments.
static size_t behind_template(const struct widener *w, size_t i)
{
  int depth = 0;
  for (size_t end = i + MAX_TEMPLATE; i < w->n && i < end; i++) {
    depth += is(w, i, "<");
    depth -= is(w, i, ">") ? 1 : is(w, i, ">>") ? 2 : 0;
    if (depth <= 0)
      return i + 1;
    if (!is_word(w, i) && w->toks[i].kind != KR_TOK_NUMBER && !is(w, i, "<") && !is(w, i, ">") &&
        !is(w, i, ">>") && !is(w, i, ",") && !is(w, i, "::") && !is(w, i, "*") && !is(w, i, "&"))
      return 0;
  }
  return 0;
}

static bool declared_at(const struct widener *w, size_t i)
{
  static const char *const no_types[] = {"return", "else", "do", "case", "goto", "throw", "new",
                                         "delete", "sizeof", "and", "or", "not", "co_return",
                                         "co_yield", "co_await", NULL};
  char before[MAX_NAME];
  if (!i)
    return false;
  if (w->toks[i].flags & KR_TOK_DIRECTIVE)
    return is(w, i - 1, "define") && i > 1 && w->toks[i - 2].flags & KR_TOK_DIRECTIVE_START;
  if (w->toks[i - 1].flags & KR_TOK_DIRECTIVE)
    return false;
  if (is_word(w, i - 1))
    return !listed(no_types, word_at(w, i - 1, before));
  // `float *f(...) {`, `void __launch_bounds__(256) f(...) {`: only a definition is
  // told from a product or a cast.
  if (!is(w, i - 1, "*") && !is(w, i - 1, "&") && !is(w, i - 1, ">") && !is(w, i - 1, ")"))
    return false;
  size_t end = is(w, i + 1, "(") ? behind(w, i + 1, "(", ")") : 0;
  return end && is(w, end, "{");
}

static bool declared(const struct widener *w, const char *word)
{
  for (size_t i = 0; i < w->n; i++) {
    if (is_word(w, i) && is(w, i, word) && declared_at(w, i))
      return true;
  }
  return false;
}

static bool harmless(const struct widener *w, const char *word)
{
  char to[MAX_NAME];
  bool half;
  return listed(kept, word) || listed(math, word) || wide_type(w, word, &half) ||
         wide_call(word, to) || declared(w, word);
}

// --- what is refused ---

// `(const T *)` before an operand.
static int check_cast(struct widener *w, size_t i)
{
  char word[MAX_NAME] = "", last[MAX_NAME] = "";
  size_t k = i + 1, stars = 0;
  bool half;
  while (is_word(w, k) || is(w, k, "::")) {
    if (is_word(w, k) && strcmp(word_at(w, k, word), "const") && strcmp(word, "volatile"))
      memcpy(last, word, sizeof last);
    k++;
  }
  bool odd = is(w, k, ">"); // a template's pointer
  while (is(w, k, "*") || (stars && is_word(w, k))) {
    stars += is(w, k, "*");
    k++;
  }
  if (k == i + 1 || !stars || !is(w, k, ")") || (i && is_word(w, i - 1) && !is(w, i - 1, "return")))
    return 0;
  k++;
  if (!is_word(w, k) && !is(w, k, "(") && !is(w, k, "&") && !is(w, k, "*"))
    return 0;
  if (odd || !wide_type(w, last, &half))
    return kr_err_set(w->why, "it casts a pointer to `%s *`", last);
  w->casts = true;
  return 0;
}

static int check_named_cast(struct widener *w, size_t i)
{
  size_t end = is(w, i + 1, "<") ? behind_template(w, i + 1) : 0;
  char word[MAX_NAME], last[MAX_NAME] = "";
  bool pointer = false, nested = false, half;
  if (is(w, i, "const_cast"))
    return 0;
  if (!end)
    return kr_err_set(w->why, "a cast in it is not understood");
  for (size_t k = i + 2; k + 1 < end; k++) {
    pointer |= is(w, k, "*") || is(w, k, "&");
    nested |= is(w, k, "<");
    if (is_word(w, k) && strcmp(word_at(w, k, word), "const") && strcmp(word, "volatile"))
      memcpy(last, word, sizeof last);
  }
  if (!pointer)
    return is(w, i, "static_cast")
               ? 0
               : kr_err_set(w->why, "it casts a pointer to `%s`", last);
  if (!wide_type(w, last, &half) || nested)
    return kr_err_set(w->why, "it casts a pointer to `%s *`", last);
  w->casts = true;
  return 0;
}

static int check_directive(struct widener *w, size_t i)
{
  char word[MAX_NAME], to[MAX_NAME];
  if (is(w, i + 1, "include")) {
    char *name = kr_xstrndup(w->text + w->toks[i + 2].offset, w->toks[i + 2].length);
    int rc = listed(headers, name)
                 ? 0
                 : kr_err_set(w->why, "what the header %.100s holds is not known", name);
    free(name);
    return rc;
  }
  // A name for another name: `#define SQRT sqrtf`.
  if (is(w, i + 1, "define") && is_word(w, i + 3) && w->toks[i + 3].flags & KR_TOK_DIRECTIVE &&
      (!(w->toks[i + 4].flags & KR_TOK_DIRECTIVE) ||
       w->toks[i + 4].flags & KR_TOK_DIRECTIVE_START)) {
    word_at(w, i + 3, word);
    if (!harmless(w, word) && !wide_call(word, to) && !kr_lex_is_keyword(word, strlen(word)))
      return kr_err_set(w->why, "what `%s` is is not known", word);
  }
  return 0;
}

static int check_shared(struct widener *w, size_t i)
{
  char word[MAX_NAME];
  bool half;
  for (size_t k = i + 1; k < w->n && k < i + 16 && !is(w, k, "["); k++) {
    if (is(w, k, "__align__") || is(w, k, "alignas")) {
      k = behind(w, k + 1, "(", ")");
      if (!k--)
        break;
    } else if (is_word(w, k) && wide_type(w, word_at(w, k, word), &half)) {
      return 0;
    }
  }
  w->plain_shared = true;
  return 0;
}

static int check_token(struct widener *w, size_t i)
{
  char word[MAX_NAME];
  if (w->toks[i].flags & KR_TOK_DIRECTIVE_START && check_directive(w, i))
    return -1;
  if (is(w, i, "##") && !is(w, i + 1, "U") && !is(w, i + 1, "UL") && !is(w, i + 1, "L"))
    return kr_err_set(w->why, "it builds names with ##");
  if (is(w, i, "("))
    return check_cast(w, i);
  if (!is_word(w, i))
    return 0;
  word_at(w, i, word);
  if (!word[0])
    return kr_err_set(w->why, "a name in it is longer than %d characters", MAX_NAME);
  const char *reason = PAIRED(refused, word);
  // Infinity and NaN have no other spelling where there is no <math.h>.
  if (reason && !strcmp(word, "__int_as_float") && is(w, i + 1, "(") &&
      (is(w, i + 2, "0x7f800000") || is(w, i + 2, "0x7fc00000") || is(w, i + 2, "0x7fffffff") ||
       is(w, i + 2, "0xff800000")) && is(w, i + 3, ")"))
    return 0;
  // FLT_EPSILON may be defined and not used.
  if (reason && w->toks[i].flags & KR_TOK_DIRECTIVE && i && (is(w, i - 1, "define") || is(w, i - 1, "ifndef")))
    return 0;
  if (reason)
    return kr_err_set(w->why, "%s (`%s`)", reason, word);
  if (is(w, i, "reinterpret_cast") || is(w, i, "static_cast") || is(w, i, "const_cast"))
    return check_named_cast(w, i);
  if (is(w, i, "extern") && is(w, i + 1, "__shared__"))
    return check_shared(w, i + 1);
  size_t next = i + 1;
  if (is(w, next, "<"))
    next = behind_template(w, next);
  if (next && is(w, next, "(") && !harmless(w, word))
    return kr_err_set(w->why, "it calls `%s`, which is not known in double", word);
  return 0;
}

// --- rewriting ---

// A literal of float keeps its value, which is not that of the same digits in double.
static int put_literal(struct widener *w, const char *word, struct kr_bytes *out)
{
  char digits[MAX_NAME];
  size_t n = 0, len = strlen(word);
  bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
  if (len < 2 || (word[len - 1] != 'f' && word[len - 1] != 'F') ||
      (hex && !strpbrk(word, "pP")))
    return kr_bytes_adds(out, word);
  for (size_t i = 0; i + 1 < len; i++) {
    if (word[i] != '\'')
      digits[n++] = word[i];
  }
  digits[n] = '\0';
  char *end;
  float v = strtof(digits, &end);
  if (*end || !isfinite(v))
    return kr_err_set(w->why, "the literal `%s` is not understood", word);
  char text[64];
  snprintf(text, sizeof text, "%.17g", (double)v);
  kr_bytes_adds(out, text);
  if (!strpbrk(text, ".e"))
    kr_bytes_adds(out, ".0");
  return 0;
}

static int put_token(struct widener *w, size_t i, struct kr_bytes *out)
{
  struct kr_token t = w->toks[i];
  char word[MAX_NAME], to[MAX_NAME];
  bool half;
  if (t.kind == KR_TOK_NUMBER && t.length < MAX_NAME)
    return put_literal(w, word_at(w, i, word), out);
  if (t.kind == KR_TOK_IDENTIFIER) {
    word_at(w, i, word);
    // What follows a dot is a member, whatever its name.
    bool member = i && (is(w, i - 1, ".") || is(w, i - 1, "->"));
    const char *type = wide_type(w, word, &half);
    w->halves |= type && half;
    if (!strcmp(word, "__int_as_float"))
      return kr_bytes_adds(out, "(double)__int_as_float");
    if (type && !member)
      return kr_bytes_adds(out, type);
    if (!member && wide_call(word, to))
      return kr_bytes_adds(out, to);
  }
  return kr_bytes_add(out, w->text + t.offset, t.length);
}

static int rewrite(struct widener *w, const char *text, bool check, char **out)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  size_t at = 0;
  int rc = -1;
  w->text = text;
  w->toks = kr_lex_all(text, strlen(text), false, &w->n);
  if (check)
    kr_bytes_adds(&b, prelude);
  for (size_t i = 0; i < w->n && w->toks[i].kind != KR_TOK_END; i++) {
    struct kr_token t = w->toks[i];
    bool pragma = t.flags & KR_TOK_DIRECTIVE_START && (is(w, i + 1, "pragma") || is(w, i + 1, "line"));
    kr_bytes_add(&b, text + at, t.offset - at);
    at = t.offset;
    if (pragma) { // means nothing for types
      while (i + 1 < w->n && w->toks[i + 1].flags & KR_TOK_DIRECTIVE &&
             !(w->toks[i + 1].flags & KR_TOK_DIRECTIVE_START))
        i++;
      t = w->toks[i];
      kr_bytes_add(&b, text + at, t.offset + t.length - at);
    } else if ((check && check_token(w, i)) || put_token(w, i, &b)) {
      goto out;
    }
    at = t.offset + t.length;
  }
  if (kr_bytes_adds(&b, text + at)) {
    kr_err_set(w->why, "its text is too large");
    goto out;
  }
  *out = kr_bytes_take(&b);
  rc = 0;
out:
  kr_bytes_release(&b);
  free(w->toks);
  w->toks = NULL;
  w->n = 0;
  return rc;
}

void widened_release(struct widened *w)
{
  free(w->text);
  memset(w, 0, sizeof *w);
}

int widen(struct widened *out, const char *text, struct kr_err *why)
{
  struct widener w = {.why = why};
  memset(out, 0, sizeof *out);
  w.half_header = strstr(text, "cuda_fp16.h") != NULL;
  int rc = rewrite(&w, text, true, &out->text);
  if (!rc && w.casts && w.halves)
    rc = kr_err_set(why, "it casts pointers, and halves and floats widen differently");
  if (!rc && w.casts && w.plain_shared)
    rc = kr_err_set(why, "it casts pointers into shared memory that is declared of another type");
  out->casts = w.casts;
  if (rc)
    widened_release(out);
  return rc;
}

char *widen_name(const char *text, const char *name, struct kr_err *why)
{
  struct widener w = {.why = why, .half_header = strstr(text, "cuda_fp16.h") != NULL};
  char *out;
  return rewrite(&w, name, false, &out) ? NULL : out;
}
