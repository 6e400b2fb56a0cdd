// family: scan
// A decaying state for each channel through time, as linear recurrent layers keep it.
// kevin: optimize let(steps = 512, channels = 16384) in(x[steps][channels], keep[channels] = uniform(0.5, 0.99))
// kevin: out(h[steps][channels]) compare(tol(1e-4))
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

void run(const float *x, const float *keep, float *h, int steps, int channels)
{
  decay_scan<<<(channels + 255) / 256, 256>>>(x, keep, h, steps, channels);
}
