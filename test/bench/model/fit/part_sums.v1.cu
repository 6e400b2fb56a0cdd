// launch: grid(ceil_div(parts, 8)) block(256)
static __global__ void part_sums(const float *x, float *y, int parts)
{
  int p = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (p >= parts)
    return;
  float v = 0.0f;
  for (int k = lane; k < 1024; k += 32)
    v += x[(size_t)p * 1024 + k];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if (lane == 0)
    y[p] = v;
}
