// family: reduction
// The sum of squares over all gradients.
// kevin: optimize let(n = 1 << 24) in(g[n] = uniform(-1, 1)) inout(sum[1] = 0) compare(tol(1e-3))
static __global__ void gradient_norm(const float *g, double *sum, int n)
{
  __shared__ double s[512];
  int t = threadIdx.x;
  double v = 0.0;
  for (int i = blockIdx.x * 512 + t; i < n; i += 264 * 512)
    v += (double)g[i] * g[i];
  s[t] = v;
  __syncthreads();
  for (int w = 256; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(sum, s[0]);
}

void run(const float *g, double *sum, int n) { gradient_norm<<<264, 512>>>(g, sum, n); }
