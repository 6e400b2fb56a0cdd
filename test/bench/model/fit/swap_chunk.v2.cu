static __global__ void swap_chunk(const float *x, float *y, int chunks)
{
  __shared__ float s[32 * 33];
  size_t base = (size_t)blockIdx.x * 1024;
  int t = threadIdx.x;
  for (int k = t; k < 1024; k += 256)
    s[(k >> 5) * 33 + (k & 31)] = x[base + k];
  __syncthreads();
  for (int k = t; k < 1024; k += 256)
    y[base + k] = s[(k & 31) * 33 + (k >> 5)];
}
