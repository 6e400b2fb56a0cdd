// family: matmul
// Scores of every query with every key, for each head: both by rows.
// kevin: optimize let(heads = 16, tokens = 1024) fix(width = 64)
// kevin: in(q[heads][tokens][width], k[heads][tokens][width]) out(s[heads][tokens][tokens]) align(16) compare(tol(1e-3))
static __global__ void attention_scores(const float *q, const float *k, float *s, int heads, int tokens, int width)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y, h = blockIdx.z;
  if (j >= tokens)
    return;
  const float *a = q + ((size_t)h * tokens + i) * width, *b = k + ((size_t)h * tokens + j) * width;
  float sum = 0.0f;
  for (int c = 0; c < width; c++)
    sum += a[c] * b[c];
  s[((size_t)h * tokens + i) * tokens + j] = 0.125f * sum;
}

void run(const float *q, const float *k, float *s, int heads, int tokens, int width)
{
  attention_scores<<<dim3((tokens + 127) / 128, tokens, heads), 128>>>(q, k, s, heads, tokens, width);
}
