// family: reduction
// Sums of columns, as a bias' gradient is.
// kevin: optimize let(rows = 8192, cols = 1024) in(x[rows][cols] = uniform(0, 1)) inout(sum[cols] = 0) compare(tol(1e-3))
static __global__ void bias_gradient(const float *x, float *sum, int rows, int cols)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols)
    return;
  float s = 0.0f;
  for (int r = 0; r < rows; r++)
    s += x[(size_t)r * cols + c];
  sum[c] += s;
}

void run(const float *x, float *sum, int rows, int cols)
{
  bias_gradient<<<(cols + 255) / 256, 256>>>(x, sum, rows, cols);
}
