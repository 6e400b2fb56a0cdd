// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// A device function that is declared before the kernel and defined after it.

// CHECK: __device__ float late(float x, float y = 2.0f);
// CHECK: __global__ void k
// CHECK: #line [[#@LINE+4]]
// CHECK-NEXT: __device__ float late(float x, float y)
__device__ float late(float x, float y = 2.0f);
__global__ void k(float *y) { y[0] = late(y[0]); }
__device__ float late(float x, float y) { return (x + 1) * y; }
