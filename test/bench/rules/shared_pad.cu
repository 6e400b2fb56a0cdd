#define TILE 32

// Written along rows, read down columns, which all lie on one bank.
// kevin: optimize let((rows, cols) = {(8192, 8192), (8190, 4098)})
// kevin: in(src[rows][cols]) out(dst[cols][rows])
static __global__ void tile_transpose(float *dst, const float *src, int rows, int cols)
{
  __shared__ float t[TILE][TILE];
  int c = blockIdx.x * TILE + threadIdx.x;
  int r = blockIdx.y * TILE + threadIdx.y;
  if (r < rows && c < cols)
    t[threadIdx.y][threadIdx.x] = src[(size_t)r * cols + c];
  __syncthreads();
  c = blockIdx.x * TILE + threadIdx.y;
  r = blockIdx.y * TILE + threadIdx.x;
  if (r < rows && c < cols)
    dst[(size_t)c * rows + r] = t[threadIdx.x][threadIdx.y];
}

void run(float *dst, const float *src, int rows, int cols)
{
  tile_transpose<<<dim3((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE), dim3(TILE, TILE)>>>(dst, src, rows, cols);
}
