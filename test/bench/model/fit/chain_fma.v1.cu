static __global__ void chain_fma(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = 0.5f * x[i], r = 1.0f;
  for (int k = 0; k < 1024; k++)
    r = r * v + 0.125f;
  y[i] = r;
}
