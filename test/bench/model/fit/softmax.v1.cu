// launch: grid(ceil_div(rows, 8)) block(256)
static __global__ void softmax(const float *x, float *y, int rows, int cols)
{
  // A warp a row.
  int row = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (row >= rows)
    return;
  const float *in = x + (size_t)row * cols;
  float *out = y + (size_t)row * cols;
  float m = -3.0e38f;
  for (int c = lane; c < cols; c += 32)
    m = fmaxf(m, in[c]);
  for (int d = 16; d > 0; d >>= 1)
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32)
    sum += expf(in[c] - m);
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
  float scale = 1.0f / sum;
  for (int c = lane; c < cols; c += 32)
    out[c] = expf(in[c] - m) * scale;
}
