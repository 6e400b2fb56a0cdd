// family: transpose
// Images of planes to images of pixels (NCHW to NHWC).
// kevin: optimize let(images = 32, channels = 64, pixels = 56 * 56)
// kevin: in(x[images][channels][pixels]) out(y[images][pixels][channels])
static __global__ void channels_last(const float *x, float *y, int images, int channels, int pixels)
{
  int p = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y, n = blockIdx.z;
  if (p < pixels)
    y[((size_t)n * pixels + p) * channels + c] = x[((size_t)n * channels + c) * pixels + p];
}

void run(const float *x, float *y, int images, int channels, int pixels)
{
  channels_last<<<dim3((pixels + 255) / 256, channels, images), 256>>>(x, y, images, channels, pixels);
}
