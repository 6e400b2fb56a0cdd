// launch: grid(ceil_div(4 * n, 256)) block(256)
static __global__ void split_four(const float *p, float *q, int n)
{
  // Loads in order, a quarter of the lanes to each plane.
  int k = blockIdx.x * 256 + threadIdx.x;
  if (k < 4 * n)
    q[(size_t)(k & 3) * n + (k >> 2)] = p[k];
}
