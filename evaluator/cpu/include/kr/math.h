#ifndef KR_MATH_H
#define KR_MATH_H

// Mathematical functions: C's, CUDA's additions, and their overloads.
//
// The lists are the whole of it; the names of KR_M1 to KR_M3 with their `f`
// forms are what the runtime's table of imports offers.

#define KR_M1(X)                                                                                   \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)  \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt) X(ceil) X(floor)        \
  X(trunc) X(round) X(rint) X(nearbyint) X(erf) X(erfc) X(tgamma) X(lgamma) X(fabs) X(logb)
#define KR_M2(X)                                                                                   \
  X(pow) X(atan2) X(fmod) X(hypot) X(fmin) X(fmax) X(fdim) X(copysign) X(remainder) X(nextafter)

template <class T> struct __kr_integral {
  enum { value = 0 };
};
#define KR_INT(T)                                                                                  \
  template <> struct __kr_integral<T> {                                                            \
    enum { value = 1 };                                                                            \
  };
KR_INT(bool)
KR_INT(char)
KR_INT(signed char)
KR_INT(unsigned char)
KR_INT(short)
KR_INT(unsigned short)
KR_INT(int)
KR_INT(unsigned)
KR_INT(long)
KR_INT(unsigned long)
KR_INT(long long)
KR_INT(unsigned long long)
#undef KR_INT
template <bool B, class T> struct __kr_if {};
template <class T> struct __kr_if<true, T> {
  typedef T type;
};
template <class T> struct __kr_floating {
  enum { value = 0 };
};
template <> struct __kr_floating<float> {
  enum { value = 1 };
};
template <> struct __kr_floating<double> {
  enum { value = 1 };
};

#if KR_PARSE

#define KR_D1(n)                                                                                   \
  __device__ double n(double) noexcept;                                                            \
  __device__ float n(float) noexcept;                                                              \
  __device__ float n##f(float) noexcept;
#define KR_D2(n)                                                                                   \
  __device__ double n(double, double) noexcept;                                                    \
  __device__ float n(float, float) noexcept;                                                       \
  __device__ float n##f(float, float) noexcept;
KR_M1(KR_D1)
KR_M2(KR_D2)
#undef KR_D1
#undef KR_D2
__device__ double fma(double, double, double) noexcept;
__device__ float fma(float, float, float) noexcept;
__device__ float fmaf(float, float, float) noexcept;
__device__ double ldexp(double, int) noexcept;
__device__ float ldexp(float, int) noexcept;
__device__ float ldexpf(float, int) noexcept;
__device__ double scalbn(double, int) noexcept;
__device__ float scalbn(float, int) noexcept;
__device__ float scalbnf(float, int) noexcept;
__device__ double frexp(double, int *) noexcept;
__device__ float frexp(float, int *) noexcept;
__device__ float frexpf(float, int *) noexcept;
__device__ double modf(double, double *) noexcept;
__device__ float modf(float, float *) noexcept;
__device__ float modff(float, float *) noexcept;
__device__ int ilogb(double) noexcept;
__device__ int ilogb(float) noexcept;
__device__ int ilogbf(float) noexcept;
__device__ long lrint(double) noexcept;
__device__ long lrint(float) noexcept;
__device__ long lrintf(float) noexcept;
__device__ long long llrint(double) noexcept;
__device__ long long llrint(float) noexcept;
__device__ long long llrintf(float) noexcept;
__device__ long lround(double) noexcept;
__device__ long lround(float) noexcept;
__device__ long lroundf(float) noexcept;
__device__ long long llround(double) noexcept;
__device__ long long llround(float) noexcept;
__device__ long long llroundf(float) noexcept;
__device__ int abs(int) noexcept;
__device__ long labs(long) noexcept;
__device__ long long llabs(long long) noexcept;
__device__ long abs(long) noexcept;
__device__ long long abs(long long) noexcept;
__device__ double abs(double) noexcept;
__device__ float abs(float) noexcept;
__device__ bool isnan(double) noexcept;
__device__ bool isnan(float) noexcept;
__device__ bool isinf(double) noexcept;
__device__ bool isinf(float) noexcept;
__device__ bool isfinite(double) noexcept;
__device__ bool isfinite(float) noexcept;
__device__ bool signbit(double) noexcept;
__device__ bool signbit(float) noexcept;
__device__ void sincos(double, double *, double *) noexcept;
__device__ void sincosf(float, float *, float *) noexcept;
__device__ double exp10(double) noexcept;
__device__ float exp10f(float) noexcept;

