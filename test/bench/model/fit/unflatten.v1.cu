static __global__ void unflatten(const float *x, float *y, int d, int h, int w)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < d * h * w) {
    // In 64 bits.
    long long k = i, c = k % w, r = k / w % h, p = k / ((long long)w * h);
    y[(r * d + p) * w + c] = x[k];
  }
}
