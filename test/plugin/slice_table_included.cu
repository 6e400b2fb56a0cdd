// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}
// RUN: %tool/slice_dump --project=%S --deps %s k | FileCheck --check-prefix=DEPS %s
// DEPS: Inputs/table.inc

// A file that is included inside a declaration stands in the slice itself, since
// the slice is compiled where that file is not; its macros come with it.

// CHECK: #define TABLE_LAST 3.0f
// CHECK: __constant__ float table[] = {
// CHECK: #line 1 "Inputs/table.inc"
// CHECK-NEXT: 1.0f,
// CHECK-NEXT: 2.0f, TABLE_LAST
// CHECK: #line [[#@LINE+6]] "slice_table_included.cu"
// CHECK-NEXT: };
#define TABLE_LAST 3.0f
#define UNUSED 1
__constant__ float table[] = {
#include "Inputs/table.inc"
};
__global__ void k(float *y) { y[0] = table[threadIdx.x]; }
