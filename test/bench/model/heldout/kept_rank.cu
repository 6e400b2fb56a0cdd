// family: scan
// For each element the number of kept ones before it in its block of 256, as
// compaction needs it.
// kevin: optimize let(n = 1 << 24) in(flag[n] = index(2)) out(rank[n])
static __global__ void kept_rank(const int *flag, int *rank, int n)
{
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  int f = i < n ? flag[i] : 0;
  s[t] = f;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (i < n)
    rank[i] = s[t] - f;
}

void run(const int *flag, int *rank, int n) { kept_rank<<<(n + 255) / 256, 256>>>(flag, rank, n); }
