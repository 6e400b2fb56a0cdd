// launch: grid(132) block(256)
static __global__ void edge_lengths(const int *from, const int *to, const float *p, float *length, int edges)
{
#pragma unroll 1
  for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < edges; e += gridDim.x * blockDim.x) {
    float4 a = ((const float4 *)p)[from[e]], b = ((const float4 *)p)[to[e]];
    float x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
    length[e] = sqrtf(x * x + y * y + z * z);
  }
}
