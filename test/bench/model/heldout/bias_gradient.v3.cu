// launch: grid(ceil_div(cols, 32)) block(32)
static __global__ void bias_gradient(const float *x, float *sum, int rows, int cols)
{
  int c = blockIdx.x * 32 + threadIdx.x;
  if (c >= cols)
    return;
  float a = 0.0f, b = 0.0f, d = 0.0f, e = 0.0f;
  int r = 0;
  for (; r + 3 < rows; r += 4) {
    a += x[(size_t)r * cols + c];
    b += x[(size_t)(r + 1) * cols + c];
    d += x[(size_t)(r + 2) * cols + c];
    e += x[(size_t)(r + 3) * cols + c];
  }
  for (; r < rows; r++)
    a += x[(size_t)r * cols + c];
  sum[c] += a + b + (d + e);
}
