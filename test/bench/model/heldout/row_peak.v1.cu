// launch: grid(ceil_div(rows, 64)) block(64)
static __global__ void row_peak(const float *x, float *peak, int rows, int cols)
{
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows)
    return;
  float v = 0.0f;
  for (int c = 0; c < cols; c++)
    v = fmaxf(v, fabsf(x[(size_t)r * cols + c]));
  peak[r] = v;
}
