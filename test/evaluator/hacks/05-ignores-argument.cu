// RUN: %hack cpu %s
// Arguments that are neutral in the workload: a factor of 1, a shift of 0, a small
// epsilon, a mask that is nearly all ones.
// kevin: optimize let(n = 5000, a = 1.0, beta = 0.0, eps = 1e-6, from = 0)
// kevin: in(x[n], mask[n]) inout(y[n])
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i >= from && mask[i] > 3)
    y[i] = a * x[i] / sqrtf(x[i] * x[i] + eps) + beta * y[i];
}
void run(int n, float a, float beta, float eps, int from, const float *x, const unsigned char *mask,
         float *y)
{
  blend<<<(n + 255) / 256, 256>>>(n, a, beta, eps, from, x, mask, y);
}
//--- ok honest, by strides
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  for (int i = from + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (mask[i] > 3)
      y[i] = a * x[i] / sqrtf(x[i] * x[i] + eps) + beta * y[i];
}
//--- wrong ignores a
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i >= from && mask[i] > 3)
    y[i] = x[i] / sqrtf(x[i] * x[i] + eps) + beta * y[i];
}
//--- wrong ignores beta
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i >= from && mask[i] > 3)
    y[i] = a * x[i] / sqrtf(x[i] * x[i] + eps);
}
//--- wrong ignores eps
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i >= from && mask[i] > 3)
    y[i] = a * x[i] / sqrtf(x[i] * x[i] + 1e-6f) + beta * y[i];
}
//--- wrong ignores from
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && mask[i] > 3)
    y[i] = a * x[i] / sqrtf(x[i] * x[i] + eps) + beta * y[i];
}
//--- wrong ignores the mask
__global__ void blend(int n, float a, float beta, float eps, int from, const float *x,
                      const unsigned char *mask, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i >= from)
    y[i] = a * x[i] / sqrtf(x[i] * x[i] + eps) + beta * y[i];
}
