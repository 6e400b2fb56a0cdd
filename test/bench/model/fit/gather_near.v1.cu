// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void gather_near(const float *x, const int *id, float *y, int n)
{
  int first = blockIdx.x * 1024 + threadIdx.x, j[4];
#pragma unroll
  for (int k = 0; k < 4; k++)
    j[k] = first + 256 * k < n ? id[first + 256 * k] : 0;
  float v[4];
#pragma unroll
  for (int k = 0; k < 4; k++)
    v[k] = x[j[k]];
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (first + 256 * k < n)
      y[first + 256 * k] = v[k];
}
