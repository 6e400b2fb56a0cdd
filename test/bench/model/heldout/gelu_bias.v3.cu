static __global__ void gelu_bias(const float *x, const float *bias, float *y, int rows, int cols)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) {
    double v = x[i] + bias[i % cols];
    y[i] = 0.5 * v * (1.0 + tanhf(0.7978845608 * (v + 0.044715 * v * v * v)));
  }
}
