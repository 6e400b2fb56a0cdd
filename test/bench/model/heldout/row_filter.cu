// family: stencil
// A filter of 17 taps along the rows of an image, zero outside.
// kevin: optimize let(rows = 2160, cols = 3840) in(x[rows][cols], tap[17]) out(y[rows][cols]) compare(tol(1e-4))
static __global__ void row_filter(const float *x, const float *tap, float *y, int rows, int cols)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c >= cols)
    return;
  float sum = 0.0f;
  for (int k = 0; k < 17; k++) {
    int p = c + k - 8;
    if (p >= 0 && p < cols)
      sum += tap[k] * x[(size_t)r * cols + p];
  }
  y[(size_t)r * cols + c] = sum;
}

void run(const float *x, const float *tap, float *y, int rows, int cols)
{
  row_filter<<<dim3((cols + 127) / 128, rows), 128>>>(x, tap, y, rows, cols);
}
