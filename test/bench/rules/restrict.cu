// Sums in place: without a promise that `y` is none of the others, every step stores
// and loads it again.
// kevin: optimize let((rows, terms) = {(262144, 64)})
// kevin: in(a[terms][rows], w[terms]) inout(y[rows])
static __global__ void weighted_sum(float *y, const float *a, const float *w, int rows, int terms)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  for (int k = 0; k < terms; k++)
    y[i] += w[k] * a[(size_t)k * rows + i];
}

void run(float *y, const float *a, const float *w, int rows, int terms)
{
  weighted_sum<<<(rows + 255) / 256, 256>>>(y, a, w, rows, terms);
}
