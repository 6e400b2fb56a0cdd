#include "stdheaders.h"

// Compilers need not take literals this long; those that build this do.
#pragma GCC diagnostic ignored "-Woverlength-strings"

static const char stddef_text[] =
    "#pragma once\n"
    "#ifndef NULL\n#define NULL 0\n#endif\n"
    "#ifndef offsetof\n#define offsetof(t, m) ((size_t)&((t *)0)->m)\n#endif\n"
    "typedef decltype(nullptr) nullptr_t;\n"
    "typedef struct { long long a; long double b; } max_align_t;\n"
    "namespace std { using ::size_t; using ::ptrdiff_t; using ::nullptr_t; using ::max_align_t;\n"
    "enum class byte : unsigned char {}; }\n";

static const char stdint_text[] =
    "#pragma once\n"
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;\n"
    "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;\n"
    "typedef unsigned long uint64_t; typedef long intptr_t; typedef unsigned long uintptr_t;\n"
    "typedef long intmax_t; typedef unsigned long uintmax_t;\n"
    "#define KR_INT(k) typedef int8_t int_##k##8_t; typedef int16_t int_##k##16_t; \\\n"
    "  typedef int32_t int_##k##32_t; typedef int64_t int_##k##64_t; \\\n"
    "  typedef uint8_t uint_##k##8_t; typedef uint16_t uint_##k##16_t; \\\n"
    "  typedef uint32_t uint_##k##32_t; typedef uint64_t uint_##k##64_t;\n"
    "KR_INT(least)\n"
    "KR_INT(fast)\n"
    "#undef KR_INT\n"
    "#ifndef INT32_MAX\n"
    "#define INT8_MIN (-128)\n#define INT8_MAX 127\n#define UINT8_MAX 255\n"
    "#define INT16_MIN (-32767 - 1)\n#define INT16_MAX 32767\n#define UINT16_MAX 65535\n"
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define UINT32_MAX 4294967295U\n#define INT64_MIN (-9223372036854775807L - 1)\n"
    "#define INT64_MAX 9223372036854775807L\n#define UINT64_MAX 18446744073709551615UL\n"
    "#define SIZE_MAX 18446744073709551615UL\n#define PTRDIFF_MAX 9223372036854775807L\n"
    "#define PTRDIFF_MIN (-9223372036854775807L - 1)\n#define INTPTR_MAX INT64_MAX\n"
    "#define UINTPTR_MAX UINT64_MAX\n"
    "#define INT8_C(x) x\n#define INT16_C(x) x\n#define INT32_C(x) x\n#define INT64_C(x) x##L\n"
    "#define UINT8_C(x) x\n#define UINT16_C(x) x\n#define UINT32_C(x) x##U\n"
    "#define UINT64_C(x) x##UL\n"
    "#endif\n"
    "namespace std { using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;\n"
    "using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;\n"
    "using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t; }\n";

static const char limits_h_text[] =
    "#pragma once\n"
    "#ifndef CHAR_BIT\n#define CHAR_BIT 8\n#endif\n"
    "#ifndef SCHAR_MAX\n#define SCHAR_MAX 127\n#define SCHAR_MIN (-128)\n#endif\n"
    "#ifndef UCHAR_MAX\n#define UCHAR_MAX 255\n#endif\n"
    "#ifndef CHAR_MAX\n#define CHAR_MAX 127\n#define CHAR_MIN (-128)\n#endif\n"
    "#ifndef SHRT_MAX\n#define SHRT_MAX 32767\n#endif\n"
    "#ifndef SHRT_MIN\n#define SHRT_MIN (-32768)\n#endif\n"
    "#ifndef USHRT_MAX\n#define USHRT_MAX 65535\n#endif\n"
    "#ifndef INT_MAX\n#define INT_MAX 2147483647\n#endif\n"
    "#ifndef INT_MIN\n#define INT_MIN (-2147483647 - 1)\n#endif\n"
    "#ifndef UINT_MAX\n#define UINT_MAX 4294967295U\n#endif\n"
    "#ifndef LONG_MAX\n#define LONG_MAX 9223372036854775807L\n#endif\n"
    "#ifndef LONG_MIN\n#define LONG_MIN (-9223372036854775807L - 1)\n#endif\n"
    "#ifndef ULONG_MAX\n#define ULONG_MAX 18446744073709551615UL\n#endif\n"
    "#ifndef LLONG_MAX\n#define LLONG_MAX 9223372036854775807LL\n#endif\n"
    "#ifndef LLONG_MIN\n#define LLONG_MIN (-9223372036854775807LL - 1)\n#endif\n"
    "#ifndef ULLONG_MAX\n#define ULLONG_MAX 18446744073709551615ULL\n#endif\n";

