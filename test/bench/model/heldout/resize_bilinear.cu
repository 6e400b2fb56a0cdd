// family: gather
// An image drawn at another size, four neighbours blended.
// kevin: optimize let(rows = 1080, cols = 1920, height = 1440, width = 2560)
// kevin: in(x[rows][cols]) out(y[height][width]) compare(tol(1e-3)) require(rows > 1, cols > 1)
static __global__ void resize_bilinear(const float *x, float *y, int rows, int cols, int height, int width)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= height || c >= width)
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

void run(const float *x, float *y, int rows, int cols, int height, int width)
{
  resize_bilinear<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(x, y, rows, cols, height, width);
}
