// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// A macro that pastes tokens may name any other: all of the user's come along.

// CHECK: #define SIZE_small 4
// CHECK: #define SIZE_large 8
// CHECK: #define SIZE(which) SIZE_##which
// CHECK: DEFINE_GET(two, 2)
// CHECK: __global__ void k
#define SIZE_small 4
#define SIZE_large 8
#define SIZE(which) SIZE_##which
#define DEFINE_GET(name, value) __device__ int get_##name(int x) { return x + value; }
DEFINE_GET(one, 1)
DEFINE_GET(two, 2)
__global__ void k(int *y) { y[0] = get_two(SIZE(small)); }
