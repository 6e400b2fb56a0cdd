// family: atomics
// Sixteen counters for all: atomics that meet at few addresses.
// kevin: optimize let(n = 1 << 22) in(key[n] = index(16)) inout(count[16] = 0)
static __global__ void count_few(const int *key, unsigned *count, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&count[key[i]], 1u);
}

void run(const int *key, unsigned *count, int n) { count_few<<<(n + 255) / 256, 256>>>(key, count, n); }
