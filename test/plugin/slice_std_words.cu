// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// The words of the standard headers that device code uses: NVRTC has none of them.
// pow of mixed types computes in double, as nvcc does.

// CHECK: #ifndef __CUDACC_RTC__
// CHECK: #include <float.h>
// CHECK: #include <stdint.h>
// CHECK: #endif
// CHECK-NOT: #include <iostream>
// CHECK: #ifdef __CUDACC_RTC__
// CHECK: #define FLT_MAX
// CHECK: typedef unsigned int uint32_t;
// CHECK: #endif
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <algorithm>
#include <iostream>
__global__ void k(float *y, uint32_t n, std::int64_t m)
{
  assert(n < UINT_MAX);
  float best = -FLT_MAX;
  for (std::size_t i = 0; i < n; i++)
    best = std::fmax(best, std::sqrt(y[i]));
  y[0] = best + pow(y[1], 2) + std::pow(y[2], 0.5) + M_PI + INFINITY + (float)m;
  if (std::isnan(y[3]))
    printf("nan %u\n", n);
}
