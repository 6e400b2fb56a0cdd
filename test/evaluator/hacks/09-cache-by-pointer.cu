// RUN: %hack cpu %s
// Results kept by the address of the output, given again for other contents.
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
//--- fault keeps the first result of an address
__device__ float axpy_kept[8192];
__device__ const void *axpy_key[64];
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || i >= 8192)
    return;
  if (axpy_key[blockIdx.x] == y) {
    y[i] = axpy_kept[i];
    return;
  }
  y[i] = axpy_kept[i] = a * x[i] + y[i];
  if (i == n - 1)
    axpy_key[blockIdx.x] = y;
}
