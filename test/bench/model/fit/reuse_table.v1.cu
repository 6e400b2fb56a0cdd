// launch: grid(ceil_div(n, 1024)) block(128)
static __global__ void reuse_table(const float *x, float *y, int n)
{
  int step = n / 16;
#pragma unroll 1
  for (int c = 0; c < 8; c++) {
    int i = blockIdx.x * 1024 + c * 128 + threadIdx.x, j = i;
    if (i >= n)
      return;
    float v = 0.0f;
#pragma unroll
    for (int k = 0; k < 16; k++) {
      v = 0.5f * v + x[j];
      j = j + step < n ? j + step : j + step - n;
    }
    y[i] = v;
  }
}
