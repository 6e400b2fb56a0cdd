// family: strided
// Swaps rows and columns of 32 x 32 chunks: loads in order, stores with a lane
// stride of 32 floats.
// kevin: optimize let(chunks = 16384) in(x[1024 * chunks]) out(y[1024 * chunks])
static __global__ void swap_chunk(const float *x, float *y, int chunks)
{
  size_t base = (size_t)blockIdx.x * 1024;
  int t = threadIdx.x;
  for (int k = t; k < 1024; k += 256)
    y[base + (k & 31) * 32 + (k >> 5)] = x[base + k];
}

void run(const float *x, float *y, int chunks) { swap_chunk<<<chunks, 256>>>(x, y, chunks); }
