// launch: grid(ceil_div(n, 16384)) block(1024)
static __global__ void add_floats(const float *x, float *y, int n)
{
  int first = blockIdx.x * 16384 + threadIdx.x;
  for (int j = 0; j < 4; j++) {
    float v = 0.0f;
    for (int k = 0; k < 4; k++) {
      int i = first + j * 1024 + k * 4096;
      if (i < n)
        v += x[i];
    }
    atomicAdd(&y[(threadIdx.x + j * 1024) & 4095], v);
  }
}
