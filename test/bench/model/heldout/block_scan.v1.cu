static __global__ void block_scan(const float *x, float *y, int chunks)
{
  __shared__ float s[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  size_t i = (size_t)blockIdx.x * 1024 + t;
  float v = x[i];
  for (int d = 1; d < 32; d *= 2) {
    float o = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d)
      v += o;
  }
  if (lane == 31)
    s[warp] = v;
  __syncthreads();
  if (warp == 0) {
    float w = s[lane];
    for (int d = 1; d < 32; d *= 2) {
      float o = __shfl_up_sync(0xffffffffu, w, d);
      if (lane >= d)
        w += o;
    }
    s[lane] = w;
  }
  __syncthreads();
  y[i] = warp > 0 ? v + s[warp - 1] : v;
}
