// launch: grid(132) block(128)
static __global__ void gather_far(const float *x, const int *id, float *y, int n)
{
#pragma unroll 1
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 132 * 128)
    y[i] = x[id[i]];
}
