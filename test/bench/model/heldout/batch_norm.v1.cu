// launch: grid(channels, images) block(256)
static __global__ void batch_norm(const float *x, const float *mean, const float *var, const float *scale,
                                  const float *shift, float *y, int images, int channels, int pixels)
{
  int c = blockIdx.x;
  size_t plane = ((size_t)blockIdx.y * channels + c) * pixels;
  float a = rsqrtf(var[c] + 1e-5f) * scale[c], b = shift[c] - mean[c] * a;
  for (int p = threadIdx.x; p < pixels; p += 256)
    y[plane + p] = x[plane + p] * a + b;
}
