// family: latency
// Each thread follows 32 links through 16 MiB: nothing but latency.
// kevin: optimize let(n = 1 << 15, m = 1 << 22) in(next[m] = index(m)) out(last[n]) require(n <= m)
static __global__ void chase(const int *next, int *last, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int p = next[i];
  for (int k = 1; k < 32; k++)
    p = next[p];
  last[i] = p;
}

void run(const int *next, int *last, int n) { chase<<<(n + 127) / 128, 128>>>(next, last, n); }
