// launch: grid(528) block(512)
static __global__ void dot(const float *x, const float *y, float *sum, int n)
{
  __shared__ float s[16];
  int t = threadIdx.x, first = blockIdx.x * 512 + t, step = gridDim.x * 512;
  float v = 0.0f;
  for (int i = first; i < n / 4; i += step) {
    float4 a = ((const float4 *)x)[i], b = ((const float4 *)y)[i];
    v += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
  if (first < n % 4)
    v += x[n / 4 * 4 + first] * y[n / 4 * 4 + first];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if (t % 32 == 0)
    s[t / 32] = v;
  __syncthreads();
  if (t < 16) {
    v = s[t];
    for (int d = 8; d > 0; d >>= 1)
      v += __shfl_down_sync(0xffffu, v, d);
    if (t == 0)
      atomicAdd(sum, v);
  }
}
