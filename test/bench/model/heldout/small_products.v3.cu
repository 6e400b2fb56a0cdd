// launch: grid(count) block(32)
static __global__ void small_products(const float *a, const float *b, float *c, int count)
{
  // A warp a product: a column of b in registers, a's rows from the cache.
  size_t base = (size_t)blockIdx.x * 1024;
  int x = threadIdx.x;
  float v[32];
#pragma unroll
  for (int k = 0; k < 32; k++)
    v[k] = b[base + k * 32 + x];
  for (int y = 0; y < 32; y++) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; k++)
      sum += a[base + y * 32 + k] * v[k];
    c[base + y * 32 + x] = sum;
  }
}
