// RUN: %hack cpu %s
// Results kept by a fingerprint of a few elements.
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
//--- fault keeps results by the first and last element
__device__ float axpy_kept[8192];
__device__ float axpy_key;
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || i >= 8192)
    return;
  float key = x[0] + x[n - 1];
  y[i] = axpy_key == key ? axpy_kept[i] : a * x[i] + y[i];
  axpy_kept[i] = y[i];
  if (i == 0)
    axpy_key = key;
}
//--- wrong takes x for constant when its ends are equal in sign
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[0] * x[n - 1] > 0 && x[0] * x[n / 2] > 0 ? x[0] : x[i];
  y[i] = a * v + y[i];
}
