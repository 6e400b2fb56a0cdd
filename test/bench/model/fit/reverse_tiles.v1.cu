static __global__ void reverse_tiles(const float *x, float *y, int tiles)
{
  size_t base = (size_t)blockIdx.x * 8192;
  for (int k = threadIdx.x; k < 8192; k += 128)
    y[base + k] = x[base + 8191 - k];
}
