// launch: grid(ceil_div(cols, 32), ceil_div(rows, 8)) block(32, 8)
static __global__ void heat_step(const float *u, float *next, int rows, int cols)
{
  __shared__ float s[10][34];
  int x = threadIdx.x, y = threadIdx.y;
  int c = blockIdx.x * 32 + x, r = blockIdx.y * 8 + y;
  int i = r * cols + c;
  if (r < rows && c < cols) {
    s[y + 1][x + 1] = u[i];
    if (x == 0 && c > 0)
      s[y + 1][0] = u[i - 1];
    if (x == 31 && c + 1 < cols)
      s[y + 1][33] = u[i + 1];
    if (y == 0 && r > 0)
      s[0][x + 1] = u[i - cols];
    if (y == 7 && r + 1 < rows)
      s[9][x + 1] = u[i + cols];
  }
  __syncthreads();
  if (r >= rows || c >= cols)
    return;
  float v = s[y + 1][x + 1];
  if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1)
    v += 0.2f * (s[y + 1][x] + s[y + 1][x + 2] + s[y][x + 1] + s[y + 2][x + 1] - 4.0f * v);
  next[i] = v;
}
