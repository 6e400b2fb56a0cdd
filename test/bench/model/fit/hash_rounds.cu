// family: compute
// Integer multiplications, shifts and exclusive ors: instruction issue alone.
// kevin: optimize let(n = 1 << 22) in(x[n]) out(y[n])
static __global__ void hash_rounds(const unsigned *x, unsigned *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned v = x[i];
  for (int k = 0; k < 48; k++) {
    v ^= v >> 15;
    v *= 0x2c1b3c6du;
    v ^= v << 7;
    v += k;
  }
  y[i] = v;
}

void run(const unsigned *x, unsigned *y, int n) { hash_rounds<<<(n + 255) / 256, 256>>>(x, y, n); }
