// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Declarations come from local headers in the order in which they were read, and
// the headers are told as dependencies, sorted, with those that only lend a macro.

// RUN: %tool/slice_dump --project=%S --deps %s k | FileCheck --check-prefix=DEPS %s
// DEPS: Inputs/chain_a.cuh
// DEPS-NEXT: Inputs/chain_b.cuh
// DEPS-NEXT: Inputs/chain_c.h
// DEPS-NOT: chain_unused

// CHECK: #define CHAIN_SCALE 3
// CHECK: #line {{[0-9]+}} "Inputs/chain_b.cuh"
// CHECK: __device__ inline int chain_low
// CHECK: #line {{[0-9]+}} "Inputs/chain_a.cuh"
// CHECK: __device__ inline int chain_high
// CHECK: #line {{[0-9]+}} "slice_header_chain.cu"
// CHECK: __global__ void k
// CHECK-NOT: chain_host
#include "Inputs/chain_a.cuh"
#include "Inputs/chain_unused.h"
__global__ void k(int *y) { y[0] = chain_high(y[0]); }
