// launch: grid(ceil_div(cols, 128), ceil_div(rows, 16)) block(128)
static __global__ void heat_step(const float *u, float *next, int rows, int cols)
{
  // Down sixteen rows, three of them in registers.
  int c = blockIdx.x * 128 + threadIdx.x, r0 = blockIdx.y * 16;
  if (c >= cols)
    return;
  int end = r0 + 16 < rows ? r0 + 16 : rows;
  int i = r0 * cols + c;
  float above = r0 > 0 ? u[i - cols] : 0.0f, here = u[i];
  for (int r = r0; r < end; r++, i += cols) {
    float below = r + 1 < rows ? u[i + cols] : 0.0f, v = here;
    if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1)
      v += 0.2f * (u[i - 1] + u[i + 1] + above + below - 4.0f * v);
    next[i] = v;
    above = here;
    here = below;
  }
}
