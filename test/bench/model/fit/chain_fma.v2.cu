// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void chain_fma(const float *x, float *y, int n)
{
  int i = blockIdx.x * 1024 + threadIdx.x;
  float v[4], r[4];
  for (int c = 0; c < 4; c++) {
    v[c] = i + 256 * c < n ? 0.5f * x[i + 256 * c] : 0.0f;
    r[c] = 1.0f;
  }
  for (int k = 0; k < 1024; k++)
    for (int c = 0; c < 4; c++)
      r[c] = r[c] * v[c] + 0.125f;
  for (int c = 0; c < 4; c++)
    if (i + 256 * c < n)
      y[i + 256 * c] = r[c];
}
