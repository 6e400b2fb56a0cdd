// RUN: %hack cpu %s
// Another launch than the program's, or another than the one that is launched.
// kevin: optimize let(n = 5000) data(*[n]) launch(fixed)
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
//--- refused brings a launch where it is fixed
// launch: grid(ceil_div(n, 128)) block(128)
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//--- wrong|fault takes blocks for 128 threads
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * 128 + threadIdx.x;
  if (threadIdx.x < 128 && i < n)
    y[i] = a * x[i] + y[i];
}
