// family: histogram
// Values in a hundred equal steps; what lies outside is not counted. A table a
// block, given back after 256 values.
// kevin: optimize let(n = 10000000) in(x[n] = normal(0.5, 0.25)) inout(count[100] = 0)
static __global__ void value_histogram(const float *x, int *count, int n)
{
  __shared__ int s[100];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (t < 100)
    s[t] = 0;
  __syncthreads();
  if (i < n) {
    float v = x[i];
    if (v >= 0.0f && v < 1.0f)
      atomicAdd(&s[min((int)(v * 100.0f), 99)], 1);
  }
  __syncthreads();
  if (t < 100)
    atomicAdd(&count[t], s[t]);
}

void run(const float *x, int *count, int n) { value_histogram<<<(n + 255) / 256, 256>>>(x, count, n); }
