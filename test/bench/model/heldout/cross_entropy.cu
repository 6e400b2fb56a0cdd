// family: softmax
// The loss of each row of logits for its target: maximum, then sum of exponentials.
// kevin: optimize let(rows = 512, vocab = 50257) in(x[rows][vocab], target[rows] = index(vocab)) out(loss[rows])
// kevin: compare(tol(1e-3))
static __global__ void cross_entropy(const float *x, const int *target, float *loss, int rows, int vocab)
{
  __shared__ float s[256];
  int t = threadIdx.x;
  const float *in = x + (size_t)blockIdx.x * vocab;
  float m = -3.0e38f, sum = 0.0f;
  for (int c = t; c < vocab; c += 256)
    m = fmaxf(m, in[c]);
  s[t] = m;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] = fmaxf(s[t], s[t + w]);
    __syncthreads();
  }
  m = s[0];
  __syncthreads();
  for (int c = t; c < vocab; c += 256)
    sum += expf(in[c] - m);
  s[t] = sum;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    loss[blockIdx.x] = logf(s[0]) + m - in[target[blockIdx.x]];
}

void run(const float *x, const int *target, float *loss, int rows, int vocab)
{
  cross_entropy<<<rows, 256>>>(x, target, loss, rows, vocab);
}
