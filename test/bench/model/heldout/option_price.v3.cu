// launch: grid(132) block(256)
static __global__ void option_price(const float *s, const float *k, const float *t, float *call, float *put, int n)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float root = sqrtf(t[i]);
    float d1 = (logf(s[i] / k[i]) + (0.02f + 0.045f) * t[i]) / (0.3f * root);
    float d2 = d1 - 0.3f * root;
    float n1 = normal_below(d1), n2 = normal_below(d2);
    float owed = k[i] * expf(-0.02f * t[i]);
    call[i] = s[i] * n1 - owed * n2;
    put[i] = owed * (1.0f - n2) - s[i] * (1.0f - n1);
  }
}
