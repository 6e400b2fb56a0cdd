// launch: grid(ceil_div(n, 2048)) block(512)
static __global__ void gradient_norm(const float *g, double *sum, int n)
{
  __shared__ float s[16];
  int t = threadIdx.x, first = blockIdx.x * 2048 + t;
  float v = 0.0f;
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (first + 512 * k < n)
      v += g[first + 512 * k] * g[first + 512 * k];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if (t % 32 == 0)
    s[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    double all = 0.0;
    for (int k = 0; k < 16; k++)
      all += s[k];
    atomicAdd(sum, all);
  }
}
