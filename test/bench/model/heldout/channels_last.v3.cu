// launch: grid(ceil_div(pixels, 64), images) block(64)
static __global__ void channels_last(const float *x, float *y, int images, int channels, int pixels)
{
  // A pixel a thread, all its channels in turn.
  int p = blockIdx.x * 64 + threadIdx.x, n = blockIdx.y;
  if (p < pixels)
    for (int c = 0; c < channels; c++)
      y[((size_t)n * pixels + p) * channels + c] = x[((size_t)n * channels + c) * pixels + p];
}
