// launch: grid(rows) block(256)
static __global__ void layer_norm(const float *x, const float *scale, const float *shift, float *y, int rows, int cols)
{
  __shared__ float s[256];
  int t = threadIdx.x;
  const float *in = x + (size_t)blockIdx.x * cols;
  float v = 0.0f;
  for (int c = t; c < cols; c += 256)
    v += in[c];
  s[t] = v;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  float mean = s[0] / cols;
  __syncthreads();
  v = 0.0f;
  for (int c = t; c < cols; c += 256)
    v += (in[c] - mean) * (in[c] - mean);
  s[t] = v;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  float inv = rsqrtf(s[0] / cols + 1e-5f);
  for (int c = t; c < cols; c += 256)
    y[(size_t)blockIdx.x * cols + c] = (in[c] - mean) * inv * scale[c] + shift[c];
}
