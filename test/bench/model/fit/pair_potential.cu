// family: compute
// All pairs of points: arithmetic and reciprocal roots. More points a thread
// mean fewer loads, more registers and fewer threads.
// kevin: optimize let(n = 16384) in(p[3][n]) out(u[n]) compare(tol(1e-3))
static __global__ void pair_potential(const float *p, float *u, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = p[i], y = p[n + i], z = p[2 * n + i], sum = 0.0f;
  for (int j = 0; j < n; j++) {
    float dx = p[j] - x, dy = p[n + j] - y, dz = p[2 * n + j] - z;
    sum += rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
  }
  u[i] = sum;
}

void run(const float *p, float *u, int n) { pair_potential<<<(n + 127) / 128, 128>>>(p, u, n); }
