// launch: grid(ceil_div(n, 512)) block(128)
static __global__ void pair_potential(const float *p, float *u, int n)
{
  int i = blockIdx.x * 512 + threadIdx.x;
  float x[4], y[4], z[4], sum[4] = {};
  for (int k = 0; k < 4; k++) {
    int a = i + 128 * k < n ? i + 128 * k : n - 1;
    x[k] = p[a];
    y[k] = p[n + a];
    z[k] = p[2 * n + a];
  }
  for (int j = 0; j < n; j++) {
    float px = p[j], py = p[n + j], pz = p[2 * n + j];
    for (int k = 0; k < 4; k++) {
      float dx = px - x[k], dy = py - y[k], dz = pz - z[k];
      sum[k] += rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    }
  }
  for (int k = 0; k < 4; k++)
    if (i + 128 * k < n)
      u[i + 128 * k] = sum[k];
}
