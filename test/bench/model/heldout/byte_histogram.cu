// family: histogram
// How often each byte occurs.
// kevin: optimize let(n = 1 << 22) in(x[n] = index(256)) inout(count[256] = 0) require(n % 4 == 0) align(16)
static __global__ void byte_histogram(const unsigned char *x, unsigned *count, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&count[x[i]], 1u);
}

void run(const unsigned char *x, unsigned *count, int n) { byte_histogram<<<(n + 255) / 256, 256>>>(x, count, n); }
