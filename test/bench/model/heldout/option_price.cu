// family: elementwise
// Prices of European calls and puts by Black and Scholes.
static __device__ float normal_below(float d)
{
  float u = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float p = u * (0.31938153f + u * (-0.356563782f + u * (1.781477937f + u * (-1.821255978f + u * 1.330274429f))));
  float tail = 0.39894228f * expf(-0.5f * d * d) * p;
  return d > 0.0f ? 1.0f - tail : tail;
}

// kevin: optimize let(n = 1 << 21) in(s[n] = uniform(5, 30), k[n] = uniform(1, 100), t[n] = uniform(0.25, 10))
// kevin: out(call[n], put[n]) compare(tol(1e-3))
static __global__ void option_price(const float *s, const float *k, const float *t, float *call, float *put, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float root = sqrtf(t[i]);
  float d1 = (logf(s[i] / k[i]) + (0.02f + 0.045f) * t[i]) / (0.3f * root);
  float d2 = d1 - 0.3f * root;
  float n1 = normal_below(d1), n2 = normal_below(d2);
  float owed = k[i] * expf(-0.02f * t[i]);
  call[i] = s[i] * n1 - owed * n2;
  put[i] = owed * (1.0f - n2) - s[i] * (1.0f - n1);
}

void run(const float *s, const float *k, const float *t, float *call, float *put, int n)
{
  option_price<<<(n + 127) / 128, 128>>>(s, k, t, call, put, n);
}
