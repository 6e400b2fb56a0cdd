// Two kernels, so that one can fail and the other be done.
#include <cuda_runtime.h>

// kevin: optimize let(n = 4096) fix(a = 0.5) in(x[n] = i) out(y[n])
static __global__ void first(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

// kevin: optimize let(n = 4096) in(x[n] = i) out(y[n])
static __global__ void second(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + 1.0f;
}

void launch_both(int n, float a, const float *x, float *y)
{
  first<<<(n + 255) / 256, 256>>>(n, a, x, y);
  second<<<(n + 255) / 256, 256>>>(n, x, y);
}
