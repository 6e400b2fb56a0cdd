#ifndef KR_DEVICE_H
#define KR_DEVICE_H

// Intrinsics: barriers, warps, atomics, loads, conversions, bits.

// --- barriers and fences ---

#if !KR_PARSE // clang knows it there
KR_FN void __syncthreads() { (void)__kr_sync(0, 0); }
#endif
KR_FN int __syncthreads_count(int pred) { return __kr_sync(1, pred); }
KR_FN int __syncthreads_and(int pred) { return __kr_sync(2, pred); }
KR_FN int __syncthreads_or(int pred) { return __kr_sync(3, pred); }
KR_FN void __syncwarp(unsigned mask = 0xffffffffu) { __kr_syncwarp(mask); }
KR_FN void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KR_FN void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KR_FN void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KR_FN void __nanosleep(unsigned) { __kr_spin(); }
KR_FN void __trap() { __kr_trap(0); }

// --- warps ---

KR_FN unsigned __activemask() { return __kr_activemask(); }
KR_FN unsigned __ballot_sync(unsigned mask, int pred) { return __kr_vote(mask, 0, pred); }
KR_FN int __any_sync(unsigned mask, int pred) { return (int)__kr_vote(mask, 1, pred); }
KR_FN int __all_sync(unsigned mask, int pred) { return (int)__kr_vote(mask, 2, pred); }

#define KR_SHFL(T, U)                                                                              \
  KR_FN T __kr_shfl_any(unsigned mask, int mode, T v, int arg, int width)                          \
  {                                                                                                \
    U bits;                                                                                        \
    __builtin_memcpy(&bits, &v, sizeof v);                                                         \
    bits = (U)__kr_shfl(mask, mode, bits, arg, width);                                             \
    __builtin_memcpy(&v, &bits, sizeof v);                                                         \
    return v;                                                                                      \
  }                                                                                                \
  KR_FN T __shfl_sync(unsigned mask, T v, int lane, int width = 32)                                \
  {                                                                                                \
    return __kr_shfl_any(mask, 0, v, lane, width);                                                 \
  }                                                                                                \
  KR_FN T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32)                       \
  {                                                                                                \
    return __kr_shfl_any(mask, 1, v, (int)delta, width);                                           \
  }                                                                                                \
  KR_FN T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32)                     \
  {                                                                                                \
    return __kr_shfl_any(mask, 2, v, (int)delta, width);                                           \
  }                                                                                                \
  KR_FN T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32)                           \
  {                                                                                                \
    return __kr_shfl_any(mask, 3, v, lanes, width);                                                \
  }
KR_SHFL(int, unsigned)
KR_SHFL(unsigned, unsigned)
KR_SHFL(long, unsigned long)
KR_SHFL(unsigned long, unsigned long)
KR_SHFL(long long, unsigned long long)
KR_SHFL(unsigned long long, unsigned long long)
KR_SHFL(float, unsigned)
KR_SHFL(double, unsigned long long)
#undef KR_SHFL

#define KR_MATCH(T, U)                                                                             \
  KR_FN unsigned __match_any_sync(unsigned mask, T v)                                              \
  {                                                                                                \
    U bits;                                                                                        \
    __builtin_memcpy(&bits, &v, sizeof v);                                                         \
    return (unsigned)__kr_match(mask, 0, bits);                                                    \
  }                                                                                                \
  KR_FN unsigned __match_all_sync(unsigned mask, T v, int *pred)                                   \
  {                                                                                                \
    U bits;                                                                                        \
    __builtin_memcpy(&bits, &v, sizeof v);                                                         \
    unsigned long long r = __kr_match(mask, 1, bits);                                              \
    *pred = (int)(r >> 32);                                                                        \
    return (unsigned)r;                                                                            \
  }
KR_MATCH(int, unsigned)
KR_MATCH(unsigned, unsigned)
KR_MATCH(long, unsigned long)
KR_MATCH(unsigned long, unsigned long)
KR_MATCH(long long, unsigned long long)
KR_MATCH(unsigned long long, unsigned long long)
KR_MATCH(float, unsigned)
KR_MATCH(double, unsigned long long)
#undef KR_MATCH

