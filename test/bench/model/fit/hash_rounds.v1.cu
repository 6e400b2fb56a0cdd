// launch: grid(132) block(32)
static __global__ void hash_rounds(const unsigned *x, unsigned *y, int n)
{
  // A warp a multiprocessor: latency alone.
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 132 * 32) {
    unsigned v = x[i];
    for (int k = 0; k < 48; k++) {
      v ^= v >> 15;
      v *= 0x2c1b3c6du;
      v ^= v << 7;
      v += k;
    }
    y[i] = v;
  }
}
