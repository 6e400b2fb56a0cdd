// launch: grid(132) block(256)
static __global__ void byte_histogram(const unsigned char *x, unsigned *count, int n)
{
  // Four bytes at a time, a table for each warp.
  __shared__ unsigned s[8][256];
  int t = threadIdx.x;
  unsigned *mine = s[t / 32];
  for (int k = 0; k < 8; k++)
    s[k][t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + t; i < n / 4; i += gridDim.x * 256) {
    unsigned v = ((const unsigned *)x)[i];
    atomicAdd(&mine[v & 255], 1u);
    atomicAdd(&mine[v >> 8 & 255], 1u);
    atomicAdd(&mine[v >> 16 & 255], 1u);
    atomicAdd(&mine[v >> 24], 1u);
  }
  __syncthreads();
  unsigned sum = 0;
  for (int k = 0; k < 8; k++)
    sum += s[k][t];
  atomicAdd(&count[t], sum);
}
