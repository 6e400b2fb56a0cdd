// launch: grid(chunks) block(256)
static __global__ void block_scan(const float *x, float *y, int chunks)
{
  // Four neighbours a thread.
  __shared__ float s[8];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  size_t i = (size_t)blockIdx.x * 256 + t;
  float4 q = ((const float4 *)x)[i];
  q.y += q.x;
  q.z += q.y;
  q.w += q.z;
  float v = q.w;
  for (int d = 1; d < 32; d *= 2) {
    float o = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d)
      v += o;
  }
  if (lane == 31)
    s[warp] = v;
  __syncthreads();
  float before = v - q.w;
  for (int k = 0; k < warp; k++)
    before += s[k];
  ((float4 *)y)[i] = make_float4(q.x + before, q.y + before, q.z + before, q.w + before);
}
