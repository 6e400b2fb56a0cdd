// launch: grid(66) block(128)
static __global__ void dot(const float *x, const float *y, float *sum, int n)
{
  float v = 0.0f;
#pragma unroll 1
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
    v += x[i] * y[i];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0)
    atomicAdd(sum, v);
}
