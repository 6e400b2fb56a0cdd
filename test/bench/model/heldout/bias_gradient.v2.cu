// launch: grid(ceil_div(cols, 256), ceil_div(rows, 128)) block(256)
static __global__ void bias_gradient(const float *x, float *sum, int rows, int cols)
{
  int c = blockIdx.x * 256 + threadIdx.x;
  if (c >= cols)
    return;
  int r0 = blockIdx.y * 128, end = r0 + 128 < rows ? r0 + 128 : rows;
  float s = 0.0f;
  for (int r = r0; r < end; r++)
    s += x[(size_t)r * cols + c];
  atomicAdd(&sum[c], s);
}
