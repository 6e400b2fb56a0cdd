// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k -- -include %S/Inputs/pre.h > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// A file that a flag includes is a file like others: what is needed of it is in the
// slice, which is then compiled without that flag.

// CHECK: #line 1 "Inputs/pre.h"
// CHECK-NEXT: #define PRE_SCALE 4
// CHECK-NEXT: static __device__ int pre_scaled
// CHECK-NOT: pre_unused
// CHECK: #line {{.*}} "slice_included_by_flag.cu"
// CHECK: k(int *y)
__global__ void k(int *y) { y[0] = pre_scaled(y[0]); }
