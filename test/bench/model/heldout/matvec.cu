// family: matmul
// A matrix times a vector, a thread a row.
// kevin: optimize let(rows = 8192, cols = 4096) in(a[rows][cols], x[cols]) out(y[rows])
// kevin: require(cols % 4 == 0) align(16) compare(tol(1e-3))
static __global__ void matvec(const float *a, const float *x, float *y, int rows, int cols)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float sum = 0.0f;
  for (int c = 0; c < cols; c++)
    sum += a[(size_t)r * cols + c] * x[c];
  y[r] = sum;
}

void run(const float *a, const float *x, float *y, int rows, int cols)
{
  matvec<<<(rows + 127) / 128, 128>>>(a, x, y, rows, cols);
}
