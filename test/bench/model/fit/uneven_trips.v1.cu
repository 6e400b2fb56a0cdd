static __global__ void uneven_trips(const int *trips, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int m = trips[i];
  float v = 1.0f;
#pragma unroll 1
  for (int k = 0; k < 127; k++)
    v = k < m ? v * 0.875f + 0.5f : v;
  y[i] = v;
}
