// family: stencil
// The seven-point Laplacian of a grid in space.
// kevin: optimize let(nz = 256, ny = 256, nx = 256) in(u[nz][ny][nx]) out(v[nz][ny][nx])
static __global__ void laplace7(const float *u, float *v, int nz, int ny, int nx)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz)
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

void run(const float *u, float *v, int nz, int ny, int nx)
{
  laplace7<<<dim3((nx + 7) / 8, (ny + 7) / 8, (nz + 7) / 8), dim3(8, 8, 8)>>>(u, v, nz, ny, nx);
}
