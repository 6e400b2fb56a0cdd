// launch: grid(ceil_div(n, 512)) block(128)
static __global__ void double_poly(const float *x, float *y, int n)
{
  // Four chains of single precision a thread.
  int i = blockIdx.x * 512 + threadIdx.x;
  float v[4], r[4];
  for (int c = 0; c < 4; c++) {
    v[c] = i + 128 * c < n ? 0.5f * x[i + 128 * c] : 0.0f;
    r[c] = 1.0f;
  }
  for (int k = 0; k < 64; k++)
    for (int c = 0; c < 4; c++)
      r[c] = r[c] * v[c] + 0.125f;
  for (int c = 0; c < 4; c++)
    if (i + 128 * c < n)
      y[i + 128 * c] = r[c];
}