static const char float_text[] =
    "#pragma once\n"
    "#ifndef FLT_MAX\n"
    "#define FLT_RADIX 2\n#define FLT_MANT_DIG 24\n#define FLT_DIG 6\n#define FLT_MIN_EXP (-125)\n"
    "#define FLT_MAX_EXP 128\n#define FLT_MAX 3.402823466e+38F\n#define FLT_MIN 1.175494351e-38F\n"
    "#define FLT_EPSILON 1.192092896e-07F\n#define FLT_TRUE_MIN 1.40129846432481707e-45F\n"
    "#endif\n"
    "#ifndef DBL_MAX\n"
    "#define DBL_MANT_DIG 53\n#define DBL_DIG 15\n#define DBL_MIN_EXP (-1021)\n"
    "#define DBL_MAX_EXP 1024\n#define DBL_MAX 1.7976931348623157e+308\n"
    "#define DBL_MIN 2.2250738585072014e-308\n#define DBL_EPSILON 2.2204460492503131e-16\n"
    "#define DBL_TRUE_MIN 4.9406564584124654e-324\n"
    "#endif\n";

static const char math_text[] =
    "#pragma once\n"
    "#ifndef INFINITY\n#define INFINITY (__builtin_bit_cast(float, 0x7f800000))\n#endif\n"
    "#ifndef NAN\n#define NAN (__builtin_bit_cast(float, 0x7fc00000))\n#endif\n"
    "#ifndef HUGE_VALF\n#define HUGE_VALF (__builtin_bit_cast(float, 0x7f800000))\n#endif\n"
    "#ifndef HUGE_VAL\n#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000))\n#endif\n"
    "#ifndef M_PI\n"
    "#define M_E 2.7182818284590452354\n#define M_LOG2E 1.4426950408889634074\n"
    "#define M_LOG10E 0.43429448190325182765\n#define M_LN2 0.69314718055994530942\n"
    "#define M_LN10 2.30258509299404568402\n#define M_PI 3.14159265358979323846\n"
    "#define M_PI_2 1.57079632679489661923\n#define M_PI_4 0.78539816339744830962\n"
    "#define M_1_PI 0.31830988618379067154\n#define M_2_PI 0.63661977236758134308\n"
    "#define M_2_SQRTPI 1.12837916709551257390\n#define M_SQRT2 1.41421356237309504880\n"
    "#define M_SQRT1_2 0.70710678118654752440\n"
    "#endif\n"
    // Mixed and integer arguments go to double, as libstdc++'s templates do; the
    // overloads for float and double are better matches and stay what they are.
    "template <class T> struct kr_arith { enum { rank = 0 }; };\n"
    "#define KR_A(t, r) template <> struct kr_arith<t> { enum { rank = r }; };\n"
    "KR_A(bool, 1) KR_A(char, 1) KR_A(signed char, 1) KR_A(unsigned char, 1) KR_A(short, 1)\n"
    "KR_A(unsigned short, 1) KR_A(int, 1) KR_A(unsigned, 1) KR_A(long, 1) KR_A(unsigned long, 1)\n"
    "KR_A(long long, 1) KR_A(unsigned long long, 1) KR_A(float, 2) KR_A(double, 2)\n"
    "#undef KR_A\n"
    "template <bool, class> struct kr_if {};\n"
    "template <class T> struct kr_if<true, T> { using type = T; };\n"
    "#define KR_1(f) template <class T> __device__ inline \\\n"
    "  typename kr_if<kr_arith<T>::rank == 1, double>::type f(T x) { return ::f((double)x); }\n"
    "KR_1(fabs) KR_1(sqrt) KR_1(cbrt) KR_1(exp) KR_1(exp2) KR_1(expm1) KR_1(log) KR_1(log2)\n"
    "KR_1(log10) KR_1(log1p) KR_1(sin) KR_1(cos) KR_1(tan) KR_1(asin) KR_1(acos) KR_1(atan)\n"
    "KR_1(sinh) KR_1(cosh) KR_1(tanh) KR_1(asinh) KR_1(acosh) KR_1(atanh) KR_1(erf) KR_1(erfc)\n"
    "KR_1(tgamma) KR_1(lgamma) KR_1(ceil) KR_1(floor) KR_1(trunc) KR_1(round) KR_1(rint)\n"
    "KR_1(nearbyint)\n"
    "#undef KR_1\n"
    "#define KR_2(f, g) template <class T, class U> __device__ inline \\\n"
    "  typename kr_if<(kr_arith<T>::rank > 0 && kr_arith<U>::rank > 0), double>::type \\\n"
    "  g(T x, U y) { return ::f((double)x, (double)y); }\n"
    "KR_2(atan2, atan2) KR_2(fmod, fmod) KR_2(remainder, remainder) KR_2(fmax, fmax)\n"
    "KR_2(fmin, fmin) KR_2(hypot, hypot) KR_2(copysign, copysign) KR_2(fdim, fdim)\n"
    "KR_2(nextafter, nextafter)\n"
    "template <class T, class U, class V> __device__ inline typename kr_if<\n"
    "  (kr_arith<T>::rank > 0 && kr_arith<U>::rank > 0 && kr_arith<V>::rank > 0), double>::type\n"
    "fma(T x, U y, V z) { return ::fma((double)x, (double)y, (double)z); }\n"
    // NVRTC has a pow(float, int) that gives float; under nvcc it is libstdc++'s
    // and gives double. It cannot be hidden, so `pow` is given another name.
    "__device__ inline float kr_pow(float x, float y) { return ::pow(x, y); }\n"
    "__device__ inline double kr_pow(double x, double y) { return ::pow(x, y); }\n"
    "KR_2(pow, kr_pow)\n"
    "#undef KR_2\n"
    "#define pow kr_pow\n"
    // There these give int.
    "#define KR_B(f, g) __device__ inline bool g(float x) { return ::f(x) != 0; } \\\n"
    "  __device__ inline bool g(double x) { return ::f(x) != 0; } \\\n"
    "  template <class T> __device__ inline \\\n"
    "  typename kr_if<kr_arith<T>::rank == 1, bool>::type g(T x) { return ::f((double)x) != 0; }\n"
    "KR_B(isnan, kr_isnan) KR_B(isinf, kr_isinf) KR_B(isfinite, kr_isfinite)\n"
    "KR_B(signbit, kr_signbit)\n"
    "#undef KR_B\n"
    "#define isnan kr_isnan\n#define isinf kr_isinf\n#define isfinite kr_isfinite\n"
    "#define signbit kr_signbit\n"
    "#define FP_NAN 0\n#define FP_INFINITE 1\n#define FP_ZERO 2\n#define FP_SUBNORMAL 3\n"
    "#define FP_NORMAL 4\n"
    "namespace std {\n"
    "using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::exp; using ::exp2;\n"
    "using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p; using ::pow;\n"
    "using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan;\n"
    "using ::atan2; using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh;\n"
    "using ::atanh; using ::erf; using ::erfc; using ::tgamma; using ::lgamma; using ::ceil;\n"
    "using ::floor; using ::trunc; using ::round; using ::rint; using ::nearbyint;\n"
    "using ::fmod; using ::remainder; using ::fmax; using ::fmin; using ::fma; using ::hypot;\n"
    "using ::ldexp; using ::frexp; using ::modf; using ::scalbn; using ::copysign;\n"
    "using ::isnan; using ::isinf; using ::isfinite; using ::signbit; using ::lround;\n"
    "using ::llround; using ::lrint; using ::llrint; using ::ilogb; using ::logb;\n"
    "using ::nextafter; using ::fdim;\n"
    "}\n";

