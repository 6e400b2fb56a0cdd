// launch: grid(66) block(256)
static __global__ void few_blocks(const float *x, float *y, int n)
{
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 66 * 256) {
    float v = x[i], r = 0.5f;
    for (int k = 0; k < 32; k++)
      r = r * v + 0.25f;
    y[i] = r;
  }
}
