// launch: grid(rows) block(1024)
static __global__ void gelu_bias(const float *x, const float *bias, float *y, int rows, int cols)
{
  size_t row = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 1024) {
    float v = x[row + c] + bias[c];
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    y[row + c] = 0.5f * v * (1.0f + tanhf(u));
  }
}
