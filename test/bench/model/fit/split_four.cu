// family: strided
// Points of four floats to four planes: loads with a lane stride of 4.
// kevin: optimize let(n = 1 << 23) in(p[4 * n]) out(q[4][n]) align(16)
static __global__ void split_four(const float *p, float *q, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int c = 0; c < 4; c++)
    q[(size_t)c * n + i] = p[4 * (size_t)i + c];
}

void run(const float *p, float *q, int n) { split_four<<<(n + 255) / 256, 256>>>(p, q, n); }
