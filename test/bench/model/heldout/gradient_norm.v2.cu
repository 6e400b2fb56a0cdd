// launch: grid(528) block(512)
static __global__ void gradient_norm(const float *g, double *sum, int n)
{
  __shared__ float s[16];
  int t = threadIdx.x;
  float v = 0.0f;
  for (int i = blockIdx.x * 512 + t; i < n; i += gridDim.x * 512)
    v += g[i] * g[i];
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