KR_FN int __reduce_add_sync(unsigned m, int v) { return (int)__kr_reduce(m, 0, (unsigned)v); }
KR_FN unsigned __reduce_add_sync(unsigned m, unsigned v) { return __kr_reduce(m, 0, v); }
KR_FN int __reduce_min_sync(unsigned m, int v) { return (int)__kr_reduce(m, 1, (unsigned)v); }
KR_FN int __reduce_max_sync(unsigned m, int v) { return (int)__kr_reduce(m, 2, (unsigned)v); }
KR_FN unsigned __reduce_min_sync(unsigned m, unsigned v) { return __kr_reduce(m, 3, v); }
KR_FN unsigned __reduce_max_sync(unsigned m, unsigned v) { return __kr_reduce(m, 4, v); }
KR_FN unsigned __reduce_and_sync(unsigned m, unsigned v) { return __kr_reduce(m, 5, v); }
KR_FN unsigned __reduce_or_sync(unsigned m, unsigned v) { return __kr_reduce(m, 6, v); }
KR_FN unsigned __reduce_xor_sync(unsigned m, unsigned v) { return __kr_reduce(m, 7, v); }

// --- atomics ---
//
// Real atomic instructions, so that no optimiser merges or drops them. One that
// may be part of a lock (exchange, compare and swap) lets other threads run.

#define KR_RMW(name, op, T)                                                                        \
  KR_FN T name(T *p, T v) { return __atomic_fetch_##op(p, v, __ATOMIC_RELAXED); }                  \
  KR_FN T name##_block(T *p, T v) { return name(p, v); }                                           \
  KR_FN T name##_system(T *p, T v) { return name(p, v); }
KR_RMW(atomicAdd, add, int)
KR_RMW(atomicAdd, add, unsigned)
KR_RMW(atomicAdd, add, unsigned long)
KR_RMW(atomicAdd, add, unsigned long long)
KR_RMW(atomicAdd, add, float)
KR_RMW(atomicAdd, add, double)
KR_RMW(atomicSub, sub, int)
KR_RMW(atomicSub, sub, unsigned)
#define KR_RMWS(name, op)                                                                          \
  KR_RMW(name, op, int)                                                                            \
  KR_RMW(name, op, unsigned)                                                                       \
  KR_RMW(name, op, long long)                                                                      \
  KR_RMW(name, op, unsigned long)                                                                  \
  KR_RMW(name, op, unsigned long long)
KR_RMWS(atomicMin, min)
KR_RMWS(atomicMax, max)
KR_RMWS(atomicAnd, and)
KR_RMWS(atomicOr, or)
KR_RMWS(atomicXor, xor)
#undef KR_RMWS
#undef KR_RMW

#define KR_SWAP(T, U)                                                                              \
  KR_FN T atomicExch(T *p, T v)                                                                    \
  {                                                                                                \
    U bits;                                                                                        \
    __builtin_memcpy(&bits, &v, sizeof v);                                                         \
    __kr_spin();                                                                                   \
    bits = __atomic_exchange_n((U *)p, bits, __ATOMIC_RELAXED);                                    \
    __builtin_memcpy(&v, &bits, sizeof v);                                                         \
    return v;                                                                                      \
  }                                                                                                \
  KR_FN T atomicExch_block(T *p, T v) { return atomicExch(p, v); }                                 \
  KR_FN T atomicExch_system(T *p, T v) { return atomicExch(p, v); }
KR_SWAP(int, int)
KR_SWAP(unsigned, unsigned)
KR_SWAP(unsigned long, unsigned long)
KR_SWAP(unsigned long long, unsigned long long)
KR_SWAP(float, unsigned)
#undef KR_SWAP

#define KR_CAS(T)                                                                                  \
  KR_FN T atomicCAS(T *p, T expected, T v)                                                         \
  {                                                                                                \
    if (!__atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))  \
      __kr_spin();                                                                                 \
    return expected;                                                                               \
  }                                                                                                \
  KR_FN T atomicCAS_block(T *p, T expected, T v) { return atomicCAS(p, expected, v); }             \
  KR_FN T atomicCAS_system(T *p, T expected, T v) { return atomicCAS(p, expected, v); }
