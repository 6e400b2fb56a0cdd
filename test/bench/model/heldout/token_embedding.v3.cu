// launch: grid(ceil_div(tokens, 8)) block(32, 8)
static __global__ void token_embedding(const int *id, const float *word, const float *place, float *y, int tokens,
                                       int width, int span)
{
  int t = blockIdx.x * 8 + threadIdx.y;
  if (t >= tokens)
    return;
  const float *a = word + (size_t)id[t] * width, *b = place + t % span * width;
  for (int c = threadIdx.x; c < width; c += 32)
    y[(size_t)t * width + c] = a[c] + b[c];
}
