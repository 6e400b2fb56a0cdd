// launch: grid(264) block(512)
static __global__ void gradient_norm(const float *g, double *sum, int n)
{
  // Every warp adds to the one sum itself.
  double v = 0.0;
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += gridDim.x * 512)
    v += (double)g[i] * g[i];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0)
    atomicAdd(sum, v);
}
