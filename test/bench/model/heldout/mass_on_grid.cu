// family: histogram
// Masses of particles added to the cells of a 64 x 64 x 64 grid that they lie in.
// kevin: optimize let(n = 1 << 21) in(p[n] = uniform(0, 64), q[n] = uniform(0, 64), r[n] = uniform(0, 64), m[n] = uniform(0, 1))
// kevin: inout(grid[64 * 64 * 64] = 0) compare(tol(1e-3)) align(16)
static __global__ void mass_on_grid(const float *p, const float *q, const float *r, const float *m, float *grid, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int cell = (min((int)r[i], 63) * 64 + min((int)q[i], 63)) * 64 + min((int)p[i], 63);
    atomicAdd(&grid[cell], m[i]);
  }
}

void run(const float *p, const float *q, const float *r, const float *m, float *grid, int n)
{
  mass_on_grid<<<(n + 255) / 256, 256>>>(p, q, r, m, grid, n);
}
