// launch: grid(1056) block(256)
static __global__ void reduce(const float *x, float *sum, int n)
{
  __shared__ float s[8];
  float v = 0.0f;
  const float4 *x4 = (const float4 *)x;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += 1056 * 256) {
    float4 q = x4[i];
    v += (q.x + q.y) + (q.z + q.w);
  }
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if ((threadIdx.x & 31) == 0)
    s[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < 8 ? s[threadIdx.x] : 0.0f;
    for (int d = 4; d > 0; d >>= 1)
      v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0)
      atomicAdd(sum, v);
  }
}
