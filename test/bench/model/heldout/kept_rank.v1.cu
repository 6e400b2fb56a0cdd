static __global__ void kept_rank(const int *flag, int *rank, int n)
{
  __shared__ int s[8];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, lane = t & 31, warp = t >> 5;
  int f = i < n ? flag[i] : 0;
  unsigned votes = __ballot_sync(0xffffffffu, f);
  if (lane == 0)
    s[warp] = __popc(votes);
  __syncthreads();
  int before = __popc(votes & ((1u << lane) - 1));
  for (int k = 0; k < warp; k++)
    before += s[k];
  if (i < n)
    rank[i] = before;
}
