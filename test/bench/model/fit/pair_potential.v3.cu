// launch: grid(ceil_div(n, 32)) block(32, 16)
static __global__ void pair_potential(const float *p, float *u, int n)
{
  // Sixteen threads share the pairs of a point.
  __shared__ float s[16][32];
  int i = blockIdx.x * 32 + threadIdx.x, a = i < n ? i : n - 1;
  float x = p[a], y = p[n + a], z = p[2 * n + a], sum = 0.0f;
  for (int j = threadIdx.y; j < n; j += 16) {
    float dx = p[j] - x, dy = p[n + j] - y, dz = p[2 * n + j] - z;
    sum += rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
  }
  s[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && i < n) {
    for (int k = 1; k < 16; k++)
      sum += s[k][threadIdx.x];
    u[i] = sum;
  }
}
