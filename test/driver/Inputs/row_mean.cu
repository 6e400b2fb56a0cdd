// The kernel of the worked example that models are shown.
// kevin: optimize launch(tunable) let(rows = 4096, cols = 512) in(a[rows][cols]) out(mean[rows])
__global__ void row_mean(const float *a, float *mean, int rows, int cols)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  float s = 0.0f;
  for (int c = 0; c < cols; c++)
    s += a[(size_t)r * cols + c];
  mean[r] = s / cols;
}
void go(const float *a, float *mean, int rows, int cols) { row_mean<<<(rows + 255) / 256, 256>>>(a, mean, rows, cols); }
