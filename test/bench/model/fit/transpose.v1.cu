static __global__ void transpose(const float *a, float *t, int rows, int cols)
{
  __shared__ float s[32][32];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < rows && c < cols)
      s[threadIdx.y + k][threadIdx.x] = a[(size_t)(r + k) * cols + c];
  __syncthreads();
  int tc = blockIdx.y * 32 + threadIdx.x, tr = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (tr + k < cols && tc < rows)
      t[(size_t)(tr + k) * rows + tc] = s[threadIdx.x][threadIdx.y + k];
}
