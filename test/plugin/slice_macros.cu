// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Macros come by the tokens of what was taken: in the head, in the body, through
// other macros, redefined and undefined. A branch that was not taken gives none.

// CHECK-NOT: UNUSED
// CHECK: #define KERNEL
// CHECK: #define THREADS 64
// CHECK: #define HALF(x) ((x) / TWO)
// CHECK: #define TWO 2
// CHECK: #define STEP 1
// CHECK: __device__ int first
// CHECK: #undef STEP
// CHECK: #define STEP 5
// CHECK: KERNEL(THREADS)
// CHECK-NEXT: k(
#define KERNEL(n) static __global__ void __launch_bounds__(n)
#define THREADS 64
#define HALF(x) ((x) / TWO)
#define TWO 2
#define UNUSED 1
#if 0
#define TWO 3
#define UNUSED_TOO 2
#endif
#define STEP 1
__device__ int first(int x) { return x + STEP; }
#undef STEP
#define STEP 5
KERNEL(THREADS)
k(int *y) { y[0] = first(y[0]) + STEP + HALF(y[1]); }
#define UNUSED_LATER 1
