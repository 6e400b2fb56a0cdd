// family: histogram
// Pairs of labels, 64 by 64: how often each pair occurs.
// kevin: optimize let(n = 1 << 23) in(a[n] = index(64), b[n] = index(64)) inout(count[64][64] = 0)
static __global__ void joint_histogram(const int *a, const int *b, unsigned *count, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&count[a[i] * 64 + b[i]], 1u);
}

void run(const int *a, const int *b, unsigned *count, int n)
{
  joint_histogram<<<(n + 127) / 128, 128>>>(a, b, count, n);
}
