// RUN: %hack cpu %s
// Past an array in shared memory by one element. On a GPU it lands in a neighbour, or in
// what the block has and does not use, and no error comes; what it spoils may show.
// kevin: optimize let(n = 4096) in(x[n]) out(y[n])
__global__ void turn(int n, const float *x, float *y)
{
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n)
    y[i] = tile[threadIdx.x] + tile[threadIdx.x ^ 1];
}
void run(int n, const float *x, float *y) { turn<<<(n + 255) / 256, 256>>>(n, x, y); }
//--- ok honest, by shuffles
__global__ void turn(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0, w = __shfl_xor_sync(0xffffffffu, v, 1);
  if (i < n)
    y[i] = v + w;
}
//--- cpu:fault writes behind an array
__global__ void turn(int n, const float *x, float *y)
{
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  if (threadIdx.x == 0)
    *(volatile float *)(tile + 256 + n / 100000) = 1;
  __syncthreads();
  if (i < n)
    y[i] = tile[threadIdx.x] + tile[threadIdx.x ^ 1];
}
//--- cpu:fault reads behind an array
__global__ void turn(int n, const float *x, float *y)
{
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n)
    y[i] = tile[threadIdx.x] + tile[threadIdx.x ^ 1] + (*(volatile float *)(tile + 256) == 1e30f);
}
//--- cpu:fault writes before an array
__global__ void turn(int n, const float *x, float *y)
{
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  if (threadIdx.x == 0)
    *(volatile float *)(tile - 1024) = 1;
  __syncthreads();
  if (i < n)
    y[i] = tile[threadIdx.x] + tile[threadIdx.x ^ 1];
}
