static __global__ void double_poly(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i], r = 1.0f;
  for (int k = 0; k < 64; k++)
    r = r * v * 0.5f + 0.125f;
  y[i] = r;
}
