// launch: grid(ceil_div(cols, 8), ceil_div(rows, 128)) block(128, 8)
static __global__ void turn_bytes(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  int r = blockIdx.y * 128 + threadIdx.x, c = blockIdx.x * 8 + threadIdx.y;
  if (r < rows && c < cols)
    y[(size_t)(cols - 1 - c) * rows + r] = x[(size_t)r * cols + c];
}
