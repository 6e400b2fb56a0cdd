// family: matmul
// Many products of 32 x 32 matrices, a block for each.
// kevin: optimize let(count = 8192) in(a[count][32][32], b[count][32][32]) out(c[count][32][32]) compare(tol(1e-3))
static __global__ void small_products(const float *a, const float *b, float *c, int count)
{
  size_t base = (size_t)blockIdx.x * 1024;
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < 32; k++)
    sum += a[base + y * 32 + k] * b[base + k * 32 + x];
  c[base + y * 32 + x] = sum;
}

void run(const float *a, const float *b, float *c, int count)
{
  small_products<<<count, dim3(32, 32)>>>(a, b, c, count);
}
