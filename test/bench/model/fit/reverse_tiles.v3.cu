// launch: grid(tiles) block(32)
static __global__ void reverse_tiles(const float *x, float *y, int tiles)
{
  __shared__ float s[8192];
  size_t base = (size_t)blockIdx.x * 8192;
  for (int k = threadIdx.x; k < 8192; k += 32)
    s[k] = x[base + k];
  __syncwarp();
  for (int k = threadIdx.x; k < 8192; k += 32)
    y[base + k] = s[8191 - k];
}
