// launch: grid(66) block(128)
static __global__ void mass_on_grid(const float *p, const float *q, const float *r, const float *m, float *grid, int n)
{
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) {
    int cell = (min((int)r[i], 63) * 64 + min((int)q[i], 63)) * 64 + min((int)p[i], 63);
    atomicAdd(&grid[cell], m[i]);
  }
}
