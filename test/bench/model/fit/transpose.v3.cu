// launch: grid(ceil_div(cols, 8), ceil_div(rows, 32)) block(32, 8)
static __global__ void transpose(const float *a, float *t, int rows, int cols)
{
  // Stores in order, loads with a lane stride of a row.
  int r = blockIdx.y * 32 + threadIdx.x, c = blockIdx.x * 8 + threadIdx.y;
  if (r < rows && c < cols)
    t[(size_t)c * rows + r] = a[(size_t)r * cols + c];
}
