#ifndef KR_TYPES_H
#define KR_TYPES_H

// CUDA's vector types.
//
// In run mode those of 8 and 16 bytes are moved as one access of that width, as
// the GPU does it, so that a misaligned 16-byte access traps here too. That
// takes a copy constructor of their own: they are no aggregates, and a union
// that holds one can be used member by member but not copied whole.

#if KR_PARSE
#define KR_VEC1(T, N)                                                                              \
  struct N##1 {                                                                                    \
    T x;                                                                                           \
  };
#define KR_VEC2(T, N, A, M)                                                                        \
  struct __attribute__((aligned(A))) N##2 {                                                        \
    T x, y;                                                                                        \
  };
#define KR_VEC3(T, N)                                                                              \
  struct N##3 {                                                                                    \
    T x, y, z;                                                                                     \
  };
#define KR_VEC4(T, N, A, M)                                                                        \
  struct __attribute__((aligned(A))) N##4 {                                                        \
    T x, y, z, w;                                                                                  \
  };
#else
typedef unsigned __kr_m8 __attribute__((ext_vector_type(2)));
typedef unsigned __kr_m16 __attribute__((ext_vector_type(4)));
typedef unsigned short __kr_m2;
typedef unsigned __kr_m4;
typedef __kr_m8 __attribute__((may_alias)) __kr_a8;
typedef __kr_m16 __attribute__((may_alias)) __kr_a16;
typedef __kr_m2 __attribute__((may_alias)) __kr_a2;
typedef __kr_m4 __attribute__((may_alias)) __kr_a4;
#define KR_I inline __attribute__((always_inline))
#define KR_VEC1(T, N)                                                                              \
  struct N##1 {                                                                                    \
    T x;                                                                                           \
  };
#define KR_VEC2(T, N, A, M)                                                                        \
  struct alignas(A) N##2 {                                                                         \
    T x, y;                                                                                        \
    N##2() = default;                                                                              \
    KR_I constexpr explicit N##2(T a) : x(a), y(0) {}                                              \
    KR_I constexpr N##2(T a, T b) : x(a), y(b) {}                                                  \
    KR_I constexpr N##2(const N##2 & o) : x(), y()                                                 \
    {                                                                                              \
      if (__builtin_is_constant_evaluated())                                                       \
        x = o.x, y = o.y;                                                                          \
      else                                                                                         \
        *(M *)this = *(const M *)&o;                                                               \
    }                                                                                              \
    KR_I constexpr N##2 &operator=(const N##2 & o)                                                 \
    {                                                                                              \
      if (__builtin_is_constant_evaluated())                                                       \
        x = o.x, y = o.y;                                                                          \
      else                                                                                         \
        *(M *)this = *(const M *)&o;                                                               \
      return *this;                                                                                \
    }                                                                                              \
  };
#define KR_VEC3(T, N)                                                                              \
  struct N##3 {                                                                                    \
    T x, y, z;                                                                                     \
  };
#define KR_VEC4(T, N, A, M)                                                                        \
  struct alignas(A) N##4 {                                                                         \
    T x, y, z, w;                                                                                  \
    N##4() = default;                                                                              \
    KR_I constexpr explicit N##4(T a) : x(a), y(0), z(0), w(0) {}                                  \
    KR_I constexpr N##4(T a, T b) : x(a), y(b), z(0), w(0) {}                                      \
    KR_I constexpr N##4(T a, T b, T c) : x(a), y(b), z(c), w(0) {}                                 \
    KR_I constexpr N##4(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}                            \
    KR_I constexpr N##4(const N##4 & o) : x(), y(), z(), w()                                       \
    {                                                                                              \
      if (__builtin_is_constant_evaluated())                                                       \
        x = o.x, y = o.y, z = o.z, w = o.w;                                                        \
      else                                                                                         \
        *(M *)this = *(const M *)&o;                                                               \
    }                                                                                              \
    KR_I constexpr N##4 &operator=(const N##4 & o)                                                 \
    {                                                                                              \
      if (__builtin_is_constant_evaluated())                                                       \
        x = o.x, y = o.y, z = o.z, w = o.w;                                                        \
      else                                                                                         \
        *(M *)this = *(const M *)&o;                                                               \
      return *this;                                                                                \
    }                                                                                              \
  };
