// family: softmax
// Rows divided by their root mean square.
// kevin: optimize let(rows = 2048, cols = 4096) in(x[rows][cols], scale[cols]) out(y[rows][cols])
// kevin: require(cols % 4 == 0, cols > 0) align(16) compare(tol(1e-3))
static __global__ void rms_norm(const float *x, const float *scale, float *y, int rows, int cols)
{
  __shared__ float s[1024];
  int t = threadIdx.x;
  const float *in = x + (size_t)blockIdx.x * cols;
  float v = 0.0f;
  for (int c = t; c < cols; c += 1024)
    v += in[c] * in[c];
  s[t] = v;
  __syncthreads();
  for (int w = 512; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  float inv = 1.0f / sqrtf(s[0] / cols + 1e-6f);
  for (int c = t; c < cols; c += 1024)
    y[(size_t)blockIdx.x * cols + c] = scale[c] * (inv * in[c]);
}

void run(const float *x, const float *scale, float *y, int rows, int cols)
{
  rms_norm<<<rows, 1024>>>(x, scale, y, rows, cols);
}
