__global__ void row_sums(int cols, const float *x, float *y)
{
  __shared__ float part[4];
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 128)
    sum += x[blockIdx.x * cols + i];
  for (int step = 16; step; step /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
