// launch: grid(ceil_div(outputs, 32), ceil_div(batch, 32)) block(16, 16)
static __global__ void linear_layer(const float *x, const float *w, const float *bias, float *y, int batch, int inputs,
                                    int outputs)
{
  // Two by two results a thread.
  __shared__ float sx[32][33], sw[32][33];
  int tx = threadIdx.x, ty = threadIdx.y, b0 = blockIdx.y * 32, o0 = blockIdx.x * 32;
  float s00 = 0.0f, s01 = 0.0f, s10 = 0.0f, s11 = 0.0f;
  for (int i0 = 0; i0 < inputs; i0 += 32) {
    for (int e = ty * 16 + tx; e < 1024; e += 256) {
      int r = e >> 5, i = e & 31;
      bool in = i0 + i < inputs;
      sx[r][i] = in && b0 + r < batch ? x[(size_t)(b0 + r) * inputs + i0 + i] : 0.0f;
      sw[r][i] = in && o0 + r < outputs ? w[(size_t)(o0 + r) * inputs + i0 + i] : 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 32; i++) {
      float p = sx[ty][i], q = sx[ty + 16][i], u = sw[tx][i], v = sw[tx + 16][i];
      s00 += p * u;
      s01 += p * v;
      s10 += q * u;
      s11 += q * v;
    }
    __syncthreads();
  }
  float r[2][2] = {{s00, s01}, {s10, s11}};
  for (int u = 0; u < 2; u++)
    for (int v = 0; v < 2; v++) {
      int b = b0 + ty + 16 * u, o = o0 + tx + 16 * v;
      if (b < batch && o < outputs)
        y[(size_t)b * outputs + o] = r[u][v] + bias[o];
    }
}
