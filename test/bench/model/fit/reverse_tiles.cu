// family: occupancy
// Tiles of 8192 floats turned around. A tile in shared memory leaves room for
// few blocks.
// kevin: optimize let(tiles = 2048) in(x[8192 * tiles]) out(y[8192 * tiles])
static __global__ void reverse_tiles(const float *x, float *y, int tiles)
{
  __shared__ float s[8192];
  size_t base = (size_t)blockIdx.x * 8192;
  for (int k = threadIdx.x; k < 8192; k += 128)
    s[k] = x[base + k];
  __syncthreads();
  for (int k = threadIdx.x; k < 8192; k += 128)
    y[base + k] = s[8191 - k];
}

void run(const float *x, float *y, int tiles) { reverse_tiles<<<tiles, 128>>>(x, y, tiles); }
