// launch: grid(ceil_div(nx, 64), ceil_div(ny, 4), nz) block(64, 4)
static __global__ void laplace7(const float *u, float *v, int nz, int ny, int nx)
{
  int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z;
  if (x >= nx || y >= ny)
    return;
  size_t plane = (size_t)ny * nx, i = z * plane + (size_t)y * nx + x;
  float sum = -6.0f * u[i];
  sum += x > 0 ? u[i - 1] : 0.0f;
  sum += x < nx - 1 ? u[i + 1] : 0.0f;
  sum += y > 0 ? u[i - nx] : 0.0f;
  sum += y < ny - 1 ? u[i + nx] : 0.0f;
  sum += z > 0 ? u[i - plane] : 0.0f;
  sum += z < nz - 1 ? u[i + plane] : 0.0f;
  v[i] = sum;
}
