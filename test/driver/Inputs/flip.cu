// A transposition whose stores are far apart.

// kevin: optimize let((rows, cols) = {(1024, 1024)}) in(src[rows][cols]) out(dst[cols][rows])
static __global__ void flip(float *dst, const float *src, int rows, int cols)
{
  int c = blockIdx.x * 16 + threadIdx.x;
  int r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < cols)
    dst[c * rows + r] = src[r * cols + c];
}

void launch_flip(float *dst, const float *src, int rows, int cols)
{
  dim3 grid((cols + 15) / 16, (rows + 15) / 16), block(16, 16);
  flip<<<grid, block>>>(dst, src, rows, cols);
}
