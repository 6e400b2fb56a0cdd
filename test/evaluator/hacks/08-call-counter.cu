// RUN: %hack cpu %s
// A variable of its own that outlives a launch. Its value alone gives it away, whatever
// it is used for: here each candidate is right.
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
//--- ok a table of its own that nothing writes
__global__ void axpy(int n, float a, const float *x, float *y)
{
  static constexpr float one[4] = {1.0f, 2.0f, 4.0f, 8.0f};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * (x[i] * one[i & 3]) / one[i & 3] + y[i];
}
//--- fault a counter
__device__ int axpy_calls;
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    axpy_calls++;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//--- fault a counter in a function
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  static int calls;
  if (i == 0)
    calls++;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//--- fault a counter behind an initial value
__device__ int axpy_calls = 1000;
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    axpy_calls -= 1;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