static const char stdlib_text[] =
    "#pragma once\n#include <stddef.h>\n"
    "#define EXIT_SUCCESS 0\n#define EXIT_FAILURE 1\n#define RAND_MAX 2147483647\n"
    "namespace std { using ::abs; using ::labs; using ::llabs; using ::malloc; using ::free; }\n";

static const char string_text[] =
    "#pragma once\n#include <stddef.h>\n"
    "namespace std { using ::memcpy; using ::memset; }\n";

static const char stdio_text[] =
    "#pragma once\n#include <stddef.h>\n"
    "namespace std { using ::printf; }\n";

static const char stdbool_text[] = "#pragma once\n#define __bool_true_false_are_defined 1\n";

// NVRTC takes no function for the host at all, and nvcc lets constexpr ones into
// constant expressions, so they are for both here.
#define STD_FN "#ifndef KR_STD_FN\n#define KR_STD_FN __host__ __device__ constexpr\n#endif\n"

static const char traits_text[] =
    "#pragma once\n#include <stddef.h>\n" STD_FN
    "namespace std {\n"
    "template <class T, T v> struct integral_constant { static constexpr T value = v;\n"
    "  using value_type = T; using type = integral_constant;\n"
    "  __host__ __device__ constexpr operator T() const { return v; } };\n"
    "using true_type = integral_constant<bool, true>;\n"
    "using false_type = integral_constant<bool, false>;\n"
    "template <bool b> using bool_constant = integral_constant<bool, b>;\n"
    "template <class T, class U> struct is_same : false_type {};\n"
    "template <class T> struct is_same<T, T> : true_type {};\n"
    "template <bool b, class T = void> struct enable_if {};\n"
    "template <class T> struct enable_if<true, T> { using type = T; };\n"
    "template <bool b, class T, class F> struct conditional { using type = T; };\n"
    "template <class T, class F> struct conditional<false, T, F> { using type = F; };\n"
    "template <class T> struct remove_const { using type = T; };\n"
    "template <class T> struct remove_const<const T> { using type = T; };\n"
    "template <class T> struct remove_volatile { using type = T; };\n"
    "template <class T> struct remove_volatile<volatile T> { using type = T; };\n"
    "template <class T> struct remove_cv {\n"
    "  using type = typename remove_const<typename remove_volatile<T>::type>::type; };\n"
    "template <class T> struct remove_reference { using type = T; };\n"
    "template <class T> struct remove_reference<T &> { using type = T; };\n"
    "template <class T> struct remove_reference<T &&> { using type = T; };\n"
    "template <class T> struct remove_pointer { using type = T; };\n"
    "template <class T> struct remove_pointer<T *> { using type = T; };\n"
    "template <class T> struct remove_pointer<T *const> { using type = T; };\n"
    "template <class T> struct add_pointer {\n"
    "  using type = typename remove_reference<T>::type *; };\n"
    "template <class T> struct add_const { using type = const T; };\n"
    "template <class T> struct decay {\n"
    "  using type = typename remove_cv<typename remove_reference<T>::type>::type; };\n"
    "template <class T, size_t n> struct decay<T (&)[n]> { using type = T *; };\n"
    "template <class T> struct is_pointer : false_type {};\n"
    "template <class T> struct is_pointer<T *> : true_type {};\n"
    "template <class T> struct is_const : false_type {};\n"
    "template <class T> struct is_const<const T> : true_type {};\n"
    "template <class T> struct is_reference : false_type {};\n"
    "template <class T> struct is_reference<T &> : true_type {};\n"
    "template <class T> struct is_reference<T &&> : true_type {};\n"
    "template <class T> struct is_void : is_same<void, typename remove_cv<T>::type> {};\n"
    "template <class T> struct kr_is_integral : false_type {};\n"
    "#define KR_I(t) template <> struct kr_is_integral<t> : true_type {};\n"
    "KR_I(bool) KR_I(char) KR_I(signed char) KR_I(unsigned char) KR_I(short) KR_I(unsigned short)\n"
    "KR_I(int) KR_I(unsigned) KR_I(long) KR_I(unsigned long) KR_I(long long)\n"
    "KR_I(unsigned long long) KR_I(wchar_t) KR_I(char16_t) KR_I(char32_t)\n"
    "#undef KR_I\n"
    "template <class T> struct is_integral : kr_is_integral<typename remove_cv<T>::type> {};\n"
    "template <class T> struct is_floating_point : bool_constant<\n"
    "  is_same<float, typename remove_cv<T>::type>::value ||\n"
    "  is_same<double, typename remove_cv<T>::type>::value> {};\n"
    "template <class T> struct is_arithmetic : bool_constant<\n"
    "  is_integral<T>::value || is_floating_point<T>::value> {};\n"
    "template <class T, bool = is_arithmetic<T>::value> struct is_signed : false_type {};\n"
    "template <class T> struct is_signed<T, true> : bool_constant<(T(-1) < T(0))> {};\n"
    "template <class T, bool = is_arithmetic<T>::value> struct is_unsigned : false_type {};\n"
    "template <class T> struct is_unsigned<T, true> : bool_constant<!(T(-1) < T(0))> {};\n"
    "template <class T> struct is_enum : bool_constant<__is_enum(T)> {};\n"
    "template <class T> struct is_class : bool_constant<__is_class(T)> {};\n"
    "template <class B, class D> struct is_base_of : bool_constant<__is_base_of(B, D)> {};\n"
    "template <class T> struct is_trivially_copyable\n"
    "  : bool_constant<__is_trivially_copyable(T)> {};\n"
    "template <class T> struct make_unsigned { using type = T; };\n"
    "template <> struct make_unsigned<signed char> { using type = unsigned char; };\n"
    "template <> struct make_unsigned<char> { using type = unsigned char; };\n"
    "template <> struct make_unsigned<short> { using type = unsigned short; };\n"
    "template <> struct make_unsigned<int> { using type = unsigned; };\n"
    "template <> struct make_unsigned<long> { using type = unsigned long; };\n"
    "template <> struct make_unsigned<long long> { using type = unsigned long long; };\n"
    "template <class T> struct make_signed { using type = T; };\n"
    "template <> struct make_signed<unsigned char> { using type = signed char; };\n"
    "template <> struct make_signed<unsigned short> { using type = short; };\n"
    "template <> struct make_signed<unsigned> { using type = int; };\n"
    "template <> struct make_signed<unsigned long> { using type = long; };\n"
    "template <> struct make_signed<unsigned long long> { using type = long long; };\n"
    "template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};\n"
    "template <class...> using void_t = void;\n"
    "template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;\n"
    "template <bool b, class T, class F> using conditional_t =\n"
    "  typename conditional<b, T, F>::type;\n"
    "template <class T> using remove_const_t = typename remove_const<T>::type;\n"
    "template <class T> using remove_cv_t = typename remove_cv<T>::type;\n"
    "template <class T> using remove_reference_t = typename remove_reference<T>::type;\n"
    "template <class T> using remove_pointer_t = typename remove_pointer<T>::type;\n"
    "template <class T> using decay_t = typename decay<T>::type;\n"
    "template <class T> using make_unsigned_t = typename make_unsigned<T>::type;\n"
    "template <class T> using make_signed_t = typename make_signed<T>::type;\n"
    "#if __cplusplus >= 201703L\n"
    "#define KR_V(n) template <class T> inline constexpr bool n##_v = n<T>::value;\n"
    "KR_V(is_pointer) KR_V(is_const) KR_V(is_reference) KR_V(is_void) KR_V(is_integral)\n"
    "KR_V(is_floating_point) KR_V(is_arithmetic) KR_V(is_signed) KR_V(is_unsigned)\n"
    "KR_V(is_enum) KR_V(is_class) KR_V(is_trivially_copyable)\n"
    "#undef KR_V\n"
    "template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;\n"
    "#endif\n"
    "}\n";

