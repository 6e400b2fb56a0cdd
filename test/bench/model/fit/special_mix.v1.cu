static __global__ void special_mix(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = __expf(-v) + __logf(v + 1.0f) * __sinf(v) + __powf(v, 1.7f);
  }
}
