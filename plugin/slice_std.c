#include "slice_std.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

enum std_kind {
  STD_BUILTIN, // NVRTC knows it without a word
  STD_INT,     // fixed-width types
  STD_TYPE,    // a typedef of ours: `text` is what it stands for
  STD_MACRO,   // `text` is the value
  STD_MATH,    // in std:: by a using-declaration of the global one
  STD_ORDER,   // std::min, std::max, std::swap: templates of ours
  STD_LIFTED,  // std:: from libcu++'s cuda/std: `text` is its header
  STD_ASSERT
};

struct std_word {
  const char *name;
  enum std_kind kind;
  const char *text;
  const char *include; // for the other compilers; NULL: none is needed
};

static const struct std_word std_words[] = {
    {"printf", STD_BUILTIN, NULL, "stdio.h"},
    {"vprintf", STD_BUILTIN, NULL, "stdio.h"},
    {"malloc", STD_BUILTIN, NULL, "stdlib.h"},
    {"free", STD_BUILTIN, NULL, "stdlib.h"},
    {"memcpy", STD_BUILTIN, NULL, "string.h"},
    {"memset", STD_BUILTIN, NULL, "string.h"},
    {"clock", STD_BUILTIN, NULL, "time.h"},
    {"clock_t", STD_BUILTIN, NULL, "time.h"},
    {"size_t", STD_BUILTIN, NULL, "stddef.h"},
    {"ptrdiff_t", STD_BUILTIN, NULL, "stddef.h"},
    {"max_align_t", STD_BUILTIN, NULL, "stddef.h"},
    {"wchar_t", STD_BUILTIN, NULL, NULL},
    {"abs", STD_BUILTIN, NULL, "stdlib.h"},
    {"labs", STD_BUILTIN, NULL, "stdlib.h"},
    {"llabs", STD_BUILTIN, NULL, "stdlib.h"},
    {"NULL", STD_BUILTIN, NULL, "stddef.h"},
    {"signbit", STD_BUILTIN, NULL, "math.h"},
    {"isnan", STD_BUILTIN, NULL, "math.h"},
    {"isinf", STD_BUILTIN, NULL, "math.h"},
    {"isfinite", STD_BUILTIN, NULL, "math.h"},

    {"int8_t", STD_INT, "signed char", "stdint.h"},
    {"int16_t", STD_INT, "short", "stdint.h"},
    {"int32_t", STD_INT, "int", "stdint.h"},
    {"int64_t", STD_INT, "long", "stdint.h"},
    {"uint8_t", STD_INT, "unsigned char", "stdint.h"},
    {"uint16_t", STD_INT, "unsigned short", "stdint.h"},
    {"uint32_t", STD_INT, "unsigned int", "stdint.h"},
    {"uint64_t", STD_INT, "unsigned long", "stdint.h"},
    {"intptr_t", STD_INT, "long", "stdint.h"},
    {"uintptr_t", STD_INT, "unsigned long", "stdint.h"},
    {"intmax_t", STD_INT, "long", "stdint.h"},
    {"uintmax_t", STD_INT, "unsigned long", "stdint.h"},
    {"int_fast8_t", STD_INT, "signed char", "stdint.h"},
    {"int_fast16_t", STD_INT, "long", "stdint.h"},
    {"int_fast32_t", STD_INT, "long", "stdint.h"},
    {"int_fast64_t", STD_INT, "long", "stdint.h"},
    {"uint_fast8_t", STD_INT, "unsigned char", "stdint.h"},
    {"uint_fast16_t", STD_INT, "unsigned long", "stdint.h"},
    {"uint_fast32_t", STD_INT, "unsigned long", "stdint.h"},
    {"uint_fast64_t", STD_INT, "unsigned long", "stdint.h"},
    {"uint", STD_TYPE, "unsigned int", "sys/types.h"},
    {"ushort", STD_TYPE, "unsigned short", "sys/types.h"},
    {"ulong", STD_TYPE, "unsigned long", "sys/types.h"},
    {"u_char", STD_TYPE, "unsigned char", "sys/types.h"},
    {"u_int", STD_TYPE, "unsigned int", "sys/types.h"},
    {"u_int8_t", STD_TYPE, "unsigned char", "sys/types.h"},
    {"u_int16_t", STD_TYPE, "unsigned short", "sys/types.h"},
    {"u_int32_t", STD_TYPE, "unsigned int", "sys/types.h"},
    {"u_int64_t", STD_TYPE, "unsigned long", "sys/types.h"},
    {"ssize_t", STD_TYPE, "long", "sys/types.h"},

    {"assert", STD_ASSERT, NULL, "assert.h"},
    {"CUDA_VERSION", STD_MACRO, "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)", "cuda.h"},
    {"CUDART_VERSION", STD_MACRO, "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)", NULL},
    {"UINT8_C", STD_MACRO, "(c) c", "stdint.h"},
    {"UINT16_C", STD_MACRO, "(c) c", "stdint.h"},
    {"UINT32_C", STD_MACRO, "(c) c##U", "stdint.h"},
    {"UINT64_C", STD_MACRO, "(c) c##UL", "stdint.h"},
    {"INT8_C", STD_MACRO, "(c) c", "stdint.h"},
    {"INT16_C", STD_MACRO, "(c) c", "stdint.h"},
    {"INT32_C", STD_MACRO, "(c) c", "stdint.h"},
    {"INT64_C", STD_MACRO, "(c) c##L", "stdint.h"},
    {"offsetof", STD_MACRO, "(t, m) __builtin_offsetof(t, m)", "stddef.h"},
    {"CHAR_BIT", STD_MACRO, "8", "limits.h"},
    {"SCHAR_MIN", STD_MACRO, "(-128)", "limits.h"},
    {"SCHAR_MAX", STD_MACRO, "127", "limits.h"},
    {"UCHAR_MAX", STD_MACRO, "255", "limits.h"},
    {"CHAR_MIN", STD_MACRO, "(-128)", "limits.h"},
    {"CHAR_MAX", STD_MACRO, "127", "limits.h"},
    {"SHRT_MIN", STD_MACRO, "(-32768)", "limits.h"},
    {"SHRT_MAX", STD_MACRO, "32767", "limits.h"},
    {"USHRT_MAX", STD_MACRO, "65535", "limits.h"},
    {"INT_MIN", STD_MACRO, "(-2147483647 - 1)", "limits.h"},
    {"INT_MAX", STD_MACRO, "2147483647", "limits.h"},
    {"UINT_MAX", STD_MACRO, "4294967295U", "limits.h"},
    {"LONG_MIN", STD_MACRO, "(-9223372036854775807L - 1L)", "limits.h"},
    {"LONG_MAX", STD_MACRO, "9223372036854775807L", "limits.h"},
    {"ULONG_MAX", STD_MACRO, "18446744073709551615UL", "limits.h"},
    {"LLONG_MIN", STD_MACRO, "(-9223372036854775807LL - 1LL)", "limits.h"},
    {"LLONG_MAX", STD_MACRO, "9223372036854775807LL", "limits.h"},
    {"ULLONG_MAX", STD_MACRO, "18446744073709551615ULL", "limits.h"},
    {"INT8_MIN", STD_MACRO, "(-128)", "stdint.h"},
    {"INT8_MAX", STD_MACRO, "127", "stdint.h"},
    {"UINT8_MAX", STD_MACRO, "255", "stdint.h"},
    {"INT16_MIN", STD_MACRO, "(-32768)", "stdint.h"},
    {"INT16_MAX", STD_MACRO, "32767", "stdint.h"},
    {"UINT16_MAX", STD_MACRO, "65535", "stdint.h"},
    {"INT32_MIN", STD_MACRO, "(-2147483647 - 1)", "stdint.h"},
    {"INT32_MAX", STD_MACRO, "2147483647", "stdint.h"},
    {"UINT32_MAX", STD_MACRO, "4294967295U", "stdint.h"},
    {"INT64_MIN", STD_MACRO, "(-9223372036854775807L - 1L)", "stdint.h"},
    {"INT64_MAX", STD_MACRO, "9223372036854775807L", "stdint.h"},
    {"UINT64_MAX", STD_MACRO, "18446744073709551615UL", "stdint.h"},
    {"SIZE_MAX", STD_MACRO, "18446744073709551615UL", "stdint.h"},
    {"FLT_MAX", STD_MACRO, "3.40282346638528859811704183484516925e+38F", "float.h"},
    {"FLT_MIN", STD_MACRO, "1.17549435082228750796873653722224568e-38F", "float.h"},
    {"FLT_EPSILON", STD_MACRO, "1.19209289550781250000000000000000000e-7F", "float.h"},
    {"FLT_DIG", STD_MACRO, "6", "float.h"},
    {"FLT_MANT_DIG", STD_MACRO, "24", "float.h"},
    {"FLT_RADIX", STD_MACRO, "2", "float.h"},
    {"DBL_MAX", STD_MACRO, "1.79769313486231570814527423731704357e+308", "float.h"},
    {"DBL_MIN", STD_MACRO, "2.22507385850720138309023271733240406e-308", "float.h"},
    {"DBL_EPSILON", STD_MACRO, "2.22044604925031308084726333618164062e-16", "float.h"},
    {"DBL_DIG", STD_MACRO, "15", "float.h"},
    {"DBL_MANT_DIG", STD_MACRO, "53", "float.h"},
    {"INFINITY", STD_MACRO, "__int_as_float(0x7f800000)", "math.h"},
    {"NAN", STD_MACRO, "__int_as_float(0x7fc00000)", "math.h"},
    {"HUGE_VALF", STD_MACRO, "__int_as_float(0x7f800000)", "math.h"},
    {"HUGE_VAL", STD_MACRO, "__longlong_as_double(0x7ff0000000000000LL)", "math.h"},
    {"M_E", STD_MACRO, "2.7182818284590452354", "math.h"},
    {"M_LOG2E", STD_MACRO, "1.4426950408889634074", "math.h"},
    {"M_LOG10E", STD_MACRO, "0.43429448190325182765", "math.h"},
    {"M_LN2", STD_MACRO, "0.69314718055994530942", "math.h"},
    {"M_LN10", STD_MACRO, "2.30258509299404568402", "math.h"},
    {"M_PI", STD_MACRO, "3.14159265358979323846", "math.h"},
    {"M_PI_2", STD_MACRO, "1.57079632679489661923", "math.h"},
    {"M_PI_4", STD_MACRO, "0.78539816339744830962", "math.h"},
    {"M_1_PI", STD_MACRO, "0.31830988618379067154", "math.h"},
    {"M_2_PI", STD_MACRO, "0.63661977236758134308", "math.h"},
    {"M_2_SQRTPI", STD_MACRO, "1.12837916709551257390", "math.h"},
    {"M_SQRT2", STD_MACRO, "1.41421356237309504880", "math.h"},
    {"M_SQRT1_2", STD_MACRO, "0.70710678118654752440", "math.h"},

    {"std::min", STD_ORDER, NULL, "algorithm"},
    {"std::max", STD_ORDER, NULL, "algorithm"},
    {"std::swap", STD_ORDER, NULL, "utility"},
    {"std::nullptr_t", STD_TYPE, "decltype(nullptr)", "cstddef"},
    {"std::numeric_limits", STD_LIFTED, "limits", "limits"},
    {"std::move", STD_LIFTED, "utility", "utility"},
    {"std::forward", STD_LIFTED, "utility", "utility"},
    {"std::declval", STD_LIFTED, "utility", "utility"},
    {"std::exchange", STD_LIFTED, "utility", "utility"},
    {"std::pair", STD_LIFTED, "utility", "utility"},
    {"std::make_pair", STD_LIFTED, "utility", "utility"},
    {"std::index_sequence", STD_LIFTED, "utility", "utility"},
    {"std::integer_sequence", STD_LIFTED, "utility", "utility"},
    {"std::make_index_sequence", STD_LIFTED, "utility", "utility"},
    {"std::array", STD_LIFTED, "array", "array"},
    {"std::tuple", STD_LIFTED, "tuple", "tuple"},
    {"std::get", STD_LIFTED, "tuple", "tuple"},
    {"std::make_tuple", STD_LIFTED, "tuple", "tuple"},
    {"std::complex", STD_LIFTED, "complex", "complex"},
};

