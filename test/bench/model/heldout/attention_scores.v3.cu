static __global__ void attention_scores(const float *q, const float *k, float *s, int heads, int tokens, int width)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y, h = blockIdx.z;
  if (j >= tokens)
    return;
  const float4 *a = (const float4 *)(q + ((size_t)h * tokens + i) * width);
  const float4 *b = (const float4 *)(k + ((size_t)h * tokens + j) * width);
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < 16; c++) {
    float4 u = a[c], v = b[c];
    sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
  }
  s[((size_t)h * tokens + i) * tokens + j] = 0.125f * sum;
}