KR_CAS(int)
KR_CAS(unsigned)
KR_CAS(unsigned short)
KR_CAS(unsigned long)
KR_CAS(unsigned long long)
#undef KR_CAS

KR_FN unsigned atomicInc(unsigned *p, unsigned limit)
{
  unsigned old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, old >= limit ? 0 : old + 1, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
    ;
  return old;
}
KR_FN unsigned atomicDec(unsigned *p, unsigned limit)
{
  unsigned old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, old == 0 || old > limit ? limit : old - 1, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  return old;
}

// --- loads and stores with a cache hint: plain ones ---

// Nothing writes meanwhile what it reads.
template <class T> KR_FN T __ldg(const T *__restrict__ p) { return *p; }
#define KR_LOAD(name)                                                                              \
  template <class T> KR_FN T name(const T *p) { return *p; }
KR_LOAD(__ldca)
KR_LOAD(__ldcg)
KR_LOAD(__ldcs)
KR_LOAD(__ldlu)
KR_LOAD(__ldcv)
#undef KR_LOAD
template <class T> struct __kr_same {
  typedef T type;
};
#define KR_STORE(name)                                                                             \
  template <class T> KR_FN void name(T *p, typename __kr_same<T>::type v) { *p = v; }
KR_STORE(__stwb)
KR_STORE(__stcg)
KR_STORE(__stcs)
KR_STORE(__stwt)
#undef KR_STORE

// --- arithmetic with the rounding spelt out: never contracted ---

#if KR_PARSE
#define KR_EXACT
#else
#define KR_EXACT _Pragma("clang fp contract(off)")
#endif
#define KR_RN(name, T, params, expr)                                                               \
  KR_FN T name params                                                                              \
  {                                                                                                \
    KR_EXACT                                                                                       \
    return expr;                                                                                   \
  }
KR_RN(__fadd_rn, float, (float a, float b), a + b)
KR_RN(__fsub_rn, float, (float a, float b), a - b)
KR_RN(__fmul_rn, float, (float a, float b), a * b)
KR_RN(__fdiv_rn, float, (float a, float b), a / b)
KR_RN(__frcp_rn, float, (float a), 1.0f / a)
KR_RN(__fsqrt_rn, float, (float a), __builtin_sqrtf(a))
KR_RN(__frsqrt_rn, float, (float a), (float)(1.0 / __builtin_sqrt((double)a)))
KR_RN(__fmaf_rn, float, (float a, float b, float c), __builtin_fmaf(a, b, c))
KR_RN(__dadd_rn, double, (double a, double b), a + b)
KR_RN(__dsub_rn, double, (double a, double b), a - b)
KR_RN(__dmul_rn, double, (double a, double b), a * b)
KR_RN(__ddiv_rn, double, (double a, double b), a / b)
KR_RN(__drcp_rn, double, (double a), 1.0 / a)
KR_RN(__dsqrt_rn, double, (double a), __builtin_sqrt(a))
KR_RN(__fma_rn, double, (double a, double b, double c), __builtin_fma(a, b, c))
#undef KR_RN

#define KR_ROUND(op, params, T)                                                                    \
  KR_NOT_YET("directed rounding") __device__ T __##op##_ru params;                                 \
  KR_NOT_YET("directed rounding") __device__ T __##op##_rd params;                                 \
  KR_NOT_YET("directed rounding") __device__ T __##op##_rz params;
#if !KR_PARSE
KR_ROUND(fadd, (float, float), float)
KR_ROUND(fsub, (float, float), float)
KR_ROUND(fmul, (float, float), float)
KR_ROUND(fdiv, (float, float), float)
KR_ROUND(frcp, (float), float)
KR_ROUND(fsqrt, (float), float)
KR_ROUND(fmaf, (float, float, float), float)
KR_ROUND(dadd, (double, double), double)
KR_ROUND(dmul, (double, double), double)
#else
#undef KR_NOT_YET
#define KR_NOT_YET(what)
KR_ROUND(fadd, (float, float), float)
KR_ROUND(fsub, (float, float), float)
KR_ROUND(fmul, (float, float), float)
KR_ROUND(fdiv, (float, float), float)
KR_ROUND(frcp, (float), float)
KR_ROUND(fsqrt, (float), float)
KR_ROUND(fmaf, (float, float, float), float)
KR_ROUND(dadd, (double, double), double)
KR_ROUND(dmul, (double, double), double)
#endif
#undef KR_ROUND

