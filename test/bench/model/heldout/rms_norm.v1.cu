// launch: grid(rows) block(256)
static __global__ void rms_norm(const float *x, const float *scale, float *y, int rows, int cols)
{
  __shared__ float s[8];
  int t = threadIdx.x;
  const float4 *in = (const float4 *)(x + (size_t)blockIdx.x * cols);
  float4 *out = (float4 *)(y + (size_t)blockIdx.x * cols);
  float v = 0.0f;
  for (int c = t; c < cols / 4; c += 256) {
    float4 q = in[c];
    v += q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
  }
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  if (t % 32 == 0)
    s[t / 32] = v;
  __syncthreads();
  v = 0.0f;
  for (int k = 0; k < 8; k++)
    v += s[k];
  float inv = rsqrtf(v / cols + 1e-6f);
  for (int c = t; c < cols / 4; c += 256) {
    float4 q = in[c], w = ((const float4 *)scale)[c];
    out[c] = make_float4(w.x * inv * q.x, w.y * inv * q.y, w.z * inv * q.z, w.w * inv * q.w);
  }
}
