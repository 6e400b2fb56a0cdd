static __global__ void pair_potential(const float *p, float *u, int n)
{
  __shared__ float sx[128], sy[128], sz[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  float x = 0.0f, y = 0.0f, z = 0.0f, sum = 0.0f;
  if (i < n) {
    x = p[i];
    y = p[n + i];
    z = p[2 * n + i];
  }
  for (int j0 = 0; j0 < n; j0 += 128) {
    if (j0 + t < n) {
      sx[t] = p[j0 + t];
      sy[t] = p[n + j0 + t];
      sz[t] = p[2 * n + j0 + t];
    }
    __syncthreads();
    int m = n - j0 < 128 ? n - j0 : 128;
    for (int j = 0; j < m; j++) {
      float dx = sx[j] - x, dy = sy[j] - y, dz = sz[j] - z;
      sum += rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    }
    __syncthreads();
  }
  if (i < n)
    u[i] = sum;
}
