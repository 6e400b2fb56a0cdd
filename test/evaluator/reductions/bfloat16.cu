// REQUIRES: cuda-device
// RUN: %hack cuda %s
// Sums of 32, 1 Ki and 64 Ki terms in __nv_bfloat16: what adds up in another order is let
// through, what adds up less precisely or less is not.
#include <cuda_bf16.h>
// kevin: optimize let(cols = {32, 1024, 65536}) fix(rows = 4) in(x[rows][cols]) out(y[rows])
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
void run(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y) { row_sums<<<rows, 256>>>(cols, rows, x, y); }
//--- ok from the end
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = cols - 1 - (int)threadIdx.x; c >= 0; c -= blockDim.x)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- ok four sums a thread
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  float t[4] = {0, 0, 0, 0};
  int c = 4 * threadIdx.x;
  for (; c + 3 < cols; c += 4 * blockDim.x)
    for (int k = 0; k < 4; k++)
      t[k] += __bfloat162float(row[c + k]);
  for (; c < cols; c++)
    t[0] += __bfloat162float(row[c]);
  s = (t[0] + t[1]) + (t[2] + t[3]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- ok a piece of the row a thread
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  int piece = (cols + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * piece;
  for (int c = begin; c < begin + piece && c < cols; c++)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- ok the last step one after another
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < 256; t++)
      s += part[t];
    y[blockIdx.x] = __float2bfloat16(s);
  }
}
//--- ok by shuffles
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s += __bfloat162float(row[c]);
  for (int d = 16; d > 0; d /= 2)
    s += __shfl_down_sync(0xffffffffu, s, d);
  part[threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int w = 0; w < 8; w++)
      s += part[32 * w];
    y[blockIdx.x] = __float2bfloat16(s);
  }
}
//--- ok compensated
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  float lost = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    float v = __bfloat162float(row[c]) - lost, t = s + v;
    lost = (t - s) - v;
    s = t;
  }
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- wrong drops the last term
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols - 1; c += blockDim.x)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- wrong adds up in bfloat16
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    s = __bfloat162float(__float2bfloat16(s + __bfloat162float(row[c])));
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- wrong drops the last of 64 Ki terms alone
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols - (cols > 60000); c += blockDim.x)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
//--- wrong drops the last of 1 Ki terms alone
__global__ void row_sums(int cols, int rows, const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
  __shared__ float part[256];
  const __nv_bfloat16 *row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols - (cols > 1000 && cols < 2000); c += blockDim.x)
    s += __bfloat162float(row[c]);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = __float2bfloat16(part[0]);
}
