// REQUIRES: nvcc
// RUN: %tool/parse_dump %s | FileCheck %s
// The toolkit's half types are scalars, though they are structs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
// CHECK: param h (half) = __half size=2 align=2 0:f16
// CHECK: param p (const half2 *) = const __half2 * size=8 align=8 0:ptr(const __half2)
// CHECK: param b (__nv_bfloat16 *) = __nv_bfloat16 * size=8 align=8 0:ptr(__nv_bfloat16)
// CHECK: type __half2 size=4 align=4 x@0:f16 y@2:f16
// CHECK: type __nv_bfloat16 size=2 align=2 0:bf16
__global__ void halves(half h, const half2 *p, __nv_bfloat16 *b) {}
