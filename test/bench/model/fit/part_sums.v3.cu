// launch: grid(parts) block(128)
static __global__ void part_sums(const float *x, float *y, int parts)
{
  __shared__ float s[128];
  int t = threadIdx.x;
  float v = 0.0f;
  for (int k = t; k < 1024; k += 128)
    v += x[(size_t)blockIdx.x * 1024 + k];
  s[t] = v;
  __syncthreads();
  for (int w = 64; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = s[0];
}