// Functions of the C library that CUDA has under the same name, and that NVRTC
// therefore declares at global scope.
static const char *const std_math[] = {
    "abs",    "acos",   "acosh",  "asin",  "asinh",   "atan",   "atan2",     "atanh", "cbrt",
    "ceil",   "copysign", "cos",  "cosh",  "erf",     "erfc",   "exp",       "exp2",  "expm1",
    "fabs",   "fdim",   "floor",  "fma",   "fmax",    "fmin",   "fmod",      "frexp", "hypot",
    "ilogb",  "isfinite", "isinf", "isnan", "isnormal", "ldexp", "lgamma",   "llrint", "llround",
    "log",    "log10",  "log1p",  "log2",  "logb",    "lrint",  "lround",    "modf",  "nan",
    "nearbyint", "nextafter", "pow", "remainder", "remquo", "rint", "round", "scalbln", "scalbn",
    "signbit", "sin",   "sinh",   "sqrt",  "tan",     "tanh",   "tgamma",    "trunc"};

// Of these CUDA has float and double alone, and the C++ library a template for
// all mixtures, which computes in double. NVRTC has no such template, and for pow
// a (float, int) and a (double, int) of its own, which are not what nvcc takes.
static const char *const std_mixed[] = {"atan2", "copysign", "fdim",      "fmax",     "fmin",
                                        "fmod",  "hypot",    "nextafter", "remainder"};

