static __global__ void count_few(const int *key, unsigned *count, int n)
{
  __shared__ unsigned s[16];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (t < 16)
    s[t] = 0;
  __syncthreads();
  if (i < n)
    atomicAdd(&s[key[i]], 1u);
  __syncthreads();
  if (t < 16)
    atomicAdd(&count[t], s[t]);
}
