// family: strided
// Eight planes to records of eight floats: stores with a lane stride of 8.
// kevin: optimize let(n = 1 << 21) in(q[8][n]) out(p[8 * n]) align(16)
static __global__ void join_eight(const float *q, float *p, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int c = 0; c < 8; c++)
    p[8 * (size_t)i + c] = q[(size_t)c * n + i];
}

void run(const float *q, float *p, int n) { join_eight<<<(n + 255) / 256, 256>>>(q, p, n); }
