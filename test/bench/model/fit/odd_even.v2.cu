static __global__ void odd_even(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i], a = i & 1 ? 0.75f : -0.5f, b = i & 1 ? 0.5f : 0.25f;
  for (int k = 0; k < 40; k++)
    v = v * a + b;
  y[i] = v;
}
