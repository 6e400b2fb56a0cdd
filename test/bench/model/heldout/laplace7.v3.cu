// launch: grid(ceil_div(nx, 32), ceil_div(ny, 8), ceil_div(nz, 16)) block(32, 8)
static __global__ void laplace7(const float *u, float *v, int nz, int ny, int nx)
{
  // Sixteen planes in turn, the middle one in shared memory.
  __shared__ float s[10][34];
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  int z0 = blockIdx.z * 16, end = z0 + 16 < nz ? z0 + 16 : nz;
  bool in = x < nx && y < ny;
  size_t plane = (size_t)ny * nx, i = z0 * plane + (size_t)y * nx + x;
  float behind = in && z0 > 0 ? u[i - plane] : 0.0f, here = in ? u[i] : 0.0f;
  for (int z = z0; z < end; z++, i += plane) {
    float ahead = in && z < nz - 1 ? u[i + plane] : 0.0f;
    s[ty][tx] = here;
    if (tx == 1)
      s[ty][0] = in && x > 0 ? u[i - 1] : 0.0f;
    if (tx == 32)
      s[ty][33] = in && x < nx - 1 ? u[i + 1] : 0.0f;
    if (ty == 1)
      s[0][tx] = in && y > 0 ? u[i - nx] : 0.0f;
    if (ty == 8)
      s[9][tx] = in && y < ny - 1 ? u[i + nx] : 0.0f;
    __syncthreads();
    if (in)
      v[i] = -6.0f * here + behind + ahead + s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx];
    __syncthreads();
    behind = here;
    here = ahead;
  }
}
