// RUN: %tool/parse_dump --slices %s > %t.all && FileCheck %s < %t.all
// RUN: %tool/parse_dump --slices --no-slices %s > %t.none && FileCheck %s --check-prefix=NONE < %t.none
// RUN: not grep 'device float twice' %t.none
// A slice costs a parse of its own, so only those asked for are made; the kernel
// is told all the same.
__device__ float twice(float v) { return 2 * v; }
__global__ void k(float *x) { x[0] = twice(x[1]); }
// CHECK: kernel k(float *)
// CHECK: __device__ float twice(float v)
// NONE: kernel k(float *)
