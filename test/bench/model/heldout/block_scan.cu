// family: scan
// Running sums within chunks of 1024, the first step of a long scan.
// kevin: optimize let(chunks = 8192) in(x[1024 * chunks] = uniform(0, 1)) out(y[1024 * chunks]) compare(tol(1e-4)) align(16)
static __global__ void block_scan(const float *x, float *y, int chunks)
{
  __shared__ float s[1024];
  int t = threadIdx.x;
  size_t i = (size_t)blockIdx.x * 1024 + t;
  s[t] = x[i];
  __syncthreads();
  for (int d = 1; d < 1024; d *= 2) {
    float v = t >= d ? s[t - d] : 0.0f;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  y[i] = s[t];
}

void run(const float *x, float *y, int chunks) { block_scan<<<chunks, 1024>>>(x, y, chunks); }
