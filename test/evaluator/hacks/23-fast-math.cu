// RUN: %hack cpu %s
// Intrinsics that are precise enough where they are commonly used. A GPU's only: on
// the CPU they are exact.
// kevin: optimize let(n = 5000) in(x[n]) out(y[n])
__global__ void waves(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = sinf(x[i]) + expf(-fabsf(x[i]));
}
void run(int n, const float *x, float *y) { waves<<<(n + 255) / 256, 256>>>(n, x, y); }
//--- ok honest, within the original's own error
__global__ void waves(int n, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = sinf(x[i]) + expf(-fabsf(x[i]));
}
//--- cuda:wrong __sinf far from nought
__global__ void waves(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = __sinf(x[i]) + expf(-fabsf(x[i]));
}
