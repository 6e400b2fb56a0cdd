static __global__ void decay_scan(const float *x, const float *keep, float *h, int steps, int channels)
{
  // Eight steps' inputs are fetched together.
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels)
    return;
  float a = keep[c], state = 0.0f, v[8];
  int t = 0;
  for (; t + 7 < steps; t += 8) {
#pragma unroll
    for (int k = 0; k < 8; k++)
      v[k] = x[(size_t)(t + k) * channels + c];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      state = a * state + v[k];
      h[(size_t)(t + k) * channels + c] = state;
    }
  }
  for (; t < steps; t++) {
    state = a * state + x[(size_t)t * channels + c];
    h[(size_t)t * channels + c] = state;
  }
}
