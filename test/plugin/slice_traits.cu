// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu -- -std=c++17 -I%cuda/include -I%cuda/include/cccl %}

// Type traits and limits are libcu++'s under NVRTC, lifted into std by name.

// CHECK: #include <limits>
// CHECK: #include <type_traits>
// CHECK: #ifdef __CUDACC_RTC__
// CHECK: using cuda::std::enable_if_t;
// CHECK: using cuda::std::is_default_constructible;
// CHECK: using cuda::std::numeric_limits;
#include <limits>
#include <type_traits>
#include <vector>
template <typename T>
__device__ std::enable_if_t<std::is_default_constructible<T>::value, T> made() { return T(); }
__global__ void k(float *y)
{
  static_assert(std::is_same<float, decltype(made<float>())>::value, "");
  y[0] = made<float>() + std::numeric_limits<float>::max();
}
