// launch: grid(ceil_div(rows, 8)) block(256)
static __global__ void sparse_rows(const int *start, const int *column, const float *value, const float *x, float *y,
                                   int rows)
{
  // A warp a row.
  int r = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (r >= rows)
    return;
  float sum = 0.0f;
  for (int k = start[r] + lane, end = start[r + 1]; k < end; k += 32)
    sum += value[k] * x[column[k]];
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0)
    y[r] = sum;
}
