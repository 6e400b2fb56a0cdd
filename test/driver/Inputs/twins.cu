// Three kernels in one file; the last one is not marked.
#include "twins.cuh"

// kevin: optimize let(n = 4096) in(x[n]) out(y[n])
static __global__ void first(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = twice(x[i]);
}

// kevin: optimize let(n = 4096) in(x[n]) out(y[n])
static __global__ void second(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + 1.0f;
}

static __global__ void third(int n, float *y)
{
  if (threadIdx.x < n)
    y[threadIdx.x] = 0;
}

void launch_all(int n, float *x, float *y)
{
  first<<<(n + 255) / 256, 256>>>(n, x, y);
  second<<<(n + 255) / 256, 256>>>(n, x, y);
  third<<<1, 64>>>(n, y);
}
