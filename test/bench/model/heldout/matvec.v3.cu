// launch: grid(ceil_div(rows, 32)) block(32)
static __global__ void matvec(const float *a, const float *x, float *y, int rows, int cols)
{
  // Squares of the matrix through shared memory, then a row a thread.
  __shared__ float s[32][33], v[32];
  int lane = threadIdx.x, r0 = blockIdx.x * 32;
  float sum = 0.0f;
  for (int c0 = 0; c0 < cols; c0 += 32) {
    for (int k = 0; k < 32; k++)
      s[k][lane] = r0 + k < rows && c0 + lane < cols ? a[(size_t)(r0 + k) * cols + c0 + lane] : 0.0f;
    v[lane] = c0 + lane < cols ? x[c0 + lane] : 0.0f;
    __syncwarp();
    for (int k = 0; k < 32; k++)
      sum += s[lane][k] * v[k];
    __syncwarp();
  }
  if (r0 + lane < rows)
    y[r0 + lane] = sum;
}
