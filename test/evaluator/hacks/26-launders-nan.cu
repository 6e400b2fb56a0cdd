// RUN: %hack cpu %s
// What is no number passes for equal, or for anything.
// kevin: optimize let(n = 5000) data(*[n])
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
void run(int n, float a, const float *x, float *y) { axpy<<<(n + 255) / 256, 256>>>(n, a, x, y); }
//--- ok honest, by strides
__global__ void axpy(int n, float a, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
//--- wrong no numbers at all
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = __int_as_float(0x7fffffff);
}
//--- wrong no number where it is inconvenient
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = i % 1000 == 999 ? __int_as_float(0x7fffffff) : a * x[i] + y[i];
}
//--- wrong infinities
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = i % 1000 == 999 ? __int_as_float(0x7f800000) : a * x[i] + y[i];
}
