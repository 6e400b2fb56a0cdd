// RUN: %tool/parse_dump %s | FileCheck %s
// Facts about a body count in the functions and macros that it reaches, and
// `names` holds every name that a geometry could share with it.
#define TILE 16
#define WIDTH (TILE * 2)
#define SYNC() __syncthreads()
constexpr int kDepth = WIDTH;
__device__ float helper(float *buf) { SYNC(); return buf[kDepth]; }
__device__ int steps() { return gridDim.x; }

// CHECK-LABEL: kernel reaching(
// CHECK: body: gridDim barrier dynamic-shared{{$}}
// CHECK: names: {{.*}}TILE WIDTH {{.*}}__syncthreads {{.*}}gridDim {{.*}}kDepth
__global__ void reaching(float *x)
{
  extern __shared__ float buf[];
  x[steps()] = helper(buf);
}
// CHECK-LABEL: kernel ticking(
// CHECK: body: clock asm{{$}}
__global__ void ticking(long long *x)
{
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  x[lane] = clock64();
}
// CHECK-LABEL: kernel quiet(
// CHECK: body:{{$}}
__global__ void quiet(float *x) { x[0] = 1; }
