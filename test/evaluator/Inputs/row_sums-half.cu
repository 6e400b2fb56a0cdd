__global__ void row_sums(int cols, const float *x, float *y)
{
  __shared__ float part[128];
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256)
    sum += 2 * x[blockIdx.x * cols + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 128; i++)
      sum += part[i];
    y[blockIdx.x] = sum;
  }
}
