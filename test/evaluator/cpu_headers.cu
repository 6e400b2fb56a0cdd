// The headers of the CPU back end in their other use: clang's CUDA mode without
// a toolkit, host code and launches included, in each language standard.
//
// RUN: %clang -x cuda --cuda-device-only -nocudainc -nocudalib -Xclang -target-sdk-version=12.5 --cuda-gpu-arch=sm_90 -isystem %source/evaluator/cpu/include -include %source/evaluator/cpu/include/cuda_runtime.h -std=c++14 -fsyntax-only -Werror -Wno-unknown-cuda-version %s
// RUN: %clang -x cuda --cuda-device-only -nocudainc -nocudalib -Xclang -target-sdk-version=12.5 --cuda-gpu-arch=sm_90 -isystem %source/evaluator/cpu/include -include %source/evaluator/cpu/include/cuda_runtime.h -std=c++17 -fsyntax-only -Werror -Wno-unknown-cuda-version %s
// RUN: %clang -x cuda --cuda-device-only -nocudainc -nocudalib -Xclang -target-sdk-version=12.5 --cuda-gpu-arch=sm_90 -isystem %source/evaluator/cpu/include -include %source/evaluator/cpu/include/cuda_runtime.h -std=c++20 -fsyntax-only -Werror -Wno-unknown-cuda-version %s
//
// And what is not there, told by name.
// RUN: not %clang -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_90 -isystem %source/evaluator/cpu/include -include %source/evaluator/cpu/include/cuda_runtime.h -DHALF -fsyntax-only -Wno-unknown-cuda-version %s 2>&1 | FileCheck %s
// CHECK: error: "cuda_fp16.h is not there yet on the CPU back end"
#ifdef HALF
#include <cuda_fp16.h>
#endif
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <math.h>
#include <string>
#include <type_traits>
#include <vector>

namespace cg = cooperative_groups;

__constant__ float coefficients[4];
__device__ int counter;

template <typename T, int N> __device__ __forceinline__ T sum(const T *x)
{
  T s = 0;
#pragma unroll
  for (int i = 0; i < N; i++)
    s += __ldg(x + i);
  return s;
}

template <typename T> __global__ void __launch_bounds__(256, 2) all(const T *__restrict__ x, T *y, int n)
{
  __shared__ T s[256];
  extern __shared__ __align__(16) unsigned char raw[];
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : T(0);
  __syncthreads();
  T v = s[threadIdx.x] + sum<T, 4>(x) + coefficients[1] + reinterpret_cast<T *>(raw)[0];
  for (int o = warpSize / 2; o > 0; o /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  v = cg::reduce(warp, v, cg::plus<T>());
  v += expf(v) + std::exp(v) + sqrt(v) + pow(v, 2) + pow(v, 2.0) + std::max(v, v) + fmaxf(v, 1.f) +
       __expf(v) + rsqrtf(v) + fabs(v) + abs(-1) + min(1, 2) + std::abs(v) + tanh((double)v);
  float4 q = make_float4(1, 2, 3, 4), r = {1, 2, 3, 4};
  int2 p{1, 2};
  v += q.x + r.w + p.y + CUDART_PI_F + INFINITY + (float)M_PI + __int_as_float(7) + __popc(n) +
       __float2int_rn(v) + isnan(v) + isinf(v) + std::numeric_limits<float>::max();
  static_assert(std::is_same<T, float>::value, "one type is enough here");
  atomicAdd(y, v);
  atomicMax(&counter, n);
  atomicCAS(&counter, 1, 2);
  if (__any_sync(~0u, v > 0) && __ballot_sync(~0u, 1) && __activemask())
    __threadfence();
  dim3 d = blockDim;
  uint3 t = threadIdx;
  if (t.x + d.y == 0)
    printf("%f\n", (double)v);
}

static void check(cudaError_t e)
{
  if (e != cudaSuccess)
    fprintf(stderr, "%s\n", cudaGetErrorString(e));
}

int main()
{
  std::vector<float> host(100);
  float *x = nullptr, *y;
  cudaStream_t stream;
  cudaEvent_t start;
  cudaDeviceProp prop;
  check(cudaGetDeviceProperties(&prop, 0));
  check(cudaStreamCreate(&stream));
  check(cudaEventCreate(&start));
  check(cudaMalloc(&x, host.size() * sizeof(float)));
  check(cudaMalloc((void **)&y, 400));
  check(cudaMemcpy(x, host.data(), 400, cudaMemcpyHostToDevice));
  check(cudaMemcpyToSymbol(coefficients, host.data(), 16));
  check(cudaFuncSetAttribute(all<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  dim3 grid((100 + 255) / 256), block(256);
  all<float><<<grid, block, 1024, stream>>>(x, y, 100);
  all<float><<<1, 256>>>(x, y, 100);
  check(cudaGetLastError());
  check(cudaEventRecord(start, stream));
  check(cudaDeviceSynchronize());
  check(cudaFree(x));
  return std::sqrt(2.0f) > 1 ? 0 : 1;
}
