// RUN: %hack cpu %s
// Traps and endless loops end a worker, and give a verdict.
// timeout: 1500
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
//--- fault a trap
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == n - 1)
    __trap();
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//--- timeout an endless loop
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (volatile int k = 0; i >= 0; k = k + 1)
    ;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//--- fault an address from nowhere
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    *(volatile int *)(size_t)16 = 1;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//--- ok honest, after all of these
__global__ void axpy(int n, float a, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
