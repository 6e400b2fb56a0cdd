static __global__ void join_eight(const float *q, float *p, int n)
{
  size_t i = blockIdx.x * blockDim.x + threadIdx.x, m = n;
  if (i >= m)
    return;
  float4 a = make_float4(q[i], q[m + i], q[2 * m + i], q[3 * m + i]);
  float4 b = make_float4(q[4 * m + i], q[5 * m + i], q[6 * m + i], q[7 * m + i]);
  ((float4 *)p)[2 * i] = a;
  ((float4 *)p)[2 * i + 1] = b;
}
