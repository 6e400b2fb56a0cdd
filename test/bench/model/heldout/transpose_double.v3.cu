// launch: grid(ceil_div(cols, 32), ceil_div(rows, 32)) block(32, 8)
static __global__ void transpose_double(const double *a, double *b, int rows, int cols)
{
  __shared__ double s[32][32];
  int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, tx = threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (r0 + k < rows && c0 + tx < cols)
      s[k][tx] = a[(size_t)(r0 + k) * cols + c0 + tx];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    if (c0 + k < cols && r0 + tx < rows)
      b[(size_t)(c0 + k) * rows + r0 + tx] = s[tx][k];
}
