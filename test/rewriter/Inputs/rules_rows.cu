// Rows walked along by one thread each.

// kevin: optimize let(n = 1000, m = 77) in(x[n][m]) out(y[n]) block(64) grid(ceil_div(n, 64))
__global__ void row_sum(const float *x, float *y, int n, int m)
{
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) {
    float sum = 0.5f, best = -1e30f;
    for (int j = 0; j < m; j++) {
      sum += x[row * m + j];
      best = fmaxf(best, x[row * m + j]);
    }
    y[row] = sum + best;
  }
}

// kevin: optimize let(n = 500, m = 65) in(x[n][m]) out(y[n][m]) block(96) grid(ceil_div(n, 96))
__global__ void row_softmax(const float *x, float *y, int n, int m)
{
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float m0 = -INFINITY, sum = 0;
  for (int j = 0; j < m; ++j) m0 = fmaxf(m0, x[row * m + j]);
  for (int j = 0; j < m; ++j) sum += expf(x[row * m + j] - m0);
  for (int j = 0; j < m; ++j) y[row * m + j] = expf(x[row * m + j] - m0) / sum;
}

// kevin: optimize let(n = 700) let(nnz = 11 * n) in(ptr[n + 1] = offsets(nnz), idx[nnz] = index(n), v[nnz], x[n])
// kevin: out(y[n]) block(128) grid(ceil_div(n, 128))
__global__ void csr(const int *ptr, const int *idx, const float *v, const float *x, float *y, int n)
{
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) {
    float dot = 0;
    for (int j = ptr[row]; j < ptr[row + 1]; j++)
      dot += v[j] * x[idx[j]];
    y[row] = dot;
  }
}
