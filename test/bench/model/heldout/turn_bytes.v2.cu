// launch: grid(ceil_div(cols, 32), ceil_div(rows, 32)) block(32, 8)
static __global__ void turn_bytes(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  __shared__ unsigned char s[32][33];
  int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, tx = threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (r0 + k < rows && c0 + tx < cols)
      s[k][tx] = x[(size_t)(r0 + k) * cols + c0 + tx];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    if (c0 + k < cols && r0 + tx < rows)
      y[(size_t)(cols - 1 - c0 - k) * rows + r0 + tx] = s[tx][k];
}
