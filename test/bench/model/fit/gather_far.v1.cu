// launch: grid(ceil_div(n, 2048)) block(256)
static __global__ void gather_far(const float *x, const int *id, float *y, int n)
{
  int first = blockIdx.x * 2048 + threadIdx.x, j[8];
#pragma unroll
  for (int k = 0; k < 8; k++)
    j[k] = first + 256 * k < n ? id[first + 256 * k] : 0;
  float v[8];
#pragma unroll
  for (int k = 0; k < 8; k++)
    v[k] = x[j[k]];
#pragma unroll
  for (int k = 0; k < 8; k++)
    if (first + 256 * k < n)
      y[first + 256 * k] = v[k];
}
