// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// CHECK: namespace {
// CHECK: __device__ int helper
// CHECK: __global__ void k
#include <cstdio>
namespace {
void report() { std::printf("x"); }
__device__ int helper(int i) { return i + 1; }
__global__ void k(int *y) { y[0] = helper(y[0]); }
}
// CHECK-NOT: report
