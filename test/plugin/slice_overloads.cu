// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Of an overload set what the calls take; of one that a template names, all.

// CHECK: __device__ float pick(float x)
// CHECK-NOT: int pick
// CHECK: __device__ int some(int x)
// CHECK: __device__ float some(float x)
// CHECK: template <typename T>
// CHECK: some(x)
__device__ int pick(int x) { return x; }
__device__ float pick(float x) { return x; }
__device__ int some(int x) { return x + 1; }
__device__ float some(float x) { return x + 2; }
void some(const char *);
template <typename T> __device__ T both(T x) { return some(x); }
template <> __device__ double both<double>(double x) { return 2 * x; }
__global__ void k(float *y) { y[0] = pick(y[0]) + both(y[1]) + both(1.0); }
