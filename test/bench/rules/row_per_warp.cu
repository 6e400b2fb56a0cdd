// A thread a row: neighbours read a row's length apart.
// kevin: optimize let((rows, cols) = {(16384, 1024), (16383, 999)}) in(x[rows][cols]) out(y[rows])
static __global__ void row_energy(float *y, const float *x, int rows, int cols)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float sum = 0;
  for (int c = 0; c < cols; c++) {
    float v = x[(size_t)r * cols + c];
    sum += v * v;
  }
  y[r] = sum;
}

void run(float *y, const float *x, int rows, int cols)
{
  row_energy<<<(rows + 127) / 128, 128>>>(y, x, rows, cols);
}
