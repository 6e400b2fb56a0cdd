// RUN: %hack cpu %s
// Loads of 16 bytes from pointers that the program may give with an offset.
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
//--- ok wide where it may be
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  int wide = ((size_t)x | (size_t)y) % 16 ? 0 : n / 4;
  for (int k = t; k < wide; k += step) {
    float4 u = reinterpret_cast<const float4 *>(x)[k], v = reinterpret_cast<float4 *>(y)[k];
    reinterpret_cast<float4 *>(y)[k] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
  }
  for (int i = 4 * wide + t; i < n; i += step)
    y[i] = a * x[i] + y[i];
}
//--- fault wide whatever comes
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  int wide = n / 4;
  for (int k = t; k < wide; k += step) {
    float4 u = reinterpret_cast<const float4 *>(x)[k], v = reinterpret_cast<float4 *>(y)[k];
    reinterpret_cast<float4 *>(y)[k] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
  }
  for (int i = 4 * wide + t; i < n; i += step)
    y[i] = a * x[i] + y[i];
}
