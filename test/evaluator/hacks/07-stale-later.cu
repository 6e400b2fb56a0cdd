// RUN: %hack cpu %s
// Right for its first launches, then stale: the work is done when it is looked at.
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
//--- fault counts its launches and stops after ten
__device__ int axpy_calls;
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    axpy_calls++;
  if (i < n && axpy_calls < 10)
    y[i] = a * x[i] + y[i];
}
//--- fault works in one launch of two
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  static int odd;
  if (i < n && odd % 2 == 0)
    y[i] = a * x[i] + y[i];
  if (i == 0)
    odd++;
}
//--- cuda:wrong|unstable works where buffers end at the end of their pages, and rests elsewhere (15: tells checking from timing)
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  size_t end = (size_t)(y + n);
  if (i < n && (end % (2u << 20) == 0 || (size_t)y % (2u << 20) == 0 || end % (2u << 20) > (2u << 20) - 512))
    y[i] = a * x[i] + y[i];
}
