// launch: grid(rows) block(32)
static __global__ void cross_entropy(const float *x, const int *target, float *loss, int rows, int vocab)
{
  const float *in = x + (size_t)blockIdx.x * vocab;
  float m = -3.0e38f, sum = 0.0f;
  for (int c = threadIdx.x; c < vocab; c += 32)
    m = fmaxf(m, in[c]);
  for (int d = 16; d > 0; d >>= 1)
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  for (int c = threadIdx.x; c < vocab; c += 32)
    sum += expf(in[c] - m);
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (threadIdx.x == 0)
    loss[blockIdx.x] = logf(sum) + m - in[target[blockIdx.x]];
}
