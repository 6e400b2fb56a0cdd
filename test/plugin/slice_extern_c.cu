// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// The brace of extern "C" around a kernel, and the form without one.

// CHECK: extern "C" {
// CHECK: __device__ int inner
// CHECK: }
// CHECK: extern "C" __device__ int single
// CHECK: extern "C" __global__ void k(
extern "C" {
__device__ int inner(int x) { return x; }
int host_inner(int);
}
extern "C" __device__ int single(int x) { return inner(x); }
extern "C" __global__ void k(int *y) { y[0] = single(y[0]); }
// CHECK-NOT: host_inner
