// launch: grid(16) block(1024)
static __global__ void short_axpy(float a, const float *x, float *y, int n)
{
  for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += 16 * 1024)
    y[i] += a * x[i];
}
