// family: shared
// Rounds of mixing within 512 numbers: little but barriers.
// kevin: optimize let(blocks = 4096) in(x[512 * blocks]) out(y[512 * blocks])
static __global__ void barrier_rounds(const float *x, float *y, int blocks)
{
  __shared__ float s[512];
  int t = threadIdx.x;
  s[t] = x[(size_t)blockIdx.x * 512 + t];
  __syncthreads();
  for (int r = 0; r < 27; r++) {
    float v = s[t] + 0.25f * s[t ^ (1 << r % 9)];
    __syncthreads();
    s[t] = 0.75f * v;
    __syncthreads();
  }
  y[(size_t)blockIdx.x * 512 + t] = s[t];
}

void run(const float *x, float *y, int blocks) { barrier_rounds<<<blocks, 512>>>(x, y, blocks); }
