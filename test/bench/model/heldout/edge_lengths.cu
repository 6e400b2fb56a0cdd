// family: gather
// Lengths of a mesh's edges: six coordinates for each, at random places.
// kevin: optimize let(edges = 3000000, points = 1000000) in(from[edges] = index(points), to[edges] = index(points))
// kevin: in(p[points][4]) out(length[edges]) align(16) compare(tol(1e-4))
static __global__ void edge_lengths(const int *from, const int *to, const float *p, float *length, int edges)
{
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges)
    return;
  float sum = 0.0f;
#pragma unroll 1
  for (int c = 0; c < 3; c++) {
    float d = p[4 * to[e] + c] - p[4 * from[e] + c];
    sum += d * d;
  }
  length[e] = sqrtf(sum);
}

void run(const int *from, const int *to, const float *p, float *length, int edges)
{
  edge_lengths<<<(edges + 255) / 256, 256>>>(from, to, p, length, edges);
}
