// launch: grid(rows) block(256)
static __global__ void row_cumsum(const float *x, float *y, int rows, int cols)
{
  __shared__ float s[2][256];
  int t = threadIdx.x;
  size_t row = (size_t)blockIdx.x * cols;
  float before = 0.0f;
  for (int c0 = 0; c0 < cols; c0 += 256) {
    int from = 0;
    s[0][t] = c0 + t < cols ? x[row + c0 + t] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
      s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
      from = 1 - from;
      __syncthreads();
    }
    if (c0 + t < cols)
      y[row + c0 + t] = s[from][t] + before;
    before += s[from][255];
    __syncthreads();
  }
}
