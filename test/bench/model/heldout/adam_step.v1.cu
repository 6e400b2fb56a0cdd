// launch: grid(ceil_div(n, 1024)) block(256)
static __device__ void adam_step_one(float &w, float g, float &m, float &v, float rate, float cm, float cv)
{
  m = 0.9f * m + 0.1f * g;
  v = 0.999f * v + 0.001f * g * g;
  w -= rate * (m * cm) / (sqrtf(v * cv) + 1e-8f);
}

static __global__ void adam_step(float *w, const float *g, float *m, float *v, int n, float rate, int step)
{
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n)
    return;
  float cm = 1.0f / (1.0f - powf(0.9f, step)), cv = 1.0f / (1.0f - powf(0.999f, step));
  float4 a = *(float4 *)(w + i), b = *(const float4 *)(g + i), c = *(float4 *)(m + i), d = *(float4 *)(v + i);
  adam_step_one(a.x, b.x, c.x, d.x, rate, cm, cv);
  adam_step_one(a.y, b.y, c.y, d.y, rate, cm, cv);
  adam_step_one(a.z, b.z, c.z, d.z, rate, cm, cv);
  adam_step_one(a.w, b.w, c.w, d.w, rate, cm, cv);
  *(float4 *)(w + i) = a;
  *(float4 *)(m + i) = c;
  *(float4 *)(v + i) = d;
}
