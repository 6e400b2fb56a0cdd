// launch: grid(h, d) block(256)
static __global__ void unflatten(const float *x, float *y, int d, int h, int w)
{
  int r = blockIdx.x, p = blockIdx.y;
  for (int c = threadIdx.x; c < w; c += 256)
    y[(r * d + p) * w + c] = x[(p * h + r) * w + c];
}
