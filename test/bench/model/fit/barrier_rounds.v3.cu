// launch: grid(blocks) block(128)
static __global__ void barrier_rounds(const float *x, float *y, int blocks)
{
  __shared__ float s[512];
  int t = threadIdx.x;
  for (int k = 0; k < 512; k += 128)
    s[t + k] = x[(size_t)blockIdx.x * 512 + t + k];
  __syncthreads();
  for (int r = 0; r < 27; r++) {
    float v[4];
    for (int k = 0; k < 4; k++)
      v[k] = s[t + 128 * k] + 0.25f * s[(t + 128 * k) ^ (1 << r % 9)];
    __syncthreads();
    for (int k = 0; k < 4; k++)
      s[t + 128 * k] = 0.75f * v[k];
    __syncthreads();
  }
  for (int k = 0; k < 512; k += 128)
    y[(size_t)blockIdx.x * 512 + t + k] = s[t + k];
}
