// RUN: %hack cpu %s
// Softmax of 32, 1 Ki and 64 Ki terms: another order, one pass in place of two, are let
// through; a series cut short, a sum that lacks a term, no maximum subtracted are not.
// kevin: optimize let(cols = {32, 1024, 65536}) fix(rows = 4) in(x[rows][cols]) out(y[rows][cols])
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
void run(int cols, int rows, const float *x, float *y) { softmax<<<rows, 256>>>(cols, rows, x, y); }
//--- ok from the end
__global__ void softmax(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = cols - 1 - (int)threadIdx.x; c >= 0; c -= blockDim.x)
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
  for (int c = cols - 1 - (int)threadIdx.x; c >= 0; c -= blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = cols - 1 - (int)threadIdx.x; c >= 0; c -= blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- ok one pass
__global__ void softmax(int cols, int rows, const float *x, float *y)
{
  __shared__ float part[256];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -__int_as_float(0x7f800000), s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    if (row[c] > m) {
      s = s * expf(m - row[c]) + 1;
      m = row[c];
    } else {
      s += expf(row[c] - m);
    }
  float own = m;
  part[threadIdx.x] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  s = own > -__int_as_float(0x7f800000) ? s * expf(own - m) : 0;
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- ok multiplies by the inverse
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) * (1 / part[0]);
}
//--- wrong drops the last term of the sum
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
  for (int c = threadIdx.x; c < cols - 1; c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- wrong no maximum is subtracted
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- wrong a series of six terms
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
    {
    float v = row[c] - m;
    s += 1 + v * (1 + v / 2 * (1 + v / 3 * (1 + v / 4 * (1 + v / 5))));
  }
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- wrong adds up in ten bits
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
    s = __uint_as_float((__float_as_uint(s + expf(row[c] - m)) + 0x1000u) & 0xffffe000u);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- wrong drops the last of 64 Ki terms alone
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
  for (int c = threadIdx.x; c < cols - (cols > 60000); c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
//--- wrong drops the last of 1 Ki terms alone
__global__ void softmax(int cols, int rows, const float *x, float *y)
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
  for (int c = threadIdx.x; c < cols - (cols > 1000 && cols < 2000); c += blockDim.x)
    s += expf(row[c] - m);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d)
      part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / part[0];
}
