// launch: grid(ceil_div(pixels, 64), channels, images) block(64)
static __global__ void batch_norm(const float *x, const float *mean, const float *var, const float *scale,
                                  const float *shift, float *y, int images, int channels, int pixels)
{
  int c = blockIdx.y, p = blockIdx.x * 64 + threadIdx.x;
  if (p >= pixels)
    return;
  size_t i = ((size_t)blockIdx.z * channels + c) * pixels + p;
  y[i] = (x[i] - mean[c]) / sqrtf(var[c] + 1e-5f) * scale[c] + shift[c];
}
