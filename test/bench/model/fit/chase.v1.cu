// launch: grid(ceil_div(n, 512)) block(128)
static __global__ void chase(const int *next, int *last, int n)
{
  // Four chains a thread.
  int i = blockIdx.x * 512 + threadIdx.x, p[4];
  for (int c = 0; c < 4; c++)
    p[c] = i + 128 * c < n ? next[i + 128 * c] : 0;
  for (int k = 1; k < 32; k++)
    for (int c = 0; c < 4; c++)
      p[c] = next[p[c]];
  for (int c = 0; c < 4; c++)
    if (i + 128 * c < n)
      last[i + 128 * c] = p[c];
}
