// launch: grid(ceil_div(rows, 8)) block(32, 8)
static __global__ void matvec(const float *a, const float *x, float *y, int rows, int cols)
{
  int r = blockIdx.x * 8 + threadIdx.y;
  if (r >= rows)
    return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32)
    sum += a[(size_t)r * cols + c] * x[c];
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x == 0)
    y[r] = sum;
}
