static __global__ void odd_even(const float *x, float *y, int n)
{
  // A warp takes the odd or the even of 64 numbers.
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int i = (t & ~63) + 2 * (t & 31) + (t >> 5 & 1);
  if (i >= n)
    return;
  float v = x[i];
  if (i & 1) {
    for (int k = 0; k < 40; k++)
      v = v * 0.75f + 0.5f;
  } else {
    for (int k = 0; k < 40; k++)
      v = 0.25f - v * 0.5f;
  }
  y[i] = v;
}
