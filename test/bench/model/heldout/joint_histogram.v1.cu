// launch: grid(264) block(512)
static __global__ void joint_histogram(const int *a, const int *b, unsigned *count, int n)
{
  __shared__ unsigned s[4096];
  int t = threadIdx.x;
  for (int k = t; k < 4096; k += 512)
    s[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 512 + t; i < n; i += gridDim.x * 512)
    atomicAdd(&s[a[i] * 64 + b[i]], 1u);
  __syncthreads();
  for (int k = t; k < 4096; k += 512)
    atomicAdd(&count[k], s[k]);
}
