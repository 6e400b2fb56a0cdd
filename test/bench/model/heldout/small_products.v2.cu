// launch: grid(count) block(32, 8)
static __global__ void small_products(const float *a, const float *b, float *c, int count)
{
  // Four rows a thread: a column of b is read once for four results.
  __shared__ float sa[32][32], sb[32][32];
  size_t base = (size_t)blockIdx.x * 1024;
  int x = threadIdx.x, y = threadIdx.y;
  for (int k = y; k < 32; k += 8) {
    sa[k][x] = a[base + k * 32 + x];
    sb[k][x] = b[base + k * 32 + x];
  }
  __syncthreads();
  float sum[4] = {};
  for (int k = 0; k < 32; k++) {
    float v = sb[k][x];
    for (int q = 0; q < 4; q++)
      sum[q] += sa[y + 8 * q][k] * v;
  }
  for (int q = 0; q < 4; q++)
    c[base + (y + 8 * q) * 32 + x] = sum[q];
}
