static __global__ void kept_rank(const int *flag, int *rank, int n)
{
  // One thread counts for all.
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? flag[i] : 0;
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int k = 0; k < 256; k++) {
      int f = s[k];
      s[k] = sum;
      sum += f;
    }
  }
  __syncthreads();
  if (i < n)
    rank[i] = s[t];
}
