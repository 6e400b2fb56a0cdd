// launch: grid(ceil_div(n, 1024)) block(1024)
static __global__ void chase(const int *next, int *last, int n)
{
  int i = blockIdx.x * 1024 + threadIdx.x;
  if (i >= n)
    return;
  int p = next[i];
  for (int k = 1; k < 32; k++)
    p = next[p];
  last[i] = p;
}
