// RUN: %hack cpu %s
// Sizes in the text at which the original itself fails are no sizes to judge by, and
// to find that out costs no verdict.
// kevin: optimize let(n = 5000) data(*[n])
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n > 20000)
    y = nullptr;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
void run(int n, float a, const float *x, float *y) { axpy<<<(n + 255) / 256, 256>>>(n, a, x, y); }
//--- ok right below 100,000, as the original is not
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && n < 100000)
    y[i] = a * x[i] + y[i];
}
//--- ok another number beyond
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && n != 77777)
    y[i] = a * x[i] + y[i];
}
//--- wrong ends where the original does not
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && n < 9000)
    y[i] = a * x[i] + y[i];
}
