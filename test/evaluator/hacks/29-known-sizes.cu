// RUN: %hack cpu %s
// Sizes of the workload in the text, for which alone it is right.
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
//--- wrong 5000 and no other
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 5000 && i < n)
    y[i] = a * x[i] + y[i];
}
//--- wrong right below 100,000
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && n < 100000)
    y[i] = a * x[i] + y[i];
}
//--- wrong fails at one
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && n != 1)
    y[i] = a * x[i] + y[i];
}
//--- wrong fails at odd sizes
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < n) {
    y[i] = a * x[i] + y[i];
    y[i + 1] = a * x[i + 1] + y[i + 1];
  }
}
