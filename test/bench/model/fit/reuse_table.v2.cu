// launch: grid(132) block(256)
static __global__ void reuse_table(const float *x, float *y, int n)
{
  int step = n / 16;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 132 * 256) {
    float v = 0.0f;
    int j = i;
#pragma unroll 1
    for (int k = 0; k < 16; k++) {
      v = 0.5f * v + x[j];
      j = j + step < n ? j + step : j + step - n;
    }
    y[i] = v;
  }
}
