// launch: grid(ceil_div(tokens, 64), ceil_div(tokens, 64), heads) block(16, 16)
static __global__ void attention_scores(const float *q, const float *k, float *s, int heads, int tokens, int width)
{
  __shared__ float sq[64][65], sk[64][65];
  int x = threadIdx.x, y = threadIdx.y;
  int j0 = blockIdx.x * 64, i0 = blockIdx.y * 64;
  size_t head = (size_t)blockIdx.z * tokens;
  for (int e = y * 16 + x; e < 4096; e += 256) {
    int r = e >> 6, c = e & 63;
    sq[r][c] = i0 + r < tokens ? q[(head + i0 + r) * 64 + c] : 0.0f;
    sk[r][c] = j0 + r < tokens ? k[(head + j0 + r) * 64 + c] : 0.0f;
  }
  __syncthreads();
  float sum[4][4] = {};
#pragma unroll 4
  for (int c = 0; c < 64; c++) {
    float a[4], b[4];
    for (int u = 0; u < 4; u++) {
      a[u] = sq[y + 16 * u][c];
      b[u] = sk[x + 16 * u][c];
    }
    for (int u = 0; u < 4; u++)
      for (int v = 0; v < 4; v++)
        sum[u][v] += a[u] * b[v];
  }
  for (int u = 0; u < 4; u++)
    for (int v = 0; v < 4; v++) {
      int i = i0 + y + 16 * u, j = j0 + x + 16 * v;
      if (i < tokens && j < tokens)
        s[(head + i) * tokens + j] = 0.125f * sum[u][v];
    }
}
