// launch: grid(ceil_div(nx, 32), ceil_div(ny, 8)) block(32, 8)
static __global__ void laplace7(const float *u, float *v, int nz, int ny, int nx)
{
  // A column of the grid a thread.
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny)
    return;
  size_t plane = (size_t)ny * nx, i = (size_t)y * nx + x;
  float behind = 0.0f, here = u[i];
  for (int z = 0; z < nz; z++, i += plane) {
    float ahead = z < nz - 1 ? u[i + plane] : 0.0f;
    float sum = -6.0f * here + behind + ahead;
    sum += x > 0 ? u[i - 1] : 0.0f;
    sum += x < nx - 1 ? u[i + 1] : 0.0f;
    sum += y > 0 ? u[i - nx] : 0.0f;
    sum += y < ny - 1 ? u[i + nx] : 0.0f;
    v[i] = sum;
    behind = here;
    here = ahead;
  }
}
