static __device__ double option_price_below(double d)
{
  double u = 1.0 / (1.0 + 0.2316419 * fabs(d));
  double p = u * (0.31938153 + u * (-0.356563782 + u * (1.781477937 + u * (-1.821255978 + u * 1.330274429))));
  double tail = 0.39894228 * exp(-0.5 * d * d) * p;
  return d > 0.0 ? 1.0 - tail : tail;
}

static __global__ void option_price(const float *s, const float *k, const float *t, float *call, float *put, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double root = sqrt((double)t[i]);
  double d1 = (log((double)s[i] / k[i]) + 0.065 * t[i]) / (0.3 * root);
  double d2 = d1 - 0.3 * root;
  double n1 = option_price_below(d1), n2 = option_price_below(d2);
  double owed = k[i] * exp(-0.02 * t[i]);
  call[i] = s[i] * n1 - owed * n2;
  put[i] = owed * (1.0 - n2) - s[i] * (1.0 - n1);
}
