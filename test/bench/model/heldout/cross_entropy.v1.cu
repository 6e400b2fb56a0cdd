// launch: grid(rows) block(1024)
static __global__ void cross_entropy(const float *x, const int *target, float *loss, int rows, int vocab)
{
  // One pass: the sum is scaled when the maximum grows.
  __shared__ float sm[32], ss[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const float *in = x + (size_t)blockIdx.x * vocab;
  float m = -3.0e38f, sum = 0.0f;
  for (int c = t; c < vocab; c += 1024) {
    float v = in[c];
    if (v > m) {
      sum *= __expf(m - v);
      m = v;
    }
    sum += __expf(v - m);
  }
  for (int d = 16; d > 0; d >>= 1) {
    float om = __shfl_xor_sync(0xffffffffu, m, d), os = __shfl_xor_sync(0xffffffffu, sum, d);
    float top = fmaxf(m, om);
    sum = sum * __expf(m - top) + os * __expf(om - top);
    m = top;
  }
  if (lane == 0) {
    sm[warp] = m;
    ss[warp] = sum;
  }
  __syncthreads();
  if (warp == 0) {
    m = sm[lane];
    sum = ss[lane];
    for (int d = 16; d > 0; d >>= 1) {
      float om = __shfl_xor_sync(0xffffffffu, m, d), os = __shfl_xor_sync(0xffffffffu, sum, d);
      float top = fmaxf(m, om);
      sum = sum * __expf(m - top) + os * __expf(om - top);
      m = top;
    }
    if (lane == 0)
      loss[blockIdx.x] = logf(sum) + m - in[target[blockIdx.x]];
  }
}
