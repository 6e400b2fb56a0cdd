// A loop whose trip count is not known, with a load in each step that the next could
// overlap with.
// kevin: optimize let((rows, cols) = {(65536, 300)}) in(x[cols][rows], pick[cols] = index(cols)) out(y[rows])
static __global__ void picked_sum(float *y, const float *x, const int *pick, int rows, int cols)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  float sum = 0;
  for (int k = 0; k < cols; k++)
    sum += x[(size_t)pick[k] * rows + i];
  y[i] = sum;
}

void run(float *y, const float *x, const int *pick, int rows, int cols)
{
  picked_sum<<<(rows + 127) / 128, 128>>>(y, x, pick, rows, cols);
}