// --- fast versions: computed exactly here ---
//
// glibc declares functions of its own under some of these names, so in parse
// mode they are overloads for the device.

KR_FN float __expf(float x) { KR_FAST return expf(x); }
KR_FN float __exp10f(float x) { KR_FAST return exp10f(x); }
KR_FN float __logf(float x) { KR_FAST return logf(x); }
KR_FN float __log2f(float x) { KR_FAST return log2f(x); }
KR_FN float __log10f(float x) { KR_FAST return log10f(x); }
KR_FN float __sinf(float x) { KR_FAST return sinf(x); }
KR_FN float __cosf(float x) { KR_FAST return cosf(x); }
KR_FN float __tanf(float x) { KR_FAST return tanf(x); }
KR_FN float __tanhf(float x) { KR_FAST return tanhf(x); }
KR_FN float __powf(float x, float y) { KR_FAST return powf(x, y); }
KR_FN float __fdividef(float x, float y) { KR_FAST return x / y; }
KR_FN float fdividef(float x, float y) { KR_FAST return x / y; }
KR_FN float __saturatef(float x) { return x >= 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
KR_FN void __sincosf(float x, float *s, float *c)
{
  KR_FAST
  *s = sinf(x);
  *c = cosf(x);
}

// --- conversions ---
//
// A cast saturates and turns NaN into 0 (-fno-strict-float-cast-overflow), as
// on the GPU.

#define KR_CVT(from, F, to, T, suffix)                                                             \
  KR_FN T __##from##2##to##_rn(F x) { return (T)__builtin_rint##suffix(x); }                       \
  KR_FN T __##from##2##to##_rz(F x) { return (T)x; }                                               \
  KR_FN T __##from##2##to##_ru(F x) { return (T)__builtin_ceil##suffix(x); }                       \
  KR_FN T __##from##2##to##_rd(F x) { return (T)__builtin_floor##suffix(x); }
KR_CVT(float, float, int, int, f)
KR_CVT(float, float, uint, unsigned, f)
KR_CVT(float, float, ll, long long, f)
KR_CVT(float, float, ull, unsigned long long, f)
KR_CVT(double, double, int, int, )
KR_CVT(double, double, uint, unsigned, )
KR_CVT(double, double, ll, long long, )
KR_CVT(double, double, ull, unsigned long long, )
#undef KR_CVT
KR_FN float __int2float_rn(int x) { return (float)x; }
KR_FN float __uint2float_rn(unsigned x) { return (float)x; }
KR_FN float __ll2float_rn(long long x) { return (float)x; }
KR_FN float __ull2float_rn(unsigned long long x) { return (float)x; }
KR_FN double __int2double_rn(int x) { return x; }
KR_FN double __uint2double_rn(unsigned x) { return x; }
KR_FN double __ll2double_rn(long long x) { return (double)x; }
KR_FN double __ull2double_rn(unsigned long long x) { return (double)x; }
KR_FN float __double2float_rn(double x) { return (float)x; }

#define KR_BITS(name, F, T)                                                                        \
  KR_FN T name(F x)                                                                                \
  {                                                                                                \
    T r;                                                                                           \
    __builtin_memcpy(&r, &x, sizeof r);                                                            \
    return r;                                                                                      \
  }
KR_BITS(__float_as_int, float, int)
KR_BITS(__float_as_uint, float, unsigned)
KR_BITS(__int_as_float, int, float)
KR_BITS(__uint_as_float, unsigned, float)
KR_BITS(__double_as_longlong, double, long long)
KR_BITS(__longlong_as_double, long long, double)
#undef KR_BITS
KR_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
KR_FN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
KR_FN double __hiloint2double(int hi, int lo)
{
  return __longlong_as_double(((long long)hi << 32) | (unsigned)lo);
}

// --- bits and integers ---

KR_FN int __popc(unsigned x) { return __builtin_popcount(x); }
KR_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KR_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
KR_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
KR_FN int __ffs(int x) { return __builtin_ffs(x); }
KR_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
KR_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
KR_FN unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
KR_FN int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
KR_FN unsigned __umulhi(unsigned a, unsigned b)
{
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
KR_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
  unsigned long long al = (unsigned)a, ah = a >> 32, bl = (unsigned)b, bh = b >> 32;
  unsigned long long mid = ah * bl + ((al * bl) >> 32);
  unsigned long long low = al * bh + (unsigned)mid;
  return ah * bh + (mid >> 32) + (low >> 32);
}
KR_FN long long __mul64hi(long long a, long long b)
{
  unsigned long long h = __umul64hi((unsigned long long)a, (unsigned long long)b);
  return (long long)(h - (a < 0 ? (unsigned long long)b : 0) - (b < 0 ? (unsigned long long)a : 0));
}
KR_FN int __mul24(int a, int b)
{
  return (int)((unsigned)((int)((unsigned)a << 8) >> 8) * (unsigned)((int)((unsigned)b << 8) >> 8));
}
KR_FN unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
KR_FN unsigned __sad(int a, int b, unsigned c)
{
  return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + c;
}
KR_FN unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
KR_FN int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
KR_FN int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
KR_FN unsigned __uhadd(unsigned a, unsigned b)
{
  return (unsigned)(((unsigned long long)a + b) >> 1);
}
KR_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
  unsigned long long v = ((unsigned long long)b << 32) | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned k = (s >> (4 * i)) & 15;
    unsigned byte = (unsigned)(v >> (8 * (k & 7))) & 0xff;
    if (k & 8)
      byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * i);
  }
  return r;
}
KR_FN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n)
{
  return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
KR_FN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n)
{
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
KR_FN unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n)
{
  return (unsigned)((((unsigned long long)hi << 32 | lo) << (n < 32 ? n : 32)) >> 32);
}
KR_FN unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n)
{
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n < 32 ? n : 32));
}
KR_FN int __dp4a(int a, int b, int c)
{
  unsigned r = (unsigned)c;
  for (int i = 0; i < 4; i++)
    r += (unsigned)((int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i)));
  return (int)r;
}
KR_FN unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
  for (int i = 0; i < 4; i++)
    c += ((a >> (8 * i)) & 0xff) * ((b >> (8 * i)) & 0xff);
  return c;
}

