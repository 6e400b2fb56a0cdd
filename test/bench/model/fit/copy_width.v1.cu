// launch: grid(ceil_div(n, 32)) block(32)
static __global__ void copy_width(const float *x, float *y, int n)
{
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n)
    y[i] = 2.0f * x[i];
}
