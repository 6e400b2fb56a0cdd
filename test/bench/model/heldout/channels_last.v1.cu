// launch: grid(pixels, images) block(64)
static __global__ void channels_last(const float *x, float *y, int images, int channels, int pixels)
{
  int p = blockIdx.x, n = blockIdx.y;
  for (int c = threadIdx.x; c < channels; c += 64)
    y[((size_t)n * pixels + p) * channels + c] = x[((size_t)n * channels + c) * pixels + p];
}
