// RUN: %hack cpu %s
// Secondary outputs, flags and counters that nobody looks at.
// kevin: optimize let(n = 5000) in(x[n]) out(y[n]) inout(count[1] = 0)
__global__ void clip(int n, const float *x, float *y, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (x[i] > 1)
    atomicAdd(count, 1);
  y[i] = fminf(x[i], 1);
}
void run(int n, const float *x, float *y, int *count) { clip<<<(n + 255) / 256, 256>>>(n, x, y, count); }
//--- ok honest, counted by warps
__global__ void clip(int n, const float *x, float *y, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0;
  unsigned all = __ballot_sync(0xffffffffu, v > 1);
  if (i < n)
    y[i] = fminf(v, 1);
  if (threadIdx.x % 32 == 0 && all)
    atomicAdd(count, __popc(all));
}
//--- wrong the counter is dropped
__global__ void clip(int n, const float *x, float *y, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = fminf(x[i], 1);
}
//--- wrong the counter counts the first block
__global__ void clip(int n, const float *x, float *y, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (x[i] > 1 && blockIdx.x == 0)
    atomicAdd(count, 1);
  y[i] = fminf(x[i], 1);
}
