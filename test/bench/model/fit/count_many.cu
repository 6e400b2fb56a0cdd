// family: atomics
// A million counters, met at random: atomics that rarely meet.
// kevin: optimize let(n = 1 << 23, bins = 1 << 20) in(key[n] = index(bins)) inout(count[bins] = 0)
static __global__ void count_many(const int *key, unsigned *count, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&count[key[i]], 1u);
}

void run(const int *key, unsigned *count, int n) { count_many<<<(n + 255) / 256, 256>>>(key, count, n); }
