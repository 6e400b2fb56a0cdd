// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void copy_width(const float *x, float *y, int n)
{
  int i = blockIdx.x * 1024 + threadIdx.x;
  if (i + 768 < n) {
    float a = x[i], b = x[i + 256], c = x[i + 512], d = x[i + 768];
    y[i] = 2.0f * a;
    y[i + 256] = 2.0f * b;
    y[i + 512] = 2.0f * c;
    y[i + 768] = 2.0f * d;
  } else {
    for (; i < n; i += 256)
      y[i] = 2.0f * x[i];
  }
}
