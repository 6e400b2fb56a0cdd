// launch: grid(1) block(1024)
static __global__ void short_axpy(float a, const float *x, float *y, int n)
{
  for (int i = threadIdx.x; i < n; i += 1024)
    y[i] += a * x[i];
}
