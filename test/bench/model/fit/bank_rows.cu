// family: shared
// Each thread walks a row of a table in shared memory; rows of 32 words put all
// lanes on one bank, wider rows on several.
// kevin: optimize let(blocks = 2112) in(x[1024 * blocks]) out(y[32 * blocks])
static __global__ void bank_rows(const float *x, float *y, int blocks)
{
  __shared__ float s[32 * 32];
  int t = threadIdx.x;
  for (int k = 0; k < 32; k++)
    s[k * 32 + t] = x[(size_t)blockIdx.x * 1024 + k * 32 + t];
  __syncwarp();
  float v = 0.0f;
  for (int pass = 0; pass < 16; pass++)
    for (int k = 0; k < 32; k++)
      v = v * 0.5f + s[t * 32 + k];
  y[blockIdx.x * 32 + t] = v;
}

void run(const float *x, float *y, int blocks) { bank_rows<<<blocks, 32>>>(x, y, blocks); }
