// What nvcc has read before the first line needs no #include, with a toolkit or without.
// RUN: %tool/slice_dump --cuda= --project=%S %s k | FileCheck %s
// CHECK: #include <limits.h>
// CHECK: __int_as_float(0x7f800000)
// kevin: optimize let(n = 5) data(*[n])
__global__ void k(float *y, int n)
{
  float least = INFINITY;
  for (int i = 0; i < n && i < INT_MAX; i++)
    least = fminf(least, y[i] * float(M_PI));
  y[0] = least;
}
void run(float *y, const float *x, int n)
{
  memcpy(y, x, n * sizeof *y);
  k<<<1, 1>>>(y, n < abs(n) ? 1 : n);
  free(y);
}
