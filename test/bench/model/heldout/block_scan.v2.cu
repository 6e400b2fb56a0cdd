// launch: grid(chunks) block(512)
static __global__ void block_scan(const float *x, float *y, int chunks)
{
  // Up and down a tree in place, distances that double: banks collide.
  __shared__ float s[1024];
  int t = threadIdx.x, d = 1;
  size_t base = (size_t)blockIdx.x * 1024;
  float a = x[base + 2 * t], b = x[base + 2 * t + 1];
  s[2 * t] = a;
  s[2 * t + 1] = b;
  for (int w = 512; w > 0; w >>= 1, d *= 2) {
    __syncthreads();
    if (t < w)
      s[d * (2 * t + 2) - 1] += s[d * (2 * t + 1) - 1];
  }
  if (t == 0)
    s[1023] = 0.0f;
  for (int w = 1; w < 1024; w *= 2) {
    d >>= 1;
    __syncthreads();
    if (t < w) {
      float v = s[d * (2 * t + 1) - 1];
      s[d * (2 * t + 1) - 1] = s[d * (2 * t + 2) - 1];
      s[d * (2 * t + 2) - 1] += v;
    }
  }
  __syncthreads();
  y[base + 2 * t] = s[2 * t] + a;
  y[base + 2 * t + 1] = s[2 * t + 1] + b;
}
