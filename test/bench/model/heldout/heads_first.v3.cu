// launch: grid(tokens, batches) block(32)
static __global__ void heads_first(const float *x, float *y, int batches, int tokens, int heads, int width)
{
  int t = blockIdx.x, b = blockIdx.y;
#pragma unroll 1
  for (int h = 0; h < heads; h++)
    for (int w = threadIdx.x; w < width; w += 32)
      y[((b * heads + h) * tokens + t) * width + w] = x[((b * tokens + t) * heads + h) * width + w];
}
