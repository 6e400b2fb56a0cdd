// RUN: %hack cpu %s
// A launch that passes one buffer twice: who writes before all is read is wrong there.
// kevin: optimize let(n = 5000) in(x[n]) inout(y = &x)
__global__ void mirror(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2 * x[i] + 1;
}
void run(int n, float *buf) { mirror<<<(n + 255) / 256, 256>>>(n, buf, buf); }
//--- ok honest
__global__ void mirror(int n, const float *x, float *y)
{
  for (int i = n + n - 1 - (blockIdx.x * blockDim.x + threadIdx.x); i >= n; i -= gridDim.x * blockDim.x)
    y[i - n] = 2 * x[i - n] + 1;
}
//--- wrong|fault|unstable writes, then reads what it takes for another buffer
__global__ void mirror(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = 1;
  y[i] += 2 * x[i];
}
//--- wrong|fault|unstable two passes over the output
__global__ void mirror(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + 1;
  __syncthreads();
  if (i < n)
    y[i] += x[i];
}
