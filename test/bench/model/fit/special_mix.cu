// family: compute
// Exponentials, logarithms, sines, powers: the special unit and what precedes it.
// kevin: optimize let(n = 1 << 23) in(x[n] = uniform(0.1, 2)) out(y[n]) compare(tol(1e-3))
static __global__ void special_mix(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = expf(-v) + logf(v + 1.0f) * sinf(v) + powf(v, 1.7f);
  }
}

void run(const float *x, float *y, int n) { special_mix<<<(n + 255) / 256, 256>>>(x, y, n); }
