// RUN: %hack cpu %s
// An output that may hold the result of a launch before, refined and not computed.
// kevin: optimize let(n = 5000) in(x[n] = uniform(0, 4)) out(y[n])
__global__ void roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = sqrtf(x[i]);
}
void run(int n, const float *x, float *y) { roots<<<(n + 255) / 256, 256>>>(n, x, y); }
//--- ok honest, iterated from its own start
__global__ void roots(int n, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = sqrtf(x[i]);
}
//--- wrong|unstable one step from what is there
__global__ void roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = fabsf(y[i] * y[i] - x[i]) < 1e-3f * x[i] ? y[i] : y[i] > 0 && y[i] < 1e6f ? 0.5f * (y[i] + x[i] / y[i]) : sqrtf(x[i]);
}
//--- wrong|unstable computes where it finds no number
__global__ void roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && isnan(y[i]))
    y[i] = sqrtf(x[i]);
}
//--- wrong|unstable computes where it finds a poison
__global__ void roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (isnan(y[i]) || __float_as_uint(y[i]) == 0x42424242u))
    y[i] = sqrtf(x[i]);
}
