// family: occupancy
// A polynomial of 262144 numbers by eight blocks: most of the GPU is idle.
// kevin: optimize let(n = 1 << 18) in(x[n] = uniform(-1, 1)) out(y[n])
static __global__ void few_blocks(const float *x, float *y, int n)
{
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256) {
    float v = x[i], r = 0.5f;
    for (int k = 0; k < 32; k++)
      r = r * v + 0.25f;
    y[i] = r;
  }
}

void run(const float *x, float *y, int n) { few_blocks<<<8, 256>>>(x, y, n); }
