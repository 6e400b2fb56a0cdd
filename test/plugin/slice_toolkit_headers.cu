// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu -- -I%cuda/include %}

// A toolkit header is included when something of it is used, and only then: for
// types, for macros; one that came through a host header too.

// CHECK-DAG: #include <cuda_fp16.h>
// CHECK-DAG: #include <math_constants.h>
// CHECK-NOT: include <cooperative_groups
// CHECK-NOT: include <cublas
// CHECK-NOT: include <cuda_bf16
#include <cooperative_groups.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <math_constants.h>
namespace cg = cooperative_groups;
__global__ void k(__half *y) { y[0] = __float2half(__half2float(y[1]) * CUDART_PI_F); }
