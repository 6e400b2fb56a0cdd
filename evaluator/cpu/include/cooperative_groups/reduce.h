#ifndef KR_COOPERATIVE_GROUPS_REDUCE_H
#define KR_COOPERATIVE_GROUPS_REDUCE_H
#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T = void> struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T = void> struct less {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void> struct greater {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void> struct bit_and {
  __device__ T operator()(T a, T b) const { return a & b; }
};
template <class T = void> struct bit_or {
  __device__ T operator()(T a, T b) const { return a | b; }
};
template <class T = void> struct bit_xor {
  __device__ T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned N, class P, class T, class Op>
__device__ __inline__ T reduce(const thread_block_tile<N, P> &g, T v, Op op)
{
  for (unsigned n = N / 2; n > 0; n /= 2)
    v = op(v, g.shfl_xor(v, n));
  return v;
}

} // namespace cooperative_groups

#endif
