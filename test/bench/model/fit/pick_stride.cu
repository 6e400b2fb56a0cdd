// family: strided
// Every sixteenth float: a sector fetched for each float used.
// kevin: optimize let(n = 1 << 22) in(x[16 * n]) out(y[n])
static __global__ void pick_stride(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[16 * (size_t)i];
}

void run(const float *x, float *y, int n) { pick_stride<<<(n + 255) / 256, 256>>>(x, y, n); }
