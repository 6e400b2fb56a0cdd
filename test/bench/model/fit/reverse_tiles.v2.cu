// launch: grid(tiles, 32) block(256)
static __global__ void reverse_tiles(const float *x, float *y, int tiles)
{
  size_t base = (size_t)blockIdx.x * 8192;
  int k = blockIdx.y * 256 + threadIdx.x;
  y[base + k] = x[base + 8191 - k];
}
