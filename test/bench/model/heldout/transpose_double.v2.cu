static __global__ void transpose_double(const double *a, double *b, int rows, int cols)
{
  __shared__ double s[16][17];
  int x = threadIdx.x, y = threadIdx.y;
  int c = blockIdx.x * 16 + x, r = blockIdx.y * 16 + y;
  if (r < rows && c < cols)
    s[y][x] = a[(size_t)r * cols + c];
  __syncthreads();
  c = blockIdx.x * 16 + y;
  r = blockIdx.y * 16 + x;
  if (r < rows && c < cols)
    b[(size_t)c * rows + r] = s[x][y];
}
