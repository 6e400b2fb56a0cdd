// family: divergence
// Odd numbers take a long path, even ones another.
// kevin: optimize let(n = 1 << 22) in(x[n]) out(y[n]) require(n % 64 == 0)
static __global__ void odd_even(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  if (i & 1) {
    for (int k = 0; k < 40; k++)
      v = v * 0.75f + 0.5f;
  } else {
    for (int k = 0; k < 40; k++)
      v = 0.25f - v * 0.5f;
  }
  y[i] = v;
}

void run(const float *x, float *y, int n) { odd_even<<<(n + 255) / 256, 256>>>(x, y, n); }
