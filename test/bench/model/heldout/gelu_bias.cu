// family: elementwise
// Bias and GELU after a linear layer, in place of two kernels.
// kevin: optimize let(rows = 4096, cols = 3072) in(x[rows][cols], bias[cols]) out(y[rows][cols])
// kevin: require(cols % 4 == 0) align(16) compare(tol(1e-4))
static __global__ void gelu_bias(const float *x, const float *bias, float *y, int rows, int cols)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) {
    float v = x[i] + bias[i % cols];
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1.0f + tanhf(u));
  }
}

void run(const float *x, const float *bias, float *y, int rows, int cols)
{
  gelu_bias<<<(rows * cols + 255) / 256, 256>>>(x, bias, y, rows, cols);
}
