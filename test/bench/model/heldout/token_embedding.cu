// family: gather
// Rows of a table of words and a table of places, added.
// kevin: optimize let(tokens = 16384, vocab = 50257) fix(width = 768, span = 1024)
// kevin: in(id[tokens] = index(vocab), word[vocab][width], place[span][width]) out(y[tokens][width]) align(16)
static __global__ void token_embedding(const int *id, const float *word, const float *place, float *y, int tokens,
                                       int width, int span)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= tokens * width)
    return;
  int t = i / width, c = i % width;
  y[i] = word[(size_t)id[t] * width + c] + place[t % span * width + c];
}

void run(const int *id, const float *word, const float *place, float *y, int tokens, int width, int span)
{
  token_embedding<<<(tokens * width + 255) / 256, 256>>>(id, word, place, y, tokens, width, span);
}
