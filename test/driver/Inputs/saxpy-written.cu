// A kernel for tests of the whole program, launched in its own file.
#include <cstdio>

static __device__ float saxpy_one(float a, float x, float y)
{
  return fmaf(a, x, y);
}

// kevin: optimize let(n = 1 << 12) data(*[n])
// kevin: verified 2.00x [1.99, 2.01] on Testing GPU sm_90: 100 -> 50.0 us
// kevin: by replay, turn 1/1; max error 1e-07; kevin-rewrite 0.1.0
// kevin: from 0c74d41ed3f2 body f44a5954787b marker bbece9f1f6a3
static __global__ void saxpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * 1024 + threadIdx.x;
  for (int k = 0; k < 4; k++, i += 256)
    if (i < n)
      y[i] = saxpy_one(a, x[i], y[i]);
}

void launch_saxpy(int n, float a, const float *x, float *y)
{
  saxpy<<<(n + 1023) / 1024, 256>>>(n, a, x, y);
  printf("%d\n", n);
}
