// family: compute
// Double arithmetic where it may be single.
// kevin: optimize let(n = 1 << 22) in(x[n] = uniform(0, 1)) out(y[n]) compare(tol(1e-4))
static __global__ void double_poly(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double v = x[i], r = 1.0;
  for (int k = 0; k < 64; k++)
    r = r * v * 0.5 + 0.125;
  y[i] = (float)r;
}

void run(const float *x, float *y, int n) { double_poly<<<(n + 255) / 256, 256>>>(x, y, n); }
