// family: gather
// Single floats at random from 256 MiB: a sector of DRAM for each.
// kevin: optimize let(n = 1 << 22, m = 1 << 26) in(x[m], id[n] = index(m)) out(y[n])
static __global__ void gather_far(const float *x, const int *id, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[id[i]];
}

void run(const float *x, const int *id, float *y, int n) { gather_far<<<(n + 255) / 256, 256>>>(x, id, y, n); }
