// launch: grid(ceil_div(n, 64), ceil_div(m, 64)) block(16, 16)
static __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
  // Four by four results a thread.
  __shared__ float as[16][65], bs[16][64];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int e = t; e < 1024; e += 256) {
      int r = e >> 4, i = e & 15;
      as[i][r] = row0 + r < m && k0 + i < k ? a[(size_t)(row0 + r) * k + k0 + i] : 0.0f;
      int j = e & 63, q = e >> 6;
      bs[q][j] = col0 + j < n && k0 + q < k ? b[(size_t)(k0 + q) * n + col0 + j] : 0.0f;
    }
    __syncthreads();
    for (int i = 0; i < 16; i++) {
      float x[4], y[4];
      for (int u = 0; u < 4; u++) {
        x[u] = as[i][ty + 16 * u];
        y[u] = bs[i][tx + 16 * u];
      }
      for (int u = 0; u < 4; u++)
        for (int v = 0; v < 4; v++)
          acc[u][v] += x[u] * y[v];
    }
    __syncthreads();
  }
  for (int u = 0; u < 4; u++)
    for (int v = 0; v < 4; v++) {
      int row = row0 + ty + 16 * u, col = col0 + tx + 16 * v;
      if (row < m && col < n)
        c[(size_t)row * n + col] = acc[u][v];
    }
}
