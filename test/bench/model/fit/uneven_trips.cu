// family: divergence
// Loops of 0 to 127 turns, unlike in every lane.
// kevin: optimize let(n = 1 << 21) in(trips[n] = index(128)) out(y[n])
static __global__ void uneven_trips(const int *trips, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = 1.0f;
#pragma unroll 1
  for (int k = trips[i]; k > 0; k--)
    v = v * 0.875f + 0.5f;
  y[i] = v;
}

void run(const int *trips, float *y, int n) { uneven_trips<<<(n + 255) / 256, 256>>>(trips, y, n); }
