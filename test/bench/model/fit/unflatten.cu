// family: compute
// Coordinates from a flat index: integer divisions by numbers known at run time.
// kevin: optimize let(d = 64, h = 509, w = 251) in(x[d][h][w]) out(y[h][d][w])
static __global__ void unflatten(const float *x, float *y, int d, int h, int w)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < d * h * w) {
    int c = i % w, r = i / w % h, p = i / w / h;
    y[(r * d + p) * w + c] = x[i];
  }
}

void run(const float *x, float *y, int d, int h, int w)
{
  unflatten<<<(d * h * w + 255) / 256, 256>>>(x, y, d, h, w);
}
