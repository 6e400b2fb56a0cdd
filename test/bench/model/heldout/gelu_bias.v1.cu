// launch: grid(ceil_div(rows * cols, 1024)) block(256)
static __device__ float gelu_bias_of(float v)
{
  float u = 0.7978845608f * (v + 0.044715f * v * v * v);
  return 0.5f * v * (1.0f + tanhf(u));
}

static __global__ void gelu_bias(const float *x, const float *bias, float *y, int rows, int cols)
{
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < rows * cols) {
    float4 v = *(const float4 *)(x + i), b = *(const float4 *)(bias + i % cols);
    *(float4 *)(y + i) = make_float4(gelu_bias_of(v.x + b.x), gelu_bias_of(v.y + b.y), gelu_bias_of(v.z + b.z), gelu_bias_of(v.w + b.w));
  }
}
