// family: reduction
// A sum for each 1024 floats: no atomics, one number written a block.
// kevin: optimize let(parts = 32768) in(x[1024 * parts] = uniform(0, 1)) out(y[parts])
static __global__ void part_sums(const float *x, float *y, int parts)
{
  __shared__ float s[1024];
  int t = threadIdx.x;
  s[t] = x[(size_t)blockIdx.x * 1024 + t];
  __syncthreads();
  for (int w = 512; w > 0; w >>= 1) {
    if (t < w)
      s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = s[0];
}

void run(const float *x, float *y, int parts) { part_sums<<<parts, 1024>>>(x, y, parts); }
