// launch: grid(ceil_div(rows, 4)) block(32, 4)
static __global__ void row_peak(const float *x, float *peak, int rows, int cols)
{
  int r = blockIdx.x * 4 + threadIdx.y;
  if (r >= rows)
    return;
  float v = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32)
    v = fmaxf(v, fabsf(x[(size_t)r * cols + c]));
  for (int d = 16; d > 0; d >>= 1)
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
  if (threadIdx.x == 0)
    peak[r] = v;
}
