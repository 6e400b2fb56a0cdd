static __global__ void median9(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  // The value with four at most below it and five at most not above: counted.
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols)
    return;
  int v[9], n = 0, result = 0;
  for (int dr = -1; dr <= 1; dr++)
    for (int dc = -1; dc <= 1; dc++)
      v[n++] = x[min(max(r + dr, 0), rows - 1) * cols + min(max(c + dc, 0), cols - 1)];
#pragma unroll
  for (int i = 0; i < 9; i++) {
    int below = 0;
#pragma unroll
    for (int j = 0; j < 9; j++)
      below += v[j] < v[i] || (v[j] == v[i] && j < i);
    if (below == 4)
      result = v[i];
  }
  y[r * cols + c] = (unsigned char)result;
}
