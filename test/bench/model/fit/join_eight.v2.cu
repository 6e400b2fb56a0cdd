// launch: grid(ceil_div(8 * n, 256)) block(256)
static __global__ void join_eight(const float *q, float *p, int n)
{
  // Stores in order, loads from eight planes.
  int k = blockIdx.x * 256 + threadIdx.x;
  if (k < 8 * n)
    p[k] = q[(size_t)(k & 7) * n + (k >> 3)];
}
