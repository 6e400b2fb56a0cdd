static __global__ void to_grey(const unsigned char *rgb, unsigned char *grey, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    float v = (77.0f * r + 151.0f * g + 28.0f * b) / 256.0f;
    grey[i] = (unsigned char)v;
  }
}
