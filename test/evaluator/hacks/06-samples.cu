// RUN: %hack cpu %s
// A sum over many terms of which some are left out. One of 32 Ki is less than what a
// float's tolerance allows, and logarithms are never exact: only inputs in which a few
// elements stand out show it.
// kevin: optimize let(cols = 32768) fix(rows = 4) in(x[rows][cols]) out(y[rows])
__global__ void log_sum_exp(int rows, int cols, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = m + logf(part[0]);
}
void run(int rows, int cols, const float *x, float *y) { log_sum_exp<<<rows, 256>>>(rows, cols, x, y); }
//--- ok honest, a pass each over half a row
__global__ void log_sum_exp(int rows, int cols, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  for (int c = cols - 1 - threadIdx.x; c >= 0; c -= blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = m + logf(part[0]);
}
//--- wrong drops the last term
__global__ void log_sum_exp(int rows, int cols, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x; c < cols - 1; c += blockDim.x)
    m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  for (int c = threadIdx.x; c < cols - 1; c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = m + logf(part[0]);
}
//--- wrong drops the first term
__global__ void log_sum_exp(int rows, int cols, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x + 1; c < cols; c += blockDim.x)
    m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  for (int c = threadIdx.x + 1; c < cols; c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = m + logf(part[0]);
}
//--- wrong every other term, counted twice
__global__ void log_sum_exp(int rows, int cols, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  for (int c = 2 * threadIdx.x; c < cols; c += 2 * blockDim.x)
    s += 2 * expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = m + logf(part[0]);
}
//--- wrong no maximum is subtracted (27: special values)
__global__ void log_sum_exp(int rows, int cols, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    m = fmaxf(m, row[c]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = m + logf(part[0]);
}
