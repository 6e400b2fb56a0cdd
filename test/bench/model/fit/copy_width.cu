// family: stream
// Scalar streaming with more or less in flight: width of the block, loads a thread.
// kevin: optimize let(n = 1 << 24) in(x[n]) out(y[n])
static __global__ void copy_width(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2.0f * x[i];
}

void run(const float *x, float *y, int n) { copy_width<<<(n + 63) / 64, 64>>>(x, y, n); }
