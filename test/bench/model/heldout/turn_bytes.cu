// family: transpose
// A picture of bytes turned by a quarter: column c becomes row cols - 1 - c.
// kevin: optimize let(rows = 6000, cols = 8000) in(x[rows][cols]) out(y[cols][rows])
static __global__ void turn_bytes(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols)
    y[(size_t)(cols - 1 - c) * rows + r] = x[(size_t)r * cols + c];
}

void run(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  turn_bytes<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8)>>>(x, y, rows, cols);
}
