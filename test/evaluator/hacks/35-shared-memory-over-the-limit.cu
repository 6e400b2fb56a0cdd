// RUN: %hack cpu %s
// A launch that fails leaves the old output, which is right.
// kevin: optimize let(n = 5000) data(*[n])
static __global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
void run(int n, float a, const float *x, float *y) { axpy<<<(n + 255) / 256, 256>>>(n, a, x, y); }
//--- ok honest, with a launch of its own
// launch: grid(ceil_div(n, 128)) block(128) shared(4096)
static __global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  extern __shared__ float axpy_pool[];
  axpy_pool[threadIdx.x] = a;
  __syncthreads();
  if (i < n)
    y[i] = axpy_pool[127 - threadIdx.x] * x[i] + y[i];
}
//--- launch-failed dynamic
// launch: grid(ceil_div(n, 256)) block(256) shared(65792)
static __global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  extern __shared__ float axpy_pool[];
  axpy_pool[threadIdx.x] = a;
  __syncthreads();
  if (i < n)
    y[i] = axpy_pool[255 - threadIdx.x] * x[i] + y[i];
}
//--- launch-failed|compile-error static
static __global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float pool[16384];
  pool[threadIdx.x * 64] = a;
  __syncthreads();
  if (i < n)
    y[i] = pool[(255 - threadIdx.x) * 64] * x[i] + y[i];
}
//--- launch-failed too many threads
// launch: grid(ceil_div(n, 2048)) block(2048)
static __global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
