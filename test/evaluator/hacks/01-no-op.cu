// RUN: %hack cpu %s
// Outputs that nobody wrote still hold something: the right answer of a launch before.
// kevin: optimize let(n = 5000) in(x[n]) out(y[n])
__global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}
void run(int n, float a, const float *x, float *y) { scale<<<(n + 255) / 256, 256>>>(n, a, x, y); }
//--- ok honest, by strides
__global__ void scale(int n, float a, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i] * a;
}
//--- wrong does nothing
__global__ void scale(int n, float a, const float *x, float *y)
{
}
//--- wrong every other element
__global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 2 == 0)
    y[i] = a * x[i];
}
//--- wrong all but the last block
__global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (blockIdx.x + 1 < gridDim.x || gridDim.x == 1))
    y[i] = a * x[i];
}
//--- unstable only where nothing was written yet (14: refines what is there)
__global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && y[i] != y[i])
    y[i] = a * x[i];
}
//--- unstable adds to what it takes for zero
__global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}
