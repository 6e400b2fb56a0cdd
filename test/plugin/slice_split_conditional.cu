// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}
// RUN: not %tool/slice_dump --project=%S %s split 2>&1 | FileCheck --check-prefix=SPLIT %s
// SPLIT: split: a conditional (#if) begins inside it and ends outside, or the reverse

// A declaration that an #if cuts through comes with the branch that was taken. A
// whole conditional inside one stays as it is spelt.

// CHECK: __device__
// CHECK-NOT: #
// CHECK: float cut(float x)
// CHECK-NOT: other
// CHECK: return 2 * x;
// CHECK: __device__ float whole
// CHECK-NEXT: {
// CHECK-NEXT: #ifdef NEVER
#if defined(__CUDACC__)
__device__
#endif
#ifdef NEVER
float cut(float x, int other)
#else
float cut(float x)
#endif
{
  return 2 * x;
}
__device__ float whole(float x)
{
#ifdef NEVER
  return x;
#else
  return -x;
#endif
}
__global__ void k(float *y) { y[0] = cut(whole(y[0])); }

#ifndef NEVER
__global__ void split(float *y)
#else
__global__ void split(int *y)
#endif
{
  y[0] = 1;
}
