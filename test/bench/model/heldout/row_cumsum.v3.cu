// launch: grid(ceil_div(rows, 32)) block(32)
static __global__ void row_cumsum(const float *x, float *y, int rows, int cols)
{
  // A thread a row still, but rows pass through shared memory in squares.
  __shared__ float s[32][33];
  int lane = threadIdx.x, r0 = blockIdx.x * 32;
  float sum = 0.0f;
  for (int c0 = 0; c0 < cols; c0 += 32) {
    for (int k = 0; k < 32; k++)
      s[k][lane] = r0 + k < rows && c0 + lane < cols ? x[(size_t)(r0 + k) * cols + c0 + lane] : 0.0f;
    __syncwarp();
    for (int k = 0; k < 32; k++) {
      sum += s[lane][k];
      s[lane][k] = sum;
    }
    __syncwarp();
    for (int k = 0; k < 32; k++)
      if (r0 + k < rows && c0 + lane < cols)
        y[(size_t)(r0 + k) * cols + c0 + lane] = s[k][lane];
    __syncwarp();
  }
}
