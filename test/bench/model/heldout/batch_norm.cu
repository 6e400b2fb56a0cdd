// family: softmax
// Normalisation of channels by means and variances known beforehand (inference).
// kevin: optimize let(images = 32, channels = 64, pixels = 56 * 56)
// kevin: in(x[images][channels][pixels], mean[channels], var[channels] = uniform(0.1, 2), scale[channels], shift[channels])
// kevin: out(y[images][channels][pixels]) compare(tol(1e-4))
static __global__ void batch_norm(const float *x, const float *mean, const float *var, const float *scale,
                                  const float *shift, float *y, int images, int channels, int pixels)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= images * channels * pixels)
    return;
  int c = i / pixels % channels;
  y[i] = (x[i] - mean[c]) / sqrtf(var[c] + 1e-5f) * scale[c] + shift[c];
}

void run(const float *x, const float *mean, const float *var, const float *scale, const float *shift, float *y,
         int images, int channels, int pixels)
{
  batch_norm<<<(images * channels * pixels + 255) / 256, 256>>>(x, mean, var, scale, shift, y, images, channels, pixels);
}
