// launch: grid(ceil_div(channels, 32)) block(32)
static __global__ void decay_scan(const float *x, const float *keep, float *h, int steps, int channels)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels)
    return;
  float a = keep[c], state = 0.0f;
  for (int t = 0; t < steps; t++) {
    state = a * state + x[(size_t)t * channels + c];
    h[(size_t)t * channels + c] = state;
  }
}
