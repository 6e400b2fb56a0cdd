// launch: grid(ceil_div(rows, 32)) block(32)
static __global__ void softmax(const float *x, float *y, int rows, int cols)
{
  // A thread a row.
  int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows)
    return;
  const float *in = x + (size_t)row * cols;
  float *out = y + (size_t)row * cols;
  float m = -3.0e38f, sum = 0.0f;
  for (int c = 0; c < cols; c++)
    m = fmaxf(m, in[c]);
  for (int c = 0; c < cols; c++)
    sum += expf(in[c] - m);
  for (int c = 0; c < cols; c++)
    out[c] = expf(in[c] - m) / sum;
}
