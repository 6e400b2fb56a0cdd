#ifndef KR_COOPERATIVE_GROUPS_H
#define KR_COOPERATIVE_GROUPS_H
#include "kr/cuda.h"

// The block and its tiles of a fixed size up to a warp. Grids, clusters and
// coalesced groups are not there.
namespace cooperative_groups {

class thread_block {
public:
  __device__ void sync() const { __syncthreads(); }
  __device__ static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ static unsigned size() { return num_threads(); }
  __device__ static unsigned thread_rank()
  {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  __device__ static dim3 dim_threads() { return group_dim(); }
};

__device__ __inline__ thread_block this_thread_block() { return thread_block(); }
__device__ __inline__ void sync(const thread_block &g) { g.sync(); }

template <unsigned N, class Parent = thread_block> class thread_block_tile {
  static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0,
                "a tile of more than a warp is not there yet on the CPU back end");

  __device__ static unsigned lane() { return thread_block::thread_rank() & 31; }
  __device__ static unsigned mask()
  {
    return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1) << (lane() / N * N);
  }

public:
  __device__ void sync() const { __syncwarp(mask()); }
  __device__ static constexpr unsigned num_threads() { return N; }
  __device__ static constexpr unsigned size() { return N; }
  __device__ static unsigned thread_rank() { return lane() % N; }
  __device__ static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
  __device__ static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
  // What is no number is moved a word at a time, up to the 32 bytes that CUDA allows.
  template <class T, class F> __device__ static T by_words(T v, F move)
  {
    if constexpr (__is_arithmetic(T)) {
      return move(v);
    } else {
      static_assert(__is_trivially_copyable(T) && sizeof(T) <= 32,
                    "a shuffled type is trivially copyable and of at most 32 bytes");
      unsigned words[(sizeof(T) + 3) / 4] = {};
      __builtin_memcpy(words, &v, sizeof v);
      for (unsigned &w : words)
        w = move(w);
      __builtin_memcpy(&v, words, sizeof v);
      return v;
    }
  }
  template <class T> __device__ T shfl(T v, int rank) const
  {
    return by_words(v, [=](auto w) { return __shfl_sync(mask(), w, rank, (int)N); });
  }
  template <class T> __device__ T shfl_up(T v, unsigned delta) const
  {
    return by_words(v, [=](auto w) { return __shfl_up_sync(mask(), w, delta, (int)N); });
  }
  template <class T> __device__ T shfl_down(T v, unsigned delta) const
  {
    return by_words(v, [=](auto w) { return __shfl_down_sync(mask(), w, delta, (int)N); });
  }
  template <class T> __device__ T shfl_xor(T v, unsigned lanes) const
  {
    return by_words(v, [=](auto w) { return __shfl_xor_sync(mask(), w, (int)lanes, (int)N); });
  }
  __device__ int any(int pred) const { return __any_sync(mask(), pred); }
  __device__ int all(int pred) const { return __all_sync(mask(), pred); }
  __device__ unsigned ballot(int pred) const
  {
    return __ballot_sync(mask(), pred) >> (lane() / N * N);
  }
};

template <unsigned N>
__device__ __inline__ thread_block_tile<N> tiled_partition(const thread_block &)
{
  return thread_block_tile<N>();
}
template <unsigned N, unsigned M, class P>
__device__ __inline__ thread_block_tile<N> tiled_partition(const thread_block_tile<M, P> &)
{
  static_assert(N <= M, "a tile cannot be larger than its parent");
  return thread_block_tile<N>();
}
template <unsigned N, class P> __device__ __inline__ void sync(const thread_block_tile<N, P> &g)
{
  g.sync();
}

class grid_group {
public:
  __device__ void sync() const;
  __device__ unsigned long long thread_rank() const;
  __device__ unsigned long long size() const;
};
KR_NOT_YET("grid synchronisation") __device__ grid_group this_grid();
class coalesced_group;
KR_NOT_YET("coalesced_threads()") __device__ coalesced_group coalesced_threads();

} // namespace cooperative_groups

#endif
