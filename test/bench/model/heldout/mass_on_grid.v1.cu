// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void mass_on_grid(const float *p, const float *q, const float *r, const float *m, float *grid, int n)
{
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 < n) {
    float4 x = *(const float4 *)(p + i), y = *(const float4 *)(q + i), z = *(const float4 *)(r + i);
    float4 w = *(const float4 *)(m + i);
    atomicAdd(&grid[(min((int)z.x, 63) * 64 + min((int)y.x, 63)) * 64 + min((int)x.x, 63)], w.x);
    atomicAdd(&grid[(min((int)z.y, 63) * 64 + min((int)y.y, 63)) * 64 + min((int)x.y, 63)], w.y);
    atomicAdd(&grid[(min((int)z.z, 63) * 64 + min((int)y.z, 63)) * 64 + min((int)x.z, 63)], w.z);
    atomicAdd(&grid[(min((int)z.w, 63) * 64 + min((int)y.w, 63)) * 64 + min((int)x.w, 63)], w.w);
  } else {
    for (; i < n; i++)
      atomicAdd(&grid[(min((int)r[i], 63) * 64 + min((int)q[i], 63)) * 64 + min((int)p[i], 63)], m[i]);
  }
}
