// Powers by the general function, where the exponent is a small whole number.
// kevin: optimize let(n = 33554432) in(r[n]) out(e[n])
static __global__ void pair_energy(float *e, const float *r, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 1.0f / (1.0f + r[i] * r[i]);
    e[i] = 4.0f * (powf(s, 4.0f) - powf(s, 3.0f));
  }
}

void run(float *e, const float *r, int n)
{
  pair_energy<<<(n + 255) / 256, 256>>>(e, r, n);
}
