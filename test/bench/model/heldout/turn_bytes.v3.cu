// launch: grid(ceil_div(cols, 128), ceil_div(rows, 128)) block(128, 4)
static __global__ void turn_bytes(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  // Tiles of 128 bytes a side: whole lines both ways.
  __shared__ unsigned char s[128][132];
  int c0 = blockIdx.x * 128, r0 = blockIdx.y * 128, tx = threadIdx.x;
  for (int k = threadIdx.y; k < 128; k += 4)
    if (r0 + k < rows && c0 + tx < cols)
      s[k][tx] = x[(size_t)(r0 + k) * cols + c0 + tx];
  __syncthreads();
  for (int k = threadIdx.y; k < 128; k += 4)
    if (c0 + k < cols && r0 + tx < rows)
      y[(size_t)(cols - 1 - c0 - k) * rows + r0 + tx] = s[tx][k];
}