// Before any header of the host declares its own: a later constexpr function of
// the same signature then stays a host function, and both can be called.
namespace std {
#define KR_U1(n) using ::n; using ::n##f;
KR_M1(KR_U1)
KR_M2(KR_U1)
#undef KR_U1
using ::abs;
using ::fma;
using ::fmaf;
using ::frexp;
using ::ilogb;
using ::ldexp;
using ::llrint;
using ::llround;
using ::lrint;
using ::lround;
using ::modf;
using ::scalbn;
}

// Integers go to double, as in C++; mixed operands too.
#define KR_D1(n)                                                                                   \
  template <class T>                                                                               \
  __device__ typename __kr_if<__kr_integral<T>::value, double>::type n(T x) noexcept;
#define KR_D2(n)                                                                                   \
  template <class T, class U>                                                                      \
  __device__ typename __kr_if<(__kr_integral<T>::value || __kr_floating<T>::value) &&              \
                                  (__kr_integral<U>::value || __kr_floating<U>::value),            \
                              double>::type                                                        \
  n(T x, U y) noexcept;
KR_M1(KR_D1)
KR_M2(KR_D2)
#undef KR_D1
#undef KR_D2

#else

extern "C" {
#define KR_D1(n)                                                                                   \
  double n(double) noexcept __attribute__((const));                                                \
  float n##f(float) noexcept __attribute__((const));
#define KR_D2(n)                                                                                   \
  double n(double, double) noexcept __attribute__((const));                                        \
  float n##f(float, float) noexcept __attribute__((const));
KR_M1(KR_D1)
KR_M2(KR_D2)
#undef KR_D1
#undef KR_D2
double fma(double, double, double) noexcept __attribute__((const));
float fmaf(float, float, float) noexcept __attribute__((const));
double ldexp(double, int) noexcept __attribute__((const));
float ldexpf(float, int) noexcept __attribute__((const));
double scalbn(double, int) noexcept __attribute__((const));
float scalbnf(float, int) noexcept __attribute__((const));
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
int ilogb(double) noexcept __attribute__((const));
int ilogbf(float) noexcept __attribute__((const));
long lrint(double) noexcept __attribute__((const));
long lrintf(float) noexcept __attribute__((const));
long long llrint(double) noexcept __attribute__((const));
long long llrintf(float) noexcept __attribute__((const));
long lround(double) noexcept __attribute__((const));
long lroundf(float) noexcept __attribute__((const));
long long llround(double) noexcept __attribute__((const));
long long llroundf(float) noexcept __attribute__((const));
double scalbln(double, long) noexcept __attribute__((const));
float scalblnf(float, long) noexcept __attribute__((const));
double remquo(double, double, int *) noexcept;
float remquof(float, float, int *) noexcept;
void sincos(double, double *, double *) noexcept;
void sincosf(float, float *, float *) noexcept;
double exp10(double) noexcept __attribute__((const));
float exp10f(float) noexcept __attribute__((const));
}