static const char limits_text[] =
    "#pragma once\n#include <limits.h>\n#include <float.h>\n" STD_FN
    "namespace std {\n"
    "template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };\n"
    "template <class T> struct numeric_limits<const T> : numeric_limits<T> {};\n"
    "#define KR_I(t, lo, hi, s, d) template <> struct numeric_limits<t> {\\\n"
    "  static constexpr bool is_specialized = true, is_signed = s, is_integer = true;\\\n"
    "  static constexpr bool is_exact = true, has_infinity = false, has_quiet_NaN = false;\\\n"
    "  static constexpr int digits = d, radix = 2;\\\n"
    "  static KR_STD_FN t min() noexcept { return lo; }\\\n"
    "  static KR_STD_FN t max() noexcept { return hi; }\\\n"
    "  static KR_STD_FN t lowest() noexcept { return lo; }\\\n"
    "  static KR_STD_FN t epsilon() noexcept { return 0; } };\n"
    "KR_I(bool, false, true, false, 1)\n"
    "KR_I(char, CHAR_MIN, CHAR_MAX, true, 7)\n"
    "KR_I(signed char, SCHAR_MIN, SCHAR_MAX, true, 7)\n"
    "KR_I(unsigned char, 0, UCHAR_MAX, false, 8)\n"
    "KR_I(short, SHRT_MIN, SHRT_MAX, true, 15)\n"
    "KR_I(unsigned short, 0, USHRT_MAX, false, 16)\n"
    "KR_I(int, INT_MIN, INT_MAX, true, 31)\n"
    "KR_I(unsigned, 0, UINT_MAX, false, 32)\n"
    "KR_I(long, LONG_MIN, LONG_MAX, true, 63)\n"
    "KR_I(unsigned long, 0, ULONG_MAX, false, 64)\n"
    "KR_I(long long, LLONG_MIN, LLONG_MAX, true, 63)\n"
    "KR_I(unsigned long long, 0, ULLONG_MAX, false, 64)\n"
    "#undef KR_I\n"
    "#define KR_F(t, p, inf, nan, d) template <> struct numeric_limits<t> {\\\n"
    "  static constexpr bool is_specialized = true, is_signed = true, is_integer = false;\\\n"
    "  static constexpr bool is_exact = false, has_infinity = true, has_quiet_NaN = true;\\\n"
    "  static constexpr int digits = d, radix = 2;\\\n"
    "  static KR_STD_FN t min() noexcept { return p##_MIN; }\\\n"
    "  static KR_STD_FN t max() noexcept { return p##_MAX; }\\\n"
    "  static KR_STD_FN t lowest() noexcept { return -p##_MAX; }\\\n"
    "  static KR_STD_FN t epsilon() noexcept { return p##_EPSILON; }\\\n"
    "  static KR_STD_FN t denorm_min() noexcept { return p##_TRUE_MIN; }\\\n"
    "  static KR_STD_FN t infinity() noexcept { return inf; }\\\n"
    "  static KR_STD_FN t quiet_NaN() noexcept { return nan; } };\n"
    "KR_F(float, FLT, __builtin_bit_cast(float, 0x7f800000),\n"
    "     __builtin_bit_cast(float, 0x7fc00000), 24)\n"
    "KR_F(double, DBL, __builtin_bit_cast(double, 0x7ff0000000000000),\n"
    "     __builtin_bit_cast(double, 0x7ff8000000000000), 53)\n"
    "#undef KR_F\n"
    "}\n";