static const struct std_word *std_find(const char *name)
{
  for (size_t i = 0; i < sizeof std_words / sizeof *std_words; i++)
    if (!strcmp(std_words[i].name, name))
      return &std_words[i];
  return NULL;
}

static bool std_in(const char *const *list, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (!strcmp(list[i], name))
      return true;
  return false;
}

#define STD_IN(list, name) std_in(list, sizeof(list) / sizeof *(list), name)

// sinf and sinl as well as sin.
static bool std_is_math(const char *name)
{
  size_t n = strlen(name);
  char stem[32];
  if (STD_IN(std_math, name))
    return true;
  if (n < 2 || n >= sizeof stem || name[n - 1] != 'f')
    return false;
  memcpy(stem, name, n - 1);
  stem[n - 1] = '\0';
  return STD_IN(std_math, stem);
}

static void std_note(struct std_use *u, const char *name)
{
  const char *bare = !strncmp(name, "std::", 5) ? name + 5 : name;
  if (bare[0] != '+' && (!strcmp(bare, "pow") || STD_IN(std_mixed, bare))) {
    char mixed[32];
    snprintf(mixed, sizeof mixed, "+%s", bare);
    std_note(u, mixed);
  }
  for (size_t i = 0; i < u->n; i++)
    if (!strcmp(u->items[i], name))
      return;
  KR_GROW(u->items, u->n, u->cap);
  u->items[u->n++] = kr_xstrdup(name);
}

