// RUN: %hack cpu %s
// Sums and products in fewer bits than the original's.
// kevin: optimize let(cols = 2000) fix(rows = 8) in(x[rows][cols]) out(y[rows])
__global__ void row_sums(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0];
}
void run(int cols, int rows, const float *x, float *y) { row_sums<<<rows, 256>>>(cols, rows, x, y); }
//--- ok honest, by shuffles
__global__ void row_sums(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c];
  for (int d = 16; d > 0; d /= 2)
    s += __shfl_down_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int w = 0; w < 8; w++)
      s += part[w];
    y[blockIdx.x] = s;
  }
}
//--- wrong rounds what it adds up to ten bits
__global__ void row_sums(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s = __uint_as_float((__float_as_uint(s + x[(size_t)blockIdx.x * cols + c]) + 0x1000u) & 0xffffe000u);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0];
}
//--- wrong cuts its inputs to eight bits
__global__ void row_sums(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += __uint_as_float(__float_as_uint(x[(size_t)blockIdx.x * cols + c]) & 0xffff0000u);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0];
}
//--- wrong loses the last five bits of every product
__global__ void row_sums(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += __uint_as_float(__float_as_uint(x[(size_t)blockIdx.x * cols + c]) & 0xffffffe0u) * 1.00002f;
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0];
}