static const char utility_text[] =
    "#pragma once\n#include <type_traits>\n"
    "namespace std {\n"
    "template <class A, class B> struct pair { A first; B second; };\n"
    "template <class T> KR_STD_FN void swap(T &a, T &b) { T t = a; a = b; b = t; }\n"
    "template <class T, T... v> struct integer_sequence {\n"
    "  using value_type = T; static KR_STD_FN size_t size() { return sizeof...(v); } };\n"
    "template <size_t... v> using index_sequence = integer_sequence<size_t, v...>;\n"
    "template <size_t n, size_t... v> struct kr_make_seq : kr_make_seq<n - 1, n - 1, v...> {};\n"
    "template <size_t... v> struct kr_make_seq<0, v...> { using type = index_sequence<v...>; };\n"
    "template <size_t n> using make_index_sequence = typename kr_make_seq<n>::type;\n"
    "}\n";

static const char algorithm_text[] =
    "#pragma once\n#include <utility>\n"
    "namespace std {\n"
    "template <class T> KR_STD_FN const T &min(const T &a, const T &b) { return b < a ? b : a; }\n"
    "template <class T> KR_STD_FN const T &max(const T &a, const T &b) { return a < b ? b : a; }\n"
    "template <class T> KR_STD_FN const T &clamp(const T &v, const T &lo, const T &hi) {\n"
    "  return v < lo ? lo : hi < v ? hi : v; }\n"
    "}\n";

