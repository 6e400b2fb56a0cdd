// family: reduction
// A dot product by 1024 blocks that stride through both vectors.
// kevin: optimize let(n = 20000000) in(x[n] = uniform(0, 1), y[n] = uniform(0, 1)) inout(sum[1] = 0)
// kevin: compare(tol(1e-3)) align(16)
static __global__ void dot(const float *x, const float *y, float *sum, int n)
{
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = 0.0f;
  for (int i = blockIdx.x * 256 + t; i < n; i += 1024 * 256)
    v += x[i] * y[i];
  s[t] = v;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(sum, s[0]);
}

void run(const float *x, const float *y, float *sum, int n) { dot<<<1024, 256>>>(x, y, sum, n); }
