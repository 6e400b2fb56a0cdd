// family: stencil
// The median of the nine bytes around each pixel; borders repeat.
// kevin: optimize let(rows = 1080, cols = 1920) in(x[rows][cols]) out(y[rows][cols])
static __global__ void median9(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols)
    return;
  int v[9], n = 0;
  for (int dr = -1; dr <= 1; dr++)
    for (int dc = -1; dc <= 1; dc++)
      v[n++] = x[min(max(r + dr, 0), rows - 1) * cols + min(max(c + dc, 0), cols - 1)];
  // Half a bubble sort.
#pragma unroll
  for (int i = 0; i < 5; i++)
#pragma unroll
    for (int j = i + 1; j < 9; j++) {
      int a = min(v[i], v[j]);
      v[j] = max(v[i], v[j]);
      v[i] = a;
    }
  y[r * cols + c] = (unsigned char)v[4];
}

void run(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  median9<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x, y, rows, cols);
}
