// launch: grid(264) block(256)
static __global__ void byte_histogram(const unsigned char *x, unsigned *count, int n)
{
  __shared__ unsigned s[256];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
    atomicAdd(&s[x[i]], 1u);
  __syncthreads();
  atomicAdd(&count[t], s[t]);
}
