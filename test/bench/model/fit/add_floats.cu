// family: atomics
// Floats added to 4096 places in turn: neighbouring lanes, neighbouring addresses.
// kevin: optimize let(n = 1 << 22) in(x[n] = uniform(0, 1)) inout(y[4096] = 0) compare(tol(1e-3))
static __global__ void add_floats(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&y[i & 4095], x[i]);
}

void run(const float *x, float *y, int n) { add_floats<<<(n + 255) / 256, 256>>>(x, y, n); }
