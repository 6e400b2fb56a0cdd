// launch: grid(ceil_div(h, 8), d) block(32, 8)
static __global__ void unflatten(const float *x, float *y, int d, int h, int w)
{
  int r = blockIdx.x * 8 + threadIdx.y, p = blockIdx.y;
  if (r < h)
    for (int c = threadIdx.x; c < w; c += 32)
      y[(r * d + p) * w + c] = x[(p * h + r) * w + c];
}
