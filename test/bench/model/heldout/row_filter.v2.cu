// launch: grid(ceil_div(cols, 512), rows) block(128)
static __global__ void row_filter(const float *x, const float *tap, float *y, int rows, int cols)
{
  // Four neighbouring results a thread from twenty values in registers.
  int c = blockIdx.x * 512 + 4 * threadIdx.x, r = blockIdx.y;
  if (c >= cols)
    return;
  const float *row = x + (size_t)r * cols;
  float v[20], sum[4] = {};
#pragma unroll
  for (int k = 0; k < 20; k++) {
    int p = c + k - 8;
    v[k] = p >= 0 && p < cols ? row[p] : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < 17; k++) {
    float w = tap[k];
    for (int q = 0; q < 4; q++)
      sum[q] += w * v[k + q];
  }
  for (int q = 0; q < 4; q++)
    if (c + q < cols)
      y[(size_t)r * cols + c + q] = sum[q];
}
