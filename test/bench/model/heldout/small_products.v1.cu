static __global__ void small_products(const float *a, const float *b, float *c, int count)
{
  __shared__ float sa[32][32], sb[32][32];
  size_t base = (size_t)blockIdx.x * 1024;
  int x = threadIdx.x, y = threadIdx.y;
  sa[y][x] = a[base + y * 32 + x];
  sb[y][x] = b[base + y * 32 + x];
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 32; k++)
    sum += sa[y][k] * sb[k][x];
  c[base + y * 32 + x] = sum;
}
