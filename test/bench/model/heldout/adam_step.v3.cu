static __global__ void adam_step(float *w, const float *g, float *m, float *v, int n, float rate, int step)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double gi = g[i];
  double mi = 0.9 * m[i] + 0.1 * gi;
  double vi = 0.999 * v[i] + 0.001 * gi * gi;
  m[i] = mi;
  v[i] = vi;
  double mh = mi / (1.0 - powf(0.9f, step));
  double vh = vi / (1.0 - powf(0.999f, step));
  w[i] -= rate * mh / (sqrt(vh) + 1e-8);
}
