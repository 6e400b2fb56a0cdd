// A kernel for tests of the whole program, launched in its own file.
#include <cstdio>

// kevin: optimize let(n = 1 << 12) data(*[n])
static __global__ void saxpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

void launch_saxpy(int n, float a, const float *x, float *y)
{
  saxpy<<<(n + 255) / 256, 256>>>(n, a, x, y);
  printf("%d\n", n);
}
