// launch: grid(ceil_div(outputs, 16), ceil_div(batch, 16)) block(16, 16)
static __global__ void linear_layer(const float *x, const float *w, const float *bias, float *y, int batch, int inputs,
                                    int outputs)
{
  // Neighbouring threads at neighbouring outputs.
  int o = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y * blockDim.y + threadIdx.y;
  if (b >= batch || o >= outputs)
    return;
  float sum = bias[o];
  for (int i = 0; i < inputs; i++)
    sum += x[(size_t)b * inputs + i] * w[(size_t)o * inputs + i];
  y[(size_t)b * outputs + o] = sum;
}
