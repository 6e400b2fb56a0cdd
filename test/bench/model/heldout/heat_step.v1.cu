// launch: grid(ceil_div(cols, 4), ceil_div(rows, 64)) block(4, 64)
static __global__ void heat_step(const float *u, float *next, int rows, int cols)
{
  int c = blockIdx.x * 4 + threadIdx.x, r = blockIdx.y * 64 + threadIdx.y;
  if (r >= rows || c >= cols)
    return;
  int i = r * cols + c;
  float v = u[i];
  if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1)
    v += 0.2f * (u[i - 1] + u[i + 1] + u[i - cols] + u[i + cols] - 4.0f * v);
  next[i] = v;
}
