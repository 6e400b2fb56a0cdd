// launch: grid(ceil_div(n, 256)) block(256)
static __global__ void dot(const float *x, const float *y, float *sum, int n)
{
  // A product a thread, neighbours added first: threads that work lie apart.
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] * y[i] : 0.0f;
  __syncthreads();
  for (int w = 1; w < 256; w *= 2) {
    if (t % (2 * w) == 0)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(sum, s[0]);
}
