// family: cache
// Sixteen passes over 4 MiB: read from L2 after the first.
// kevin: optimize let(n = 1 << 20) in(x[n]) out(y[n])
static __global__ void reuse_table(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = 0.0f;
  int step = n / 16, j = i;
  for (int k = 0; k < 16; k++) {
    v = 0.5f * v + x[j];
    j = j + step < n ? j + step : j + step - n;
  }
  y[i] = v;
}

void run(const float *x, float *y, int n) { reuse_table<<<(n + 255) / 256, 256>>>(x, y, n); }
