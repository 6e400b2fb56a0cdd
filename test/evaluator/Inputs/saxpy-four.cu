__global__ void saxpy(int n, float a, const float *x, float *y)
{
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 u = *(const float4 *)(x + i), v = *(float4 *)(y + i);
    v.x = fmaf(a, u.x, v.x);
    v.y = fmaf(a, u.y, v.y);
    v.z = fmaf(a, u.z, v.z);
    v.w = fmaf(a, u.w, v.w);
    *(float4 *)(y + i) = v;
  } else {
    for (; i < n; i++)
      y[i] = fmaf(a, x[i], y[i]);
  }
}
