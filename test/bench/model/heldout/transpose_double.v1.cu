// launch: grid(ceil_div(cols, 256), rows) block(256)
static __global__ void transpose_double(const double *a, double *b, int rows, int cols)
{
  int c = blockIdx.x * 256 + threadIdx.x, r = blockIdx.y;
  if (c < cols)
    b[(size_t)c * rows + r] = a[(size_t)r * cols + c];
}
