// launch: grid(chunks) block(1024)
static __global__ void swap_chunk(const float *x, float *y, int chunks)
{
  size_t base = (size_t)blockIdx.x * 1024;
  int k = threadIdx.x;
  y[base + (k & 31) * 32 + (k >> 5)] = x[base + k];
}
