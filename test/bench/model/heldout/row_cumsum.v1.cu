// launch: grid(ceil_div(rows, 4)) block(32, 4)
static __global__ void row_cumsum(const float *x, float *y, int rows, int cols)
{
  int r = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (r >= rows)
    return;
  float before = 0.0f;
  for (int c0 = 0; c0 < cols; c0 += 32) {
    float v = c0 + lane < cols ? x[(size_t)r * cols + c0 + lane] : 0.0f;
    for (int d = 1; d < 32; d *= 2) {
      float o = __shfl_up_sync(0xffffffffu, v, d);
      if (lane >= d)
        v += o;
    }
    v += before;
    if (c0 + lane < cols)
      y[(size_t)r * cols + c0 + lane] = v;
    before = __shfl_sync(0xffffffffu, v, 31);
  }
}
