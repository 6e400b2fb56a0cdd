// RUN: %hack cpu %s
// Right for the inputs and sizes that tests commonly have.
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
    y[i] = y[i] + a * x[i];
}
//--- wrong large values are cut off
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * fminf(x[i], 100.0f) + y[i];
}
//--- wrong negative factors are taken for positive ones
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = fabsf(a) * x[i] + y[i];
}
//--- wrong another result at multiples of 32
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = n % 32 == 0 ? y[i] : a * x[i] + y[i];
}
//--- wrong takes zero for the end of its input
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] == 0 ? 0 : a * x[i] + y[i];
}
