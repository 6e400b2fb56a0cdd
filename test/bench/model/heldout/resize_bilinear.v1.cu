// launch: grid(ceil_div(width, 128), height) block(128)
static __global__ void resize_bilinear(const float *x, float *y, int rows, int cols, int height, int width)
{
  int c = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y;
  if (c >= width)
    return;
  float sy = (float)rows / height, sx = (float)cols / width;
  float fy = fminf(fmaxf((r + 0.5f) * sy - 0.5f, 0.0f), rows - 1.0f);
  float fx = fminf(fmaxf((c + 0.5f) * sx - 0.5f, 0.0f), cols - 1.0f);
  int y0 = min((int)fy, rows - 2), x0 = min((int)fx, cols - 2);
  float wy = fy - y0, wx = fx - x0;
  const float *p = x + (size_t)y0 * cols + x0;
  float top = p[0] + wx * (p[1] - p[0]), low = p[cols] + wx * (p[cols + 1] - p[cols]);
  y[(size_t)r * width + c] = top + wy * (low - top);
}
