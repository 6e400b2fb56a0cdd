// family: scan
// Running sums along rows, a thread a row.
// kevin: optimize let(rows = 4096, cols = 2048) in(x[rows][cols] = uniform(0, 1)) out(y[rows][cols]) compare(tol(1e-4))
static __global__ void row_cumsum(const float *x, float *y, int rows, int cols)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float sum = 0.0f;
  for (int c = 0; c < cols; c++) {
    sum += x[(size_t)r * cols + c];
    y[(size_t)r * cols + c] = sum;
  }
}

void run(const float *x, float *y, int rows, int cols) { row_cumsum<<<(rows + 63) / 64, 64>>>(x, y, rows, cols); }
