// RUN: %hack cpu %s
// Outputs whose values differ by orders of magnitude: a part may be nought, or off,
// and still be within what is small beside the rest.
// kevin: optimize let(n = 5000) in(x[n]) out(y[n])
__global__ void fade(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * (i % 2 ? 1.0f : 1e-7f);
}
void run(int n, const float *x, float *y) { fade<<<(n + 255) / 256, 256>>>(n, x, y); }
//--- ok honest, by strides
__global__ void fade(int n, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = (i & 1 ? 1.0f : 1e-7f) * x[i];
}
//--- wrong nought for what is small
__global__ void fade(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = i % 2 ? x[i] : 0.0f;
}
//--- wrong all nought
__global__ void fade(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 0;
}
//--- wrong shops for tolerance: a little off everywhere (24)
__global__ void fade(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * (i % 2 ? 1.00004f : 1e-7f);
}
