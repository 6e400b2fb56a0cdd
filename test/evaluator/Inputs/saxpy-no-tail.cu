__global__ void saxpy(int n, float a, const float *x, float *y)
{
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n)
    for (int k = 0; k < 4; k++)
      y[i + k] = fmaf(a, x[i + k], y[i + k]);
}
