// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void count_many(const int *key, unsigned *count, int n)
{
  for (int k = 0; k < 4; k++) {
    int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i < n)
      atomicAdd(&count[key[i]], 1u);
  }
}
