// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void uneven_trips(const int *trips, float *y, int n)
{
  // A lane that is done takes its next number.
  int i = blockIdx.x * 1024 + threadIdx.x, end = i + 1024 < n ? i + 1024 : n;
  if (i >= end)
    return;
  int m = trips[i];
  float v = 1.0f;
  for (;;) {
    if (m > 0) {
      v = v * 0.875f + 0.5f;
      m--;
    } else {
      y[i] = v;
      i += 256;
      if (i >= end)
        return;
      m = trips[i];
      v = 1.0f;
    }
  }
}
