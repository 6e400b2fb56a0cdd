// family: reduction
// kevin: optimize let(n = 1 << 26) in(x[n] = uniform(0, 1)) inout(sum[1] = 0)
// kevin: compare(tol(1e-3)) require(n % 4 == 0) align(16)
static __global__ void reduce(const float *x, float *sum, int n)
{
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(sum, s[0]);
}

void run(const float *x, float *sum, int n) { reduce<<<(n + 255) / 256, 256>>>(x, sum, n); }
