// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=outer::kernels::k %t.cu %}

// Namespaces are opened again around what is taken, nested and inline ones too,
// and what is not needed of them stays out.

// CHECK: namespace outer {
// CHECK-NEXT: #line
// CHECK-NEXT: struct Shape
// CHECK: namespace detail {
// CHECK: __device__ float twice
// CHECK: inline namespace v1 {
// CHECK: __device__ float half_of
// CHECK: }
// CHECK: namespace kernels {
// CHECK: __global__ void k
// CHECK-NOT: unused
namespace outer {
struct Shape {
  int n;
};
struct unused_shape {
  int n;
};
namespace detail {
__device__ float twice(float x) { return 2 * x; }
__device__ float unused_thing(float x) { return 3 * x; }
}
inline namespace v1 {
__device__ float half_of(float x) { return 0.5f * x; }
}
}

namespace outer::kernels {
__global__ void k(float *y, Shape s)
{
  if (threadIdx.x < s.n)
    y[threadIdx.x] = detail::twice(half_of(y[threadIdx.x]));
}
}
