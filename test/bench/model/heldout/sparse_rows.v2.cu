// launch: grid(ceil_div(rows, 32)) block(256)
static __global__ void sparse_rows(const int *start, const int *column, const float *value, const float *x, float *y,
                                   int rows)
{
  // Eight threads a row.
  int r = blockIdx.x * 32 + (threadIdx.x >> 3), lane = threadIdx.x & 7;
  float sum = 0.0f;
  if (r < rows)
    for (int k = start[r] + lane, end = start[r + 1]; k < end; k += 8)
      sum += value[k] * x[column[k]];
  for (int d = 4; d > 0; d >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, d, 8);
  if (r < rows && lane == 0)
    y[r] = sum;
}
