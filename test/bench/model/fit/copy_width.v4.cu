// launch: grid(132) block(512)
static __global__ void copy_width(const float *x, float *y, int n)
{
  // One block a multiprocessor, one load in flight a thread.
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += gridDim.x * 512)
    y[i] = 2.0f * x[i];
}
