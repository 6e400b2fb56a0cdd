static __global__ void hash_rounds(const unsigned *x, unsigned *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned v = x[i];
#pragma unroll 1
  for (int k = 0; k < 48; k++) {
    v ^= v >> 15;
    v *= 0x2c1b3c6du;
    v ^= v << 7;
    v += k;
  }
  y[i] = v;
}
