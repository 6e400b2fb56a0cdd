// launch: grid(ceil_div(outputs, 16), ceil_div(batch, 16)) block(16, 16)
static __global__ void linear_layer(const float *x, const float *w, const float *bias, float *y, int batch, int inputs,
                                    int outputs)
{
  __shared__ float sx[16][16], sw[16][17];
  int tx = threadIdx.x, ty = threadIdx.y;
  int o = blockIdx.x * 16 + tx, b = blockIdx.y * 16 + ty, ow = blockIdx.x * 16 + ty;
  float sum = 0.0f;
  for (int i0 = 0; i0 < inputs; i0 += 16) {
    sx[ty][tx] = b < batch && i0 + tx < inputs ? x[(size_t)b * inputs + i0 + tx] : 0.0f;
    sw[ty][tx] = ow < outputs && i0 + tx < inputs ? w[(size_t)ow * inputs + i0 + tx] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; i++)
      sum += sx[ty][i] * sw[tx][i];
    __syncthreads();
  }
  if (b < batch && o < outputs)
    y[(size_t)b * outputs + o] = sum + bias[o];
}
