// family: gather
// Single floats at random from 1 MiB: sectors of L2.
// kevin: optimize let(n = 1 << 22, m = 1 << 18) in(x[m], id[n] = index(m)) out(y[n])
static __global__ void gather_near(const float *x, const int *id, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[id[i]];
}

void run(const float *x, const int *id, float *y, int n) { gather_near<<<(n + 255) / 256, 256>>>(x, id, y, n); }
