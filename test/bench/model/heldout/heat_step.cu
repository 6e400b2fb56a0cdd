// family: stencil
// A step of heat flow on a plate, edges kept.
// kevin: optimize let(rows = 4096, cols = 4096) in(u[rows][cols]) out(next[rows][cols])
static __global__ void heat_step(const float *u, float *next, int rows, int cols)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols)
    return;
  int i = r * cols + c;
  float v = u[i];
  if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1)
    v += 0.2f * (u[i - 1] + u[i + 1] + u[i - cols] + u[i + cols] - 4.0f * v);
  next[i] = v;
}

void run(const float *u, float *next, int rows, int cols)
{
  heat_step<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(u, next, rows, cols);
}
