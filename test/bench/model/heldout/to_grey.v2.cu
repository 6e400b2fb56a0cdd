// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void to_grey(const unsigned char *rgb, unsigned char *grey, int n)
{
  // Four neighbours a thread, byte by byte.
  int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = first; i < first + 4 && i < n; i++) {
    int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    grey[i] = (unsigned char)((77 * r + 151 * g + 28 * b) >> 8);
  }
}
