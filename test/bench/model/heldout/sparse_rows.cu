// family: gather
// A sparse matrix by rows times a vector, a thread a row.
// kevin: optimize let(rows = 1 << 17, filled = 24 * rows)
// kevin: in(start[rows + 1] = offsets(filled), column[filled] = index(rows), value[filled], x[rows]) out(y[rows])
// kevin: compare(tol(1e-3))
static __global__ void sparse_rows(const int *start, const int *column, const float *value, const float *x, float *y,
                                   int rows)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float sum = 0.0f;
  for (int k = start[r]; k < start[r + 1]; k++)
    sum += value[k] * x[column[k]];
  y[r] = sum;
}

void run(const int *start, const int *column, const float *value, const float *x, float *y, int rows)
{
  sparse_rows<<<(rows + 255) / 256, 256>>>(start, column, value, x, y, rows);
}
