static __global__ void row_filter(const float *x, const float *tap, float *y, int rows, int cols)
{
  __shared__ float s[128 + 16], w[17];
  int t = threadIdx.x, c0 = blockIdx.x * 128, r = blockIdx.y;
  if (t < 17)
    w[t] = tap[t];
  for (int k = t; k < 144; k += 128) {
    int p = c0 + k - 8;
    s[k] = p >= 0 && p < cols ? x[(size_t)r * cols + p] : 0.0f;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 17; k++)
    sum += w[k] * s[t + k];
  if (c0 + t < cols)
    y[(size_t)r * cols + c0 + t] = sum;
}
