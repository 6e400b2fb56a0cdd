// launch: grid(ceil_div(channels, 32)) block(32, 16)
static __global__ void decay_scan(const float *x, const float *keep, float *h, int steps, int channels)
{
  // Time in sixteen pieces: each piece's end first, then each from its true start.
  __shared__ float last[16][32], power[16][32];
  int c = blockIdx.x * 32 + threadIdx.x, p = threadIdx.y, piece = (steps + 15) / 16;
  int t0 = p * piece < steps ? p * piece : steps, end = t0 + piece < steps ? t0 + piece : steps;
  float a = c < channels ? keep[c] : 0.0f, state = 0.0f, w = 1.0f;
  if (c < channels)
    for (int t = t0; t < end; t++) {
      state = a * state + x[(size_t)t * channels + c];
      w *= a;
    }
  last[p][threadIdx.x] = state;
  power[p][threadIdx.x] = w;
  __syncthreads();
  state = 0.0f;
  for (int k = 0; k < p; k++)
    state = power[k][threadIdx.x] * state + last[k][threadIdx.x];
  if (c < channels)
    for (int t = t0; t < end; t++) {
      state = a * state + x[(size_t)t * channels + c];
      h[(size_t)t * channels + c] = state;
    }
}
