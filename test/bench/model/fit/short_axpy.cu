// family: short
// A few microseconds: launching and ending count.
// kevin: optimize let(n = 1 << 17) in(x[n]) inout(y[n]) require(n % 4 == 0) align(16)
static __global__ void short_axpy(float a, const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}

void run(float a, const float *x, float *y, int n) { short_axpy<<<(n + 255) / 256, 256>>>(a, x, y, n); }
