// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void hash_rounds(const unsigned *x, unsigned *y, int n)
{
  // Four numbers a thread, in turn within each round.
  int i = blockIdx.x * 1024 + threadIdx.x;
  unsigned v[4];
  for (int c = 0; c < 4; c++)
    v[c] = i + 256 * c < n ? x[i + 256 * c] : 0;
  for (int k = 0; k < 48; k++)
    for (int c = 0; c < 4; c++) {
      v[c] ^= v[c] >> 15;
      v[c] *= 0x2c1b3c6du;
      v[c] ^= v[c] << 7;
      v[c] += k;
    }
  for (int c = 0; c < 4; c++)
    if (i + 256 * c < n)
      y[i + 256 * c] = v[c];
}
