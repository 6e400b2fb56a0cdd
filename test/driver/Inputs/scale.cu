// A kernel for tests of prompts: small, complete, and launched in its own file.
#include <cuda_runtime.h>

// kevin: optimize let(n = 4096) fix(a = 0.5) in(x[n] = i) out(y[n])
static __global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

void launch_scale(int n, float a, const float *x, float *y)
{
  scale<<<(n + 255) / 256, 256>>>(n, a, x, y);
}
