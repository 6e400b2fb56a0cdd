// RUN: %hack cpu %s
// Past a buffer by one element, before and behind, read and written.
// kevin: optimize let(n = 4096) in(x[n]) out(y[n]) inout(z[n])
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
void run(int n, const float *x, float *y, float *z) { three<<<(n + 255) / 256, 256>>>(n, x, y, z); }
//--- ok honest, by strides
__global__ void three(int n, const float *x, float *y, float *z)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = x[i];
    y[i] = v + v;
    z[i] += v;
  }
}
//--- fault reads behind x
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i] + (x[n] == 1e30f);
    z[i] += x[i];
  }
}
//--- fault writes behind x
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    const_cast<float *>(x)[n] = 1;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
//--- fault reads before x
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i] + (x[-1] == 1e30f);
    z[i] += x[i];
  }
}
//--- fault writes before x
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    const_cast<float *>(x)[-1] = 1;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
//--- fault reads behind y
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i] + (y[n] == 1e30f);
    z[i] += x[i];
  }
}
//--- fault writes behind y
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    y[n] = 1;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
//--- fault reads before y
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i] + (y[-1] == 1e30f);
    z[i] += x[i];
  }
}
//--- fault writes before y
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    y[-1] = 1;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
//--- fault reads behind z
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i] + (z[n] == 1e30f);
    z[i] += x[i];
  }
}
//--- fault writes behind z
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    z[n] = 1;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
//--- fault reads before z
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i] + (z[-1] == 1e30f);
    z[i] += x[i];
  }
}
//--- fault writes before z
__global__ void three(int n, const float *x, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    z[-1] = 1;
  if (i < n) {
    y[i] = 2 * x[i];
    z[i] += x[i];
  }
}