#endif

#define KR_VECS(T, N, A2, M2, A4, M4)                                                              \
  KR_VEC1(T, N) KR_VEC2(T, N, A2, M2) KR_VEC3(T, N) KR_VEC4(T, N, A4, M4)

KR_VECS(signed char, char, 2, __kr_a2, 4, __kr_a4)
KR_VECS(unsigned char, uchar, 2, __kr_a2, 4, __kr_a4)
KR_VECS(short, short, 4, __kr_a4, 8, __kr_a8)
KR_VECS(unsigned short, ushort, 4, __kr_a4, 8, __kr_a8)
KR_VECS(int, int, 8, __kr_a8, 16, __kr_a16)
KR_VECS(unsigned int, uint, 8, __kr_a8, 16, __kr_a16)
KR_VECS(float, float, 8, __kr_a8, 16, __kr_a16)
KR_VEC1(long, long)
KR_VEC2(long, long, 16, __kr_a16)
KR_VEC3(long, long)
KR_VEC1(unsigned long, ulong)
KR_VEC2(unsigned long, ulong, 16, __kr_a16)
KR_VEC3(unsigned long, ulong)
KR_VEC1(long long, longlong)
KR_VEC2(long long, longlong, 16, __kr_a16)
KR_VEC3(long long, longlong)
KR_VEC1(unsigned long long, ulonglong)
KR_VEC2(unsigned long long, ulonglong, 16, __kr_a16)
KR_VEC3(unsigned long long, ulonglong)
KR_VEC1(double, double)
KR_VEC2(double, double, 16, __kr_a16)
KR_VEC3(double, double)

// 32 bytes are two accesses on every GPU.
#define KR_WIDE4(T, N)                                                                             \
  struct __attribute__((aligned(16))) N##4 {                                                       \
    T x, y, z, w;                                                                                  \
  };
KR_WIDE4(long, long)
KR_WIDE4(unsigned long, ulong)
KR_WIDE4(long long, longlong)
KR_WIDE4(unsigned long long, ulonglong)
KR_WIDE4(double, double)
#undef KR_WIDE4
#undef KR_VECS
#undef KR_VEC1
#undef KR_VEC2
#undef KR_VEC3
#undef KR_VEC4
#if !KR_PARSE
#undef KR_I
#endif

#define KR_MAKE(T, N)                                                                              \
  KR_HD N##1 make_##N##1(T x)                                                                      \
  {                                                                                                \
    N##1 v;                                                                                        \
    v.x = x;                                                                                       \
    return v;                                                                                      \
  }                                                                                                \
  KR_HD N##2 make_##N##2(T x, T y)                                                                 \
  {                                                                                                \
    N##2 v;                                                                                        \
    v.x = x;                                                                                       \
    v.y = y;                                                                                       \
    return v;                                                                                      \
  }                                                                                                \
  KR_HD N##3 make_##N##3(T x, T y, T z)                                                            \
  {                                                                                                \
    N##3 v;                                                                                        \
    v.x = x;                                                                                       \
    v.y = y;                                                                                       \
    v.z = z;                                                                                       \
    return v;                                                                                      \
  }                                                                                                \
  KR_HD N##4 make_##N##4(T x, T y, T z, T w)                                                       \
  {                                                                                                \
    N##4 v;                                                                                        \
    v.x = x;                                                                                       \
    v.y = y;                                                                                       \
    v.z = z;                                                                                       \
    v.w = w;                                                                                       \
    return v;                                                                                      \
  }
KR_MAKE(signed char, char)
KR_MAKE(unsigned char, uchar)
KR_MAKE(short, short)
KR_MAKE(unsigned short, ushort)
KR_MAKE(int, int)
KR_MAKE(unsigned int, uint)
KR_MAKE(long, long)
KR_MAKE(unsigned long, ulong)
KR_MAKE(long long, longlong)
KR_MAKE(unsigned long long, ulonglong)
KR_MAKE(float, float)
KR_MAKE(double, double)
#undef KR_MAKE

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
      : x(a), y(b), z(c)
  {
  }
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};

#if !KR_PARSE
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#endif

#endif