bool std_add(struct std_use *u, const char *name, bool in_std)
{
  char full[256];
  snprintf(full, sizeof full, "%s%s", in_std ? "std::" : "", name);
  const struct std_word *w = std_find(full);
  if (!w && in_std && std_find(name) && std_find(name)->kind != STD_MACRO)
    w = std_find(name); // std::size_t, std::int32_t, std::abs
  if (!w && !std_is_math(name))
    return false;
  // A global function that CUDA has too needs nothing; its mixtures may.
  std_note(u, full);
  return true;
}

void std_add_trait(struct std_use *u, const char *name)
{
  char full[256];
  snprintf(full, sizeof full, "std::%s", name);
  std_note(u, full);
}

bool std_add_macro(struct std_use *u, const char *name)
{
  const struct std_word *w = std_find(name);
  if (!w || (w->kind != STD_MACRO && w->kind != STD_ASSERT))
    return false;
  std_note(u, name);
  return true;
}

void std_release(struct std_use *u)
{
  for (size_t i = 0; i < u->n; i++)
    free(u->items[i]);
  free(u->items);
  *u = (struct std_use){NULL, 0, 0};
}

static int std_order(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// The word of a used name, and the name without its namespace.
static const struct std_word *std_word_of(const char *name, const char **bare)
{
  *bare = !strncmp(name, "std::", 5) ? name + 5 : name;
  const struct std_word *w = std_find(name);
  return w ? w : std_find(*bare);
}

static const char *std_include_of(const char *name)
{
  if (name[0] == '+')
    return NULL;
  const char *bare;
  const struct std_word *w = std_word_of(name, &bare);
  if (bare != name && std_is_math(bare))
    return "cmath";
  if (bare == name && !w)
    return NULL;
  if (w && bare != name && w->kind == STD_INT)
    return "cstdint";
  if (w && bare != name && w->include && !strcmp(w->include, "stddef.h"))
    return "cstddef";
  if (w && bare != name && w->include && !strcmp(w->include, "stdio.h"))
    return "cstdio";
  if (w && bare != name && w->include && !strcmp(w->include, "string.h"))
    return "cstring";
  if (w)
    return w->include;
  return "type_traits";
}

void std_print_includes(const struct std_use *u, struct kr_bytes *out)
{
  const char **lines = kr_xcalloc(u->n + 1, sizeof *lines);
  size_t n = 0;
  for (size_t i = 0; i < u->n; i++) {
    const char *include = std_include_of(u->items[i]);
    if (include && !std_in(lines, n, include))
      lines[n++] = include;
  }
  qsort(lines, n, sizeof *lines, std_order);
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(out, "%s#include <%s>\n", i ? "" : "#ifndef __CUDACC_RTC__\n", lines[i]);
  if (n)
    kr_bytes_adds(out, "#endif\n");
  free(lines);
}

static void std_print_order(const char *bare, struct kr_bytes *out)
{
  if (!strcmp(bare, "swap"))
    kr_bytes_adds(out, "template <typename T> __host__ __device__ void swap(T &a, T &b)\n"
                       "{ T c = a; a = b; b = c; }\n");
  else
    kr_bytes_addf(out,
                  "template <typename T> __host__ __device__ constexpr const T &%s(const T &a, "
                  "const T &b)\n{ return %s ? b : a; }\n",
                  bare, !strcmp(bare, "min") ? "b < a" : "a < b");
}

static void std_print_mixed(const char *name, struct kr_bytes *plain, struct kr_bytes *inside)
{
  if (strcmp(name, "pow")) {
    kr_bytes_addf(plain,
                  "template <typename T, typename U> __device__ __forceinline__ double %s(T a, U b)\n"
                  "{ return %s((double)a, (double)b); }\n",
                  name, name);
    return;
  }
  kr_bytes_adds(plain,
                "__device__ __forceinline__ float kevin_pow(float a, float b) { return powf(a, b); }\n"
                "template <typename T, typename U> __device__ __forceinline__ double kevin_pow(T a, U b)\n"
                "{ return pow((double)a, (double)b); }\n"
                "#define pow(...) kevin_pow(__VA_ARGS__)\n");
  kr_bytes_adds(inside, "using ::kevin_pow;\n");
}

static void std_print_macro(const struct std_word *w, struct kr_bytes *out)
{
  kr_bytes_addf(out, "#ifndef %s\n", w->name);
  if (w->kind == STD_ASSERT)
    // What nvcc makes of it, so that the code is the same.
    kr_bytes_adds(out, "#ifdef NDEBUG\n#define assert(e) ((void)0)\n#else\n"
                       "extern \"C\" __device__ void __assertfail(const char *, const char *, unsigned, "
                       "const char *, size_t);\n"
                       "#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, "
                       "__func__, sizeof(char)))\n#endif\n");
  else // with parameters when the text begins with a name in brackets
    kr_bytes_addf(out, "#define %s%s%s\n", w->name,
                  w->text[0] == '(' && (w->text[1] == 'c' || w->text[1] == 't') ? "" : " ", w->text);
  kr_bytes_adds(out, "#endif\n");
}

void std_print_prelude(const struct std_use *u, bool libcu, struct kr_bytes *out)
{
  struct kr_bytes plain, inside, lifted;
  kr_bytes_init(&plain, 1 << 20);
  kr_bytes_init(&inside, 1 << 20);
  kr_bytes_init(&lifted, 1 << 20);
  char **names = kr_xcalloc(u->n + 1, sizeof *names);
  if (u->n)
    memcpy(names, u->items, u->n * sizeof *names);
  qsort(names, u->n, sizeof *names, std_order);
  bool ints = false;
  for (size_t i = 0; i < u->n; i++) {
    const char *bare;
    const struct std_word *w = std_word_of(names[i], &bare);
    bool in_std = bare != names[i];
    if (bare[0] == '+') {
      std_print_mixed(bare + 1, &plain, &inside);
    } else if (in_std && !strcmp(bare, "pow")) {
      continue; // made by the mixture
    } else if (!in_std && !w) {
      continue;
    } else if (in_std && std_is_math(bare)) {
      kr_bytes_addf(&inside, "using ::%s;\n", bare);
    } else if (!w || w->kind == STD_LIFTED) {
      kr_bytes_addf(&lifted, "#include <cuda/std/%s>\n", w ? w->text : "type_traits");
      kr_bytes_addf(&inside, "using cuda::std::%s;\n", bare);
    } else if (w->kind == STD_ORDER) {
      std_print_order(bare, &inside);
    } else if (w->kind == STD_MACRO || w->kind == STD_ASSERT) {
      std_print_macro(w, &plain);
    } else if (w->kind == STD_INT) {
      ints = true;
      if (in_std)
        kr_bytes_addf(&inside, "using ::%s;\n", bare);
    } else if (w->kind == STD_TYPE) {
      kr_bytes_addf(in_std ? &inside : &plain, "typedef %s %s;\n", w->text, bare);
    } else if (in_std) {
      kr_bytes_addf(&inside, "using ::%s;\n", bare);
    }
  }
  if (ints && (libcu || lifted.len)) {
    kr_bytes_adds(&lifted, "#include <cuda/std/cstdint>\n");
  } else if (ints) {
    for (size_t i = 0; i < sizeof std_words / sizeof *std_words; i++)
      if (std_words[i].kind == STD_INT)
        kr_bytes_addf(&plain, "typedef %s %s;\n", std_words[i].text, std_words[i].name);
  }
  if (lifted.len || plain.len || inside.len) {
    kr_bytes_adds(out, "#ifdef __CUDACC_RTC__\n");
    kr_bytes_add(out, lifted.data, lifted.len);
    kr_bytes_add(out, plain.data, plain.len);
    if (inside.len)
      kr_bytes_addf(out, "namespace std {\n%s}\n", inside.data);
    kr_bytes_adds(out, "#endif\n");
  }
  free(names);
  kr_bytes_release(&plain);
  kr_bytes_release(&inside);
  kr_bytes_release(&lifted);
}
