// family: elementwise
// One step of Adam: four arrays, three of them read and written.
// kevin: optimize let(n = 5000000) in(g[n] = uniform(-1, 1))
// kevin: inout(w[n] = uniform(-1, 1), m[n] = uniform(-1, 1), v[n] = uniform(0, 1))
// kevin: fix(rate = 0.01, step = 10) require(n % 4 == 0) align(16) compare(tol(1e-4))
static __global__ void adam_step(float *w, const float *g, float *m, float *v, int n, float rate, int step)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float gi = g[i];
  float mi = 0.9f * m[i] + 0.1f * gi;
  float vi = 0.999f * v[i] + 0.001f * gi * gi;
  m[i] = mi;
  v[i] = vi;
  float mh = mi / (1.0f - powf(0.9f, step));
  float vh = vi / (1.0f - powf(0.999f, step));
  w[i] -= rate * mh / (sqrtf(vh) + 1e-8f);
}

void run(float *w, const float *g, float *m, float *v, int n, float rate, int step)
{
  adam_step<<<(n + 511) / 512, 512>>>(w, g, m, v, n, rate, step);
}
