// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu

// Bytes of a comment that are no ASCII come out as question marks; those of a
// string stay.

// CHECK: float f(float x) // gr??e
// CHECK: return x;
// CHECK: "ä"
__device__ float f(float x) // größe
{
  return x;
}
__device__ const char *text() { return "ä"; }
__global__ void k(float *y) { y[0] = f(text()[0]); }
