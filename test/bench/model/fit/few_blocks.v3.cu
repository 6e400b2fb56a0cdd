// launch: grid(ceil_div(n, 256)) block(256)
static __global__ void few_blocks(const float *x, float *y, int n)
{
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i], r = 0.5f;
  for (int k = 0; k < 32; k++)
    r = r * v + 0.25f;
  y[i] = r;
}
