// launch: grid(ceil_div(n, 1024)) block(1024)
static __global__ void copy_width(const float *x, float *y, int n)
{
  int i = blockIdx.x * 1024 + threadIdx.x;
  if (i < n)
    y[i] = 2.0f * x[i];
}
