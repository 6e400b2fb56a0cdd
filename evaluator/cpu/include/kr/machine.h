#ifndef KR_MACHINE_H
#define KR_MACHINE_H

// What a thread asks of the machine it runs on. In run mode the compiler driver
// gives __kr_sregs the place of the running thread's registers, and the others
// are the runtime's.

extern "C" {
#if !KR_PARSE
// Memory, and no function: with -fconvergent-functions a call would hold up
// everything that moves or unrolls loops.
extern const unsigned __kr_sregs[12];
#endif
// op: 0 plain, 1 count, 2 and, 3 or.
__device__ int __kr_sync(int op, int pred) __attribute__((convergent, nothrow));
__device__ void __kr_syncwarp(unsigned mask) __attribute__((convergent, nothrow));
// mode: 0 idx, 1 up, 2 down, 3 xor.
__device__ unsigned long long __kr_shfl(unsigned mask, int mode, unsigned long long value, int arg,
                                        int width) __attribute__((convergent, nothrow));
// op: 0 ballot, 1 any, 2 all.
__device__ unsigned __kr_vote(unsigned mask, int op, int pred)
    __attribute__((convergent, nothrow));
// op: 0 any, 1 all; the mask of equal lanes in the low half, `all are equal` above.
__device__ unsigned long long __kr_match(unsigned mask, int op, unsigned long long value)
    __attribute__((convergent, nothrow));
// op: 0 add, 1 min, 2 max, 3 umin, 4 umax, 5 and, 6 or, 7 xor.
__device__ unsigned __kr_reduce(unsigned mask, int op, unsigned value)
    __attribute__((convergent, nothrow));
__device__ unsigned __kr_activemask(void) __attribute__((convergent, nothrow));
// A thread that may be waiting for another one lets it go on.
__device__ void __kr_spin(void) __attribute__((nothrow));
// why: 0 trap, 1 assertion.
__device__ void __kr_trap(int why) __attribute__((noreturn, nothrow, cold));
}

// tid 0-2, ctaid 3-5, ntid 6-8, nctaid 9-11.
#if KR_PARSE
extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;
extern const __device__ int warpSize;
#else
#define KR_SREG3(name, vector, first)                                                              \
  struct __kr_##name##_t {                                                                         \
    __declspec(property(get = __kr_x)) unsigned x;                                                 \
    __declspec(property(get = __kr_y)) unsigned y;                                                 \
    __declspec(property(get = __kr_z)) unsigned z;                                                 \
    static inline __attribute__((always_inline)) unsigned __kr_x() { return __kr_sregs[first]; }   \
    static inline __attribute__((always_inline)) unsigned __kr_y()                                 \
    {                                                                                              \
      return __kr_sregs[(first) + 1];                                                              \
    }                                                                                              \
    static inline __attribute__((always_inline)) unsigned __kr_z()                                 \
    {                                                                                              \
      return __kr_sregs[(first) + 2];                                                              \
    }                                                                                              \
    inline __attribute__((always_inline)) operator uint3() const                                   \
    {                                                                                              \
      uint3 v;                                                                                     \
      v.x = __kr_x();                                                                              \
      v.y = __kr_y();                                                                              \
      v.z = __kr_z();                                                                              \
      return v;                                                                                    \
    }                                                                                              \
    inline __attribute__((always_inline)) operator dim3() const                                    \
    {                                                                                              \
      return dim3(__kr_x(), __kr_y(), __kr_z());                                                   \
    }                                                                                              \
  };                                                                                               \
  static constexpr __kr_##name##_t name{}
KR_SREG3(threadIdx, uint3, 0);
KR_SREG3(blockIdx, uint3, 3);
KR_SREG3(blockDim, dim3, 6);
KR_SREG3(gridDim, dim3, 9);
#undef KR_SREG3
static constexpr int warpSize = 32;

// How a launch calls a kernel: `a` holds the addresses of its arguments.
template <class T, T... I> struct __kr_ints {};
template <class... A, unsigned... I>
static inline __attribute__((always_inline)) void
__kr_apply(void (*kernel)(A...), void **a, __kr_ints<unsigned, I...>)
{
  kernel(*(__remove_cvref(A) *)a[I]...);
}
template <class... A> static inline __attribute__((always_inline)) void
__kr_launch(void (*kernel)(A...), void **a)
{
  __kr_apply(kernel, a, __make_integer_seq<__kr_ints, unsigned, sizeof...(A)>());
}
#endif

#endif