static const char array_text[] =
    "#pragma once\n#include <utility>\n"
    "namespace std {\n"
    "template <class T, size_t n> struct array { T kr_elems[n];\n"
    "  using value_type = T;\n"
    "  KR_STD_FN T &operator[](size_t i) { return kr_elems[i]; }\n"
    "  KR_STD_FN const T &operator[](size_t i) const { return kr_elems[i]; }\n"
    "  KR_STD_FN size_t size() const { return n; }\n"
    "  KR_STD_FN T *data() { return kr_elems; }\n"
    "  KR_STD_FN const T *data() const { return kr_elems; }\n"
    "  KR_STD_FN T *begin() { return kr_elems; }\n"
    "  KR_STD_FN T *end() { return kr_elems + n; }\n"
    "  KR_STD_FN const T *begin() const { return kr_elems; }\n"
    "  KR_STD_FN const T *end() const { return kr_elems + n; } };\n"
    "}\n";

// What nvcc has included before the first line.
static const char nvcc_text[] =
    "#pragma once\n#include <stddef.h>\n#include <limits.h>\n"
    "#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n";

static const char empty_text[] = "#pragma once\n";

// `#pragma once` goes by name: what has two names is one text and an include.
const struct std_header *std_headers(size_t *n)
{
  static const struct std_header list[] = {
      {"cstddef", "#include <stddef.h>\n"},
      {"stddef.h", stddef_text},
      {"cstdint", "#include <stdint.h>\n"},
      {"stdint.h", stdint_text},
      {"inttypes.h", "#include <stdint.h>\n"},
      {"cinttypes", "#include <stdint.h>\n"},
      {"climits", "#include <limits.h>\n"},
      {"limits.h", limits_h_text},
      {"cfloat", "#include <float.h>\n"},
      {"float.h", float_text},
      {"cmath", "#include <math.h>\n"},
      {"math.h", math_text},
      {"cstdlib", "#include <stdlib.h>\n"},
      {"stdlib.h", stdlib_text},
      {"cstring", "#include <string.h>\n"},
      {"string.h", string_text},
      {"cstdio", "#include <stdio.h>\n"},
      {"stdio.h", stdio_text},
      {"stdbool.h", stdbool_text},
      {"type_traits", traits_text},
      {"limits", limits_text},
      {"utility", utility_text},
      {"algorithm", algorithm_text},
      {"array", array_text},
      {STD_HEADERS_BEFORE, nvcc_text},
#define EMPTY(name) {name, empty_text}
      // NVRTC has assert and va_list of its own.
      EMPTY("cassert"), EMPTY("assert.h"), EMPTY("cstdarg"), EMPTY("stdarg.h"),
      EMPTY("iostream"), EMPTY("fstream"), EMPTY("sstream"), EMPTY("ostream"), EMPTY("istream"),
      EMPTY("iomanip"), EMPTY("iosfwd"), EMPTY("ios"), EMPTY("string"), EMPTY("string_view"),
      EMPTY("vector"), EMPTY("list"), EMPTY("deque"), EMPTY("queue"), EMPTY("stack"),
      EMPTY("map"), EMPTY("set"), EMPTY("unordered_map"), EMPTY("unordered_set"), EMPTY("bitset"),
      EMPTY("memory"), EMPTY("new"), EMPTY("functional"), EMPTY("iterator"), EMPTY("numeric"),
      EMPTY("random"), EMPTY("chrono"), EMPTY("ctime"), EMPTY("time.h"), EMPTY("thread"),
      EMPTY("mutex"), EMPTY("condition_variable"), EMPTY("future"), EMPTY("exception"),
      EMPTY("stdexcept"), EMPTY("system_error"), EMPTY("typeinfo"), EMPTY("typeindex"),
      EMPTY("filesystem"), EMPTY("locale"), EMPTY("regex"), EMPTY("valarray"), EMPTY("cctype"),
      EMPTY("ctype.h"), EMPTY("cerrno"), EMPTY("errno.h"), EMPTY("csignal"), EMPTY("signal.h"),
      EMPTY("getopt.h"), EMPTY("unistd.h"), EMPTY("sys/time.h"), EMPTY("sys/types.h"),
      EMPTY("sys/stat.h"), EMPTY("fcntl.h"), EMPTY("omp.h"), EMPTY("pthread.h"),
#undef EMPTY
  };
  *n = sizeof list / sizeof *list;
  return list;
}
