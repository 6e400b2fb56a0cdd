// launch: grid(264) block(256)
static __global__ void count_few(const int *key, unsigned *count, int n)
{
  // A copy for each lane: no two lanes of a warp meet.
  __shared__ unsigned s[16 * 32];
  int t = threadIdx.x, lane = t & 31;
  s[t] = 0;
  s[t + 256] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + t; i < n; i += 264 * 256)
    atomicAdd(&s[key[i] * 32 + lane], 1u);
  __syncthreads();
  if (t < 16) {
    unsigned sum = 0;
    for (int k = 0; k < 32; k++)
      sum += s[t * 32 + ((k + t) & 31)];
    atomicAdd(&count[t], sum);
  }
}
