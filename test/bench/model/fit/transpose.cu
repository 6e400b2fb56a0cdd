// family: transpose
// kevin: optimize let(rows = 8192, cols = 8192) in(a[rows][cols]) out(t[cols][rows])
static __global__ void transpose(const float *a, float *t, int rows, int cols)
{
  int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) {
    int r = r0 + k;
    if (r < rows && c < cols)
      t[(size_t)c * rows + r] = a[(size_t)r * cols + c];
  }
}

void run(const float *a, float *t, int rows, int cols)
{
  transpose<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8)>>>(a, t, rows, cols);
}
