// family: matmul
// kevin: optimize let(m = 2048, n = 2048, k = 2048) in(a[m][k], b[k][n]) out(c[m][n])
// kevin: compare(tol(1e-3))
static __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || col >= n)
    return;
  float sum = 0.0f;
  for (int i = 0; i < k; i++)
    sum += a[(size_t)row * k + i] * b[(size_t)i * n + col];
  c[(size_t)row * n + col] = sum;
}

void run(const float *a, const float *b, float *c, int m, int n, int k)
{
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
