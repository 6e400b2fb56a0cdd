// launch: grid(2) block(1024)
static __global__ void few_blocks(const float *x, float *y, int n)
{
  for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += 2 * 1024) {
    float v = x[i], r = 0.5f;
    for (int k = 0; k < 32; k++)
      r = r * v + 0.25f;
    y[i] = r;
  }
}
