// family: stream
// The plainest kernel: one float a thread, more than any cache holds.
// kevin: optimize let(n = 1 << 26) in(x[n]) out(y[n]) require(n % 4 == 0) align(16)
static __global__ void copy(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}

void run(const float *x, float *y, int n) { copy<<<(n + 255) / 256, 256>>>(x, y, n); }
