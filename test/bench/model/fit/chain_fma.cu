// family: latency
// A long chain of multiply-adds a thread, few threads: arithmetic latency.
// kevin: optimize let(n = 1 << 14) in(x[n] = uniform(0, 1)) out(y[n])
static __global__ void chain_fma(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i], r = 1.0f;
  for (int k = 0; k < 1024; k++)
    r = r * v * 0.5f + 0.125f;
  y[i] = r;
}

void run(const float *x, float *y, int n) { chain_fma<<<(n + 127) / 128, 128>>>(x, y, n); }
