// family: softmax
// Normalisation of rows with scale and shift, a thread a row.
// kevin: optimize let(rows = 8192, cols = 768) in(x[rows][cols], scale[cols], shift[cols]) out(y[rows][cols])
// kevin: require(cols > 0) compare(tol(1e-3))
static __global__ void layer_norm(const float *x, const float *scale, const float *shift, float *y, int rows, int cols)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  const float *in = x + (size_t)r * cols;
  float mean = 0.0f, var = 0.0f;
  for (int c = 0; c < cols; c++)
    mean += in[c];
  mean /= cols;
  for (int c = 0; c < cols; c++)
    var += (in[c] - mean) * (in[c] - mean);
  float inv = rsqrtf(var / cols + 1e-5f);
  for (int c = 0; c < cols; c++)
    y[(size_t)r * cols + c] = (in[c] - mean) * inv * scale[c] + shift[c];
}

void run(const float *x, const float *scale, const float *shift, float *y, int rows, int cols)
{
  layer_norm<<<(rows + 127) / 128, 128>>>(x, scale, shift, y, rows, cols);
}
