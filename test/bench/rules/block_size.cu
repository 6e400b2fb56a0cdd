// Blocks of one warp: a multiprocessor holds 32 of them, half of the warps it could.
// kevin: optimize let(n = 33554432) in(x[n]) out(y[n]) launch(tunable)
static __global__ void squash(float *y, const float *x, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] / (1.0f + fabsf(x[i]));
}

void run(float *y, const float *x, int n)
{
  squash<<<(n + 31) / 32, 32>>>(y, x, n);
}
