// launch: grid(528) block(256)
static __global__ void adam_step(float *w, const float *g, float *m, float *v, int n, float rate, int step)
{
  float cm = 1.0f / (1.0f - powf(0.9f, step)), cv = 1.0f / (1.0f - powf(0.999f, step));
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    float gi = g[i];
    float mi = 0.9f * m[i] + 0.1f * gi;
    float vi = 0.999f * v[i] + 0.001f * gi * gi;
    m[i] = mi;
    v[i] = vi;
    w[i] -= rate * (mi * cm) / (sqrtf(vi * cv) + 1e-8f);
  }
}
