// launch: grid(ceil_div(cols, 16), ceil_div(rows, 16)) block(16, 16)
static __global__ void row_filter(const float *x, const float *tap, float *y, int rows, int cols)
{
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (c >= cols || r >= rows)
    return;
  float sum = 0.0f;
  for (int k = 0; k < 17; k++) {
    int p = c + k - 8;
    if (p >= 0 && p < cols)
      sum += tap[k] * x[(size_t)r * cols + p];
  }
  y[(size_t)r * cols + c] = sum;
}
