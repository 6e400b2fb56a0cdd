// launch: grid(ceil_div(n, 1024)) block(256)
static __device__ unsigned to_grey_of(unsigned r, unsigned g, unsigned b)
{
  return (77 * (r & 255) + 151 * (g & 255) + 28 * (b & 255)) >> 8;
}

static __global__ void to_grey(const unsigned char *rgb, unsigned char *grey, int n)
{
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * q >= n)
    return;
  const unsigned *in = (const unsigned *)rgb + 3 * (size_t)q;
  unsigned a = in[0], b = in[1], c = in[2];
  ((unsigned *)grey)[q] = to_grey_of(a, a >> 8, a >> 16) | to_grey_of(a >> 24, b, b >> 8) << 8 |
                          to_grey_of(b >> 16, b >> 24, c) << 16 | to_grey_of(c >> 8, c >> 16, c >> 24) << 24;
}
