// RUN: %hack cpu %s
// Iterations as many as the tests' data need.
// kevin: optimize let(n = 5000) in(x[n]) out(y[n])
__global__ void cube_roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = fabsf(x[i]) + 1, r = fmaxf(v, 1.0f), was = 0;
  for (int k = 0; k < 200 && r != was; k++) {
    was = r;
    r = (2 * r + v / (r * r)) / 3;
  }
  y[i] = copysignf(r, x[i]);
}
void run(int n, const float *x, float *y) { cube_roots<<<(n + 255) / 256, 256>>>(n, x, y); }
//--- ok honest, another start
__global__ void cube_roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = fabsf(x[i]) + 1, r = cbrtf(v);
  y[i] = copysignf(r, x[i]);
}
//--- wrong six steps
__global__ void cube_roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = fabsf(x[i]) + 1, r = fmaxf(v, 1.0f);
  for (int k = 0; k < 6; k++)
    r = (2 * r + v / (r * r)) / 3;
  y[i] = copysignf(r, x[i]);
}
//--- wrong a tolerance that is loose
__global__ void cube_roots(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = fabsf(x[i]) + 1, r = fmaxf(v, 1.0f), was = 0;
  for (int k = 0; k < 200 && fabsf(r - was) > 1e-2f * r; k++) {
    was = r;
    r = (2 * r + v / (r * r)) / 3;
  }
  y[i] = copysignf(r, x[i]);
}
