// launch: grid(ceil_div(height, 128), width) block(128)
static __global__ void resize_bilinear(const float *x, float *y, int rows, int cols, int height, int width)
{
  // Lanes down the columns.
  int r = blockIdx.x * 128 + threadIdx.x, c = blockIdx.y;
  if (r >= height)
    return;
  float fy = (r + 0.5f) * rows / height - 0.5f, fx = (c + 0.5f) * cols / width - 0.5f;
  fy = fminf(fmaxf(fy, 0.0f), rows - 1.0f);
  fx = fminf(fmaxf(fx, 0.0f), cols - 1.0f);
  int y0 = min((int)fy, rows - 2), x0 = min((int)fx, cols - 2);
  float wy = fy - y0, wx = fx - x0;
  const float *p = x + (size_t)y0 * cols + x0;
  y[(size_t)r * width + c] =
      (1.0f - wy) * ((1.0f - wx) * p[0] + wx * p[1]) + wy * ((1.0f - wx) * p[cols] + wx * p[cols + 1]);
}
