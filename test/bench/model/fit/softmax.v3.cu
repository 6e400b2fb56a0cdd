// launch: grid(rows) block(1024)
static __global__ void softmax(const float *x, float *y, int rows, int cols)
{
  __shared__ float s[32], r;
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const float *in = x + (size_t)blockIdx.x * cols;
  float *out = y + (size_t)blockIdx.x * cols;
  float m = -3.0e38f;
  for (int c = t; c < cols; c += 1024)
    m = fmaxf(m, in[c]);
  for (int d = 16; d > 0; d >>= 1)
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  if (lane == 0)
    s[warp] = m;
  __syncthreads();
  if (warp == 0) {
    m = s[lane];
    for (int d = 16; d > 0; d >>= 1)
      m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    if (lane == 0)
      r = m;
  }
  __syncthreads();
  m = r;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 1024)
    sum += expf(in[c] - m);
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane == 0)
    s[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = s[lane];
    for (int d = 16; d > 0; d >>= 1)
      sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0)
      r = sum;
  }
  __syncthreads();
  sum = r;
  for (int c = t; c < cols; c += 1024)
    out[c] = expf(in[c] - m) / sum;
}
