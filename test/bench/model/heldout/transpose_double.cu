// family: transpose
// kevin: optimize let(rows = 3000, cols = 5000) in(a[rows][cols]) out(b[cols][rows])
static __global__ void transpose_double(const double *a, double *b, int rows, int cols)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols)
    b[(size_t)c * rows + r] = a[(size_t)r * cols + c];
}

void run(const double *a, double *b, int rows, int cols)
{
  transpose_double<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(a, b, rows, cols);
}
