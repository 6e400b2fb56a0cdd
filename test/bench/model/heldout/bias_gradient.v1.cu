// launch: grid(ceil_div(cols, 32)) block(32, 32)
static __global__ void bias_gradient(const float *x, float *sum, int rows, int cols)
{
  __shared__ float s[32][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  float v = 0.0f;
  if (c < cols)
    for (int r = threadIdx.y; r < rows; r += 32)
      v += x[(size_t)r * cols + c];
  s[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  v = s[threadIdx.x][threadIdx.y];
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x == 0 && blockIdx.x * 32 + threadIdx.y < cols)
    sum[blockIdx.x * 32 + threadIdx.y] += v;
}
