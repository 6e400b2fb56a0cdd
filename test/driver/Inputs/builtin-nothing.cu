// kevin: optimize let(n = 1 << 16) data(*[n]) block(128) grid(ceil_div(n, 128))
__global__ void step(int *x, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  switch (i < n) {
  case 1:
    x[i] = x[i] * 3 + 1;
  }
}
