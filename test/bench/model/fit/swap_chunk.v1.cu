static __global__ void swap_chunk(const float *x, float *y, int chunks)
{
  size_t base = (size_t)blockIdx.x * 1024;
  int t = threadIdx.x;
  for (int k = t; k < 1024; k += 256)
    y[base + k] = x[base + (k & 31) * 32 + (k >> 5)];
}
