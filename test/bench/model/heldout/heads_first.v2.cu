// launch: grid(tokens, batches) block(64, 12)
static __global__ void heads_first(const float *x, float *y, int batches, int tokens, int heads, int width)
{
  int t = blockIdx.x, b = blockIdx.y, h = threadIdx.y, w = threadIdx.x;
  y[((b * heads + h) * tokens + t) * width + w] = x[((b * tokens + t) * heads + h) * width + w];
}
