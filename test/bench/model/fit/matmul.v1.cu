static __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    as[ty][tx] = row < m && k0 + tx < k ? a[(size_t)row * k + k0 + tx] : 0.0f;
    bs[ty][tx] = col < n && k0 + ty < k ? b[(size_t)(k0 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; i++)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n)
    c[(size_t)row * n + col] = sum;
}
