// launch: grid(rows) block(128)
static __global__ void matvec(const float *a, const float *x, float *y, int rows, int cols)
{
  __shared__ float s[4];
  int t = threadIdx.x;
  const float4 *row = (const float4 *)(a + (size_t)blockIdx.x * cols);
  float sum = 0.0f;
  for (int c = t; c < cols / 4; c += 128) {
    float4 p = row[c], q = ((const float4 *)x)[c];
    sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (t % 32 == 0)
    s[t / 32] = sum;
  __syncthreads();
  if (t == 0)
    y[blockIdx.x] = s[0] + s[1] + s[2] + s[3];
}