// --- what is not there ---

#if KR_PARSE
__device__ long long clock64();
__device__ int clock();
extern "C" {
__device__ int printf(const char *, ...);
__device__ void *malloc(size_t) noexcept;
__device__ void free(void *) noexcept;
}
#else
typedef long clock_t;
KR_NOT_YET("clock") long long clock64();
KR_NOT_YET("clock") clock_t clock();
KR_NOT_YET("printf") int printf(const char *, ...);
KR_NOT_YET("the device heap") void *malloc(size_t);
KR_NOT_YET("the device heap") void free(void *);
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
template <class T> KR_NOT_YET("textures") T tex1D(cudaTextureObject_t, float);
template <class T> KR_NOT_YET("textures") T tex1Dfetch(cudaTextureObject_t, int);
template <class T> KR_NOT_YET("textures") T tex2D(cudaTextureObject_t, float, float);
template <class T> KR_NOT_YET("textures") T tex3D(cudaTextureObject_t, float, float, float);
KR_NOT_YET("dynamic parallelism") int cudaDeviceSynchronize();
#ifdef NDEBUG
#define assert(x) ((void)0)
#else
#define assert(x) ((x) ? (void)0 : __kr_trap(1))
#endif
static inline void *memcpy(void *d, const void *s, size_t n) { return __builtin_memcpy(d, s, n); }
static inline void *memset(void *d, int c, size_t n) { return __builtin_memset(d, c, n); }
#endif

#endif