// Integers go to double, as in C++.
#define KR_D1(n)                                                                                   \
  KR_FN float n(float x) noexcept { return n##f(x); }                                              \
  template <class T> KR_FN typename __kr_if<__kr_integral<T>::value, double>::type n(T x)          \
  {                                                                                                \
    return n((double)x);                                                                           \
  }
// Mixed operands go to double, a float beside a float stays one.
#define KR_D2(n)                                                                                   \
  KR_FN float n(float x, float y) noexcept { return n##f(x, y); }                                  \
  template <class T, class U>                                                                      \
  KR_FN typename __kr_if<(__kr_integral<T>::value || __kr_floating<T>::value) &&                   \
                             (__kr_integral<U>::value || __kr_floating<U>::value),                 \
                         double>::type                                                             \
  n(T x, U y)                                                                                      \
  {                                                                                                \
    return n((double)x, (double)y);                                                                \
  }
KR_M1(KR_D1)
KR_M2(KR_D2)
#undef KR_D1
#undef KR_D2
KR_FN float fma(float x, float y, float z) noexcept { return fmaf(x, y, z); }
KR_FN float ldexp(float x, int e) noexcept { return ldexpf(x, e); }
KR_FN float scalbn(float x, int e) noexcept { return scalbnf(x, e); }
KR_FN float frexp(float x, int *e) noexcept { return frexpf(x, e); }
KR_FN float modf(float x, float *i) noexcept { return modff(x, i); }
KR_FN float scalbln(float x, long e) noexcept { return scalblnf(x, e); }
KR_FN float remquo(float x, float y, int *q) noexcept { return remquof(x, y, q); }
KR_FN double nan(const char *) noexcept { return __builtin_nan(""); }
KR_FN float nanf(const char *) noexcept { return __builtin_nanf(""); }
KR_FN bool isnormal(double x) noexcept { return __builtin_isnormal(x); }
KR_FN bool isnormal(float x) noexcept { return __builtin_isnormal(x); }
KR_FN int ilogb(float x) noexcept { return ilogbf(x); }
KR_FN long lrint(float x) noexcept { return lrintf(x); }
KR_FN long long llrint(float x) noexcept { return llrintf(x); }
KR_FN long lround(float x) noexcept { return lroundf(x); }
KR_FN long long llround(float x) noexcept { return llroundf(x); }
KR_FN int abs(int x) noexcept { return x < 0 ? -x : x; }
KR_FN long abs(long x) noexcept { return x < 0 ? -x : x; }
KR_FN long long abs(long long x) noexcept { return x < 0 ? -x : x; }
KR_FN long labs(long x) noexcept { return x < 0 ? -x : x; }
KR_FN long long llabs(long long x) noexcept { return x < 0 ? -x : x; }
KR_FN double abs(double x) noexcept { return __builtin_fabs(x); }
KR_FN float abs(float x) noexcept { return __builtin_fabsf(x); }
KR_FN bool isnan(double x) noexcept { return __builtin_isnan(x); }
KR_FN bool isnan(float x) noexcept { return __builtin_isnan(x); }
KR_FN bool isinf(double x) noexcept { return __builtin_isinf(x); }
KR_FN bool isinf(float x) noexcept { return __builtin_isinf(x); }
KR_FN bool isfinite(double x) noexcept { return __builtin_isfinite(x); }
KR_FN bool isfinite(float x) noexcept { return __builtin_isfinite(x); }
KR_FN bool signbit(double x) noexcept { return __builtin_signbit(x); }
KR_FN bool signbit(float x) noexcept { return __builtin_signbit(x); }

#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

#endif

// CUDA's own.
KR_FN float rsqrtf(float x) { KR_FAST return 1.0f / __builtin_sqrtf(x); }
KR_FN double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
KR_FN float rsqrt(float x) { return rsqrtf(x); }
KR_FN float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KR_FN double rcbrt(double x) { return 1.0 / cbrt(x); }
KR_FN double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
KR_FN double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
KR_FN float sinpif(float x) { return (float)sinpi((double)x); }
KR_FN float cospif(float x) { return (float)cospi((double)x); }
KR_FN void sincospif(float x, float *s, float *c)
{
  *s = sinpif(x);
  *c = cospif(x);
}
KR_FN void sincospi(double x, double *s, double *c)
{
  *s = sinpi(x);
  *c = cospi(x);
}
KR_FN float normcdff(float x) { return 0.5f * erfcf(-0.70710678118654752440f * x); }
KR_FN double normcdf(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }

#define KR_MINMAX(T)                                                                               \
  KR_HD T min(T a, T b) { return b < a ? b : a; }                                                  \
  KR_HD T max(T a, T b) { return a < b ? b : a; }
KR_MINMAX(int)
KR_MINMAX(unsigned)
KR_MINMAX(long)
KR_MINMAX(unsigned long)
KR_MINMAX(long long)
KR_MINMAX(unsigned long long)
#undef KR_MINMAX
#define KR_MIXED(A, B, T)                                                                          \
  KR_HD T min(A a, B b) { return (T)b < (T)a ? (T)b : (T)a; }                                      \
  KR_HD T max(A a, B b) { return (T)a < (T)b ? (T)b : (T)a; }
KR_MIXED(int, unsigned, unsigned)
KR_MIXED(unsigned, int, unsigned)
KR_MIXED(long, unsigned long, unsigned long)
KR_MIXED(unsigned long, long, unsigned long)
KR_MIXED(long long, unsigned long long, unsigned long long)
KR_MIXED(unsigned long long, long long, unsigned long long)
#undef KR_MIXED
KR_HD float min(float a, float b) { return __builtin_fminf(a, b); }
KR_HD float max(float a, float b) { return __builtin_fmaxf(a, b); }
KR_HD double min(double a, double b) { return __builtin_fmin(a, b); }
KR_HD double max(double a, double b) { return __builtin_fmax(a, b); }
KR_HD double min(float a, double b) { return __builtin_fmin(a, b); }
KR_HD double max(float a, double b) { return __builtin_fmax(a, b); }
KR_HD double min(double a, float b) { return __builtin_fmin(a, b); }
KR_HD double max(double a, float b) { return __builtin_fmax(a, b); }
KR_HD unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
KR_HD unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }

#endif
