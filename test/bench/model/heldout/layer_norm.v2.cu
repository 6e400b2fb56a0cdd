// launch: grid(ceil_div(rows, 8)) block(32, 8)
static __global__ void layer_norm(const float *x, const float *scale, const float *shift, float *y, int rows, int cols)
{
  int r = blockIdx.x * 8 + threadIdx.y, lane = threadIdx.x;
  if (r >= rows)
    return;
  const float *in = x + (size_t)r * cols;
  float mean = 0.0f, var = 0.0f;
  for (int c = lane; c < cols; c += 32)
    mean += in[c];
  for (int d = 16; d > 0; d >>= 1)
    mean += __shfl_xor_sync(0xffffffffu, mean, d);
  mean /= cols;
  for (int c = lane; c < cols; c += 32)
    var += (in[c] - mean) * (in[c] - mean);
  for (int d = 16; d > 0; d >>= 1)
    var += __shfl_xor_sync(0xffffffffu, var, d);
  float inv = rsqrtf(var / cols + 1e-5f);
  for (int c = lane; c < cols; c += 32)
    y[(size_t)r * cols + c] = (in[c] - mean) * inv * scale[c] + shift[c];
}
