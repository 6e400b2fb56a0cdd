// launch: grid(rows) block(32)
static __global__ void rms_norm(const float *x, const float *scale, float *y, int rows, int cols)
{
  const float *in = x + (size_t)blockIdx.x * cols;
  float v = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32)
    v += in[c] * in[c];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  float inv = rsqrtf(v / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 32)
    y[(size_t)blockIdx.x * cols + c] = scale[c] * inv * in[c];
}
