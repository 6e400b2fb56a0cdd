// launch: grid(tokens) block(192)
static __global__ void token_embedding(const int *id, const float *word, const float *place, float *y, int tokens,
                                       int width, int span)
{
  int t = blockIdx.x, c = threadIdx.x;
  float4 a = ((const float4 *)word)[(size_t)id[t] * 192 + c], b = ((const float4 *)place)[t % span * 192 + c];
  ((float4 *)y)[(size_t)t * 192 + c] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
