// launch: grid(132) block(64)
static __global__ void count_many(const int *key, unsigned *count, int n)
{
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 132 * 64)
    atomicAdd(&count[key[i]], 1u);
}
