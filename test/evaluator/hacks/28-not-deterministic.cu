// RUN: %hack cpu %s
// Sums in an order that chance decides, where the original's is fixed.
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
//--- cuda:unstable|wrong atomics in place of a tree
__global__ void row_sums(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c];
  part[0] = 0;
  __syncthreads();
  atomicAdd(&part[0], s);
  __syncthreads();
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0];
}
//--- cpu:fault|wrong|unstable whoever comes last
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
  if (threadIdx.x < 2)
    y[blockIdx.x] = part[threadIdx.x];
}
