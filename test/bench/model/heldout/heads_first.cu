// family: transpose
// Tokens x heads x width to heads x tokens x width for each batch, as attention wants it.
// kevin: optimize let(batches = 16, tokens = 1024) fix(heads = 12, width = 64)
// kevin: in(x[batches][tokens][heads][width]) out(y[batches][heads][tokens][width]) align(16)
static __global__ void heads_first(const float *x, float *y, int batches, int tokens, int heads, int width)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batches * tokens * heads * width)
    return;
  int w = i % width, t = i / width % tokens, h = i / (width * tokens) % heads, b = i / (width * tokens * heads);
  y[i] = x[((b * tokens + t) * heads + h) * width + w];
}

void run(const float *x, float *y, int batches, int tokens, int heads, int width)
{
  heads_first<<<(batches * tokens * heads * width + 255) / 256, 256>>>(x, y, batches, tokens, heads, width);
}
