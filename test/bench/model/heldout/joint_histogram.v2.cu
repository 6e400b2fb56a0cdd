// launch: grid(ceil_div(n, 2048)) block(256)
static __global__ void joint_histogram(const int *a, const int *b, unsigned *count, int n)
{
  // As good as the last, but its table is cleared and given back for every 2048 pairs.
  __shared__ unsigned s[4096];
  int t = threadIdx.x, first = blockIdx.x * 2048 + t;
  for (int k = t; k < 4096; k += 256)
    s[k] = 0;
  __syncthreads();
  for (int k = 0; k < 8; k++)
    if (first + 256 * k < n)
      atomicAdd(&s[a[first + 256 * k] * 64 + b[first + 256 * k]], 1u);
  __syncthreads();
  for (int k = t; k < 4096; k += 256)
    if (s[k])
      atomicAdd(&count[k], s[k]);
}
