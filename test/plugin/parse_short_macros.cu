// RUN: %tool/parse_dump --brief %s -- -DN=4 -DT=float -DX -DY=3 '-DV=1 2' | FileCheck %s
// RUN: %tool/slice_dump %s k -- -DN=4 -DT=float -DX -DY=3 | FileCheck %s --check-prefix=SLICE
// RUN: %tool/parse_dump --no-cuda --brief %s -- -DN=4 -DT=float -DX -DY=3 | FileCheck %s
// Programs are built with macros as short as the names inside headers.
__global__ void k(T *x)
{
  if (threadIdx.x < N)
    x[threadIdx.x] *= Y + X;
}
// CHECK: kernel k(float *) at 5:1
// CHECK-NOT: refused
// CHECK-NOT: error
// SLICE: __global__ void k(T *x)
// SLICE-NOT: refused
