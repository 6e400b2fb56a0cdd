// launch: grid(ceil_div(n, 1024)) block(256)
static __global__ void short_axpy(float a, const float *x, float *y, int n)
{
  int i = 4 * (blockIdx.x * 256 + threadIdx.x);
  if (i < n) {
    float4 p = *(const float4 *)(x + i), q = *(float4 *)(y + i);
    q.x += a * p.x;
    q.y += a * p.y;
    q.z += a * p.z;
    q.w += a * p.w;
    *(float4 *)(y + i) = q;
  }
}
