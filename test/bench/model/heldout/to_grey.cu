// family: elementwise
// Bytes of red, green and blue to grey: three bytes in, one out.
// kevin: optimize let(n = 3840 * 2160) in(rgb[3 * n]) out(grey[n]) require(n % 4 == 0) align(16)
static __global__ void to_grey(const unsigned char *rgb, unsigned char *grey, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    grey[i] = (unsigned char)((77 * r + 151 * g + 28 * b) >> 8);
  }
}

void run(const unsigned char *rgb, unsigned char *grey, int n) { to_grey<<<(n + 255) / 256, 256>>>(rgb, grey, n); }
