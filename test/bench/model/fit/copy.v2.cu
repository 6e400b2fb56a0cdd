// launch: grid(ceil_div(n, 1024)) block(1024)
static __global__ void copy(const float *x, float *y, int n)
{
  // Lane stride of 32 floats on both sides: every lane a sector of its own.
  int i = blockIdx.x * 1024 + (threadIdx.x & 31) * 32 + (threadIdx.x >> 5);
  if (i < n)
    y[i] = x[i];
}
