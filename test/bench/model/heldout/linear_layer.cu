// family: matmul
// A linear layer: inputs by rows, weights by rows of the output, a bias.
// kevin: optimize let(batch = 1024, inputs = 768, outputs = 768)
// kevin: in(x[batch][inputs], w[outputs][inputs], bias[outputs]) out(y[batch][outputs]) compare(tol(1e-3))
static __global__ void linear_layer(const float *x, const float *w, const float *bias, float *y, int batch, int inputs,
                                    int outputs)
{
  int b = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y * blockDim.y + threadIdx.y;
  if (b >= batch || o >= outputs)
    return;
  float sum = bias[o];
  for (int i = 0; i < inputs; i++)
    sum += x[(size_t)b * inputs + i] * w[(size_t)o * inputs + i];
  y[(size_t)b * outputs + o] = sum;
}

void run(const float *x, const float *w, const float *bias, float *y, int batch, int inputs, int outputs)
{
  linear_layer<<<dim3((batch + 15) / 16, (outputs + 15) / 16), dim3(16, 16)>>>(x, w, bias, y, batch, inputs, outputs);
}
