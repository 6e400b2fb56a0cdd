// launch: grid(ceil_div(n, 8192)) block(256)
static __global__ void value_histogram(const float *x, int *count, int n)
{
  __shared__ int s[100];
  int t = threadIdx.x, first = blockIdx.x * 8192 + t;
  if (t < 100)
    s[t] = 0;
  __syncthreads();
  for (int k = 0; k < 32; k++) {
    int i = first + k * 256;
    if (i < n) {
      float v = x[i];
      if (v >= 0.0f && v < 1.0f)
        atomicAdd(&s[min((int)(v * 100.0f), 99)], 1);
    }
  }
  __syncthreads();
  if (t < 100 && s[t])
    atomicAdd(&count[t], s[t]);
}
