static __global__ void value_histogram(const float *x, int *count, int n)
{
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    float v = x[i];
    if (v >= 0.0f && v < 1.0f)
      atomicAdd(&count[min((int)(v * 100.0f), 99)], 1);
  }
}
