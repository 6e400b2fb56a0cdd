// family: softmax
// kevin: optimize let(rows = 16384, cols = 1024) in(x[rows][cols]) out(y[rows][cols])
static __global__ void softmax(const float *x, float *y, int rows, int cols)
{
  __shared__ float s[256];
  int t = threadIdx.x;
  const float *in = x + (size_t)blockIdx.x * cols;
  float *out = y + (size_t)blockIdx.x * cols;
  float m = -3.0e38f;
  for (int c = t; c < cols; c += 256)
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
  float sum = 0.0f;
  for (int c = t; c < cols; c += 256)
    sum += expf(in[c] - m);
  s[t] = sum;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  sum = s[0];
  for (int c = t; c < cols; c += 256)
    out[c] = expf(in[c] - m) / sum;
}

void run(const float *x, float *y, int rows, int cols) { softmax<<<rows, 256>>>(x, y, rows, cols); }
