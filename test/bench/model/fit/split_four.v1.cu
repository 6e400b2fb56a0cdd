static __global__ void split_four(const float *p, float *q, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float4 v = ((const float4 *)p)[i];
  q[i] = v.x;
  q[(size_t)n + i] = v.y;
  q[2 * (size_t)n + i] = v.z;
  q[3 * (size_t)n + i] = v.w;
}
