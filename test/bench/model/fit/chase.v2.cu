// launch: grid(4) block(32)
static __global__ void chase(const int *next, int *last, int n)
{
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 4 * 32) {
    int p = next[i];
#pragma unroll 1
    for (int k = 1; k < 32; k++)
      p = next[p];
    last[i] = p;
  }
}
