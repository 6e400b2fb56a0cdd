// RUN: %hack cpu %s
// A term of 300,000 left out or counted twice: 3e-6 of the sum, a float's tolerance
// is 1e-5.
// kevin: optimize let(cols = 300000) fix(rows = 2) in(x[rows][cols]) out(y[rows])
__global__ void row_squares(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c] * x[(size_t)blockIdx.x * cols + c];
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
void run(int cols, int rows, const float *x, float *y) { row_squares<<<rows, 256>>>(cols, rows, x, y); }
//--- ok honest, by shuffles
__global__ void row_squares(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c] * x[(size_t)blockIdx.x * cols + c];
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
//--- wrong a term is left out
__global__ void row_squares(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols - 1; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c] * x[(size_t)blockIdx.x * cols + c];
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
//--- wrong a term is counted twice
__global__ void row_squares(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += x[(size_t)blockIdx.x * cols + c] * x[(size_t)blockIdx.x * cols + c];
  if (threadIdx.x == 0)
    s += x[(size_t)blockIdx.x * cols + cols / 2] * x[(size_t)blockIdx.x * cols + cols / 2];
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
