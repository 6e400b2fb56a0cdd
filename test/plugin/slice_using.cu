// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Using-declarations, -directives and aliases whose target is in the slice stay.

// CHECK: namespace math {
// CHECK: using math::cube;
// CHECK: using namespace tools;
// CHECK: namespace tl = tools;
// CHECK: __global__ void k
// CHECK-NOT: chrono
#include <chrono>
using namespace std::chrono;
namespace math {
__device__ float cube(float x) { return x * x * x; }
}
namespace tools {
__device__ float one() { return 1.0f; }
__device__ float two() { return 2.0f; }
}
using math::cube;
using namespace tools;
namespace tl = tools;
__global__ void k(float *y) { y[0] = cube(y[0]) + one() + tl::two(); }
