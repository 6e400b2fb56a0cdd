// launch: grid(ceil_div(pixels, 32), ceil_div(channels, 32), images) block(32, 8)
static __global__ void channels_last(const float *x, float *y, int images, int channels, int pixels)
{
  __shared__ float s[32][33];
  size_t image = (size_t)blockIdx.z * channels * pixels;
  int p0 = blockIdx.x * 32, c0 = blockIdx.y * 32, tx = threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (c0 + k < channels && p0 + tx < pixels)
      s[k][tx] = x[image + (size_t)(c0 + k) * pixels + p0 + tx];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    if (p0 + k < pixels && c0 + tx < channels)
      y[image + (size_t)(p0 + k) * channels + c0 + tx] = s[tx][k];
}
