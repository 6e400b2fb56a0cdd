// launch: grid(ceil_div(tokens, 16), ceil_div(tokens, 16), heads) block(16, 16)
static __global__ void attention_scores(const float *q, const float *k, float *s, int heads, int tokens, int width)
{
  __shared__ float sq[16][65], sk[16][65];
  int x = threadIdx.x, y = threadIdx.y;
  int j0 = blockIdx.x * 16, i0 = blockIdx.y * 16;
  size_t head = (size_t)blockIdx.z * tokens;
  for (int c = x; c < 64; c += 16) {
    sq[y][c] = i0 + y < tokens ? q[(head + i0 + y) * 64 + c] : 0.0f;
    sk[y][c] = j0 + y < tokens ? k[(head + j0 + y) * 64 + c] : 0.0f;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int c = 0; c < 64; c++)
    sum += sq[y][c] * sk[x][c];
  if (i0 + y < tokens && j0 + x < tokens)
    s[(head + i0 + y) * tokens + j0 + x] = 0.125f * sum;
}
