// launch: grid(ceil_div(tokens, 64)) block(64)
static __global__ void token_embedding(const int *id, const float *word, const float *place, float *y, int tokens,
                                       int width, int span)
{
  // A token a thread.
  int t = blockIdx.x * 64 + threadIdx.x;
  if (t >= tokens)
    return;
  const float *a = word + (size_t)id[t] * width, *b = place + t % span * width;
  for (int c = 0; c < width; c++)
    y[(size_t)t * width + c] = a[c] + b[c];
}
