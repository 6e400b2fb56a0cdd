// launch: grid(ceil_div(tokens, 4), heads, batches) block(16, 4)
static __global__ void heads_first(const float *x, float *y, int batches, int tokens, int heads, int width)
{
  int t = blockIdx.x * 4 + threadIdx.y, h = blockIdx.y, b = blockIdx.z;
  if (t < tokens)
    ((float4 *)y)[((b * heads + h) * tokens + t) * 16 + threadIdx.x] =
        ((const float4 *)x)[((b * tokens + t) * heads + h) * 16 + threadIdx.x];
}
