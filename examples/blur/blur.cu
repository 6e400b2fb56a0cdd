// Smooths each row of an image with a moving average and prints the mean.
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error)
{
  if (error != cudaSuccess) {
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

// One thread a pixel; every pixel is read 2 * radius + 1 times.
//
// kevin: optimize let(rows = 4096, cols = 4096) fix(radius = 8)
// kevin: in(src[rows][cols]) out(dst[rows][cols])
static __global__ void blur_rows(int rows, int cols, int radius, const float *src,
                                 float *dst)
{
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (row >= rows || col >= cols)
    return;
  float sum = 0;
  int n = 0;
  for (int c = col - radius; c <= col + radius; c++) {
    if (c < 0 || c >= cols)
      continue;
    sum += src[(size_t)row * cols + c];
    n++;
  }
  dst[(size_t)row * cols + col] = sum / n;
}

static void blur(int rows, int cols, int radius, const float *src, float *dst)
{
  blur_rows<<<dim3((cols + 255) / 256, rows), 256>>>(rows, cols, radius, src, dst);
  check(cudaGetLastError());
}

int main()
{
  const int rows = 4096, cols = 4096, radius = 8;
  size_t n = (size_t)rows * cols;
  std::vector<float> image(n);
  for (size_t i = 0; i < n; i++)
    image[i] = (float)(i * 2654435761u % 256);

  float *src = nullptr, *dst = nullptr;
  check(cudaMalloc(&src, n * sizeof(float)));
  check(cudaMalloc(&dst, n * sizeof(float)));
  check(cudaMemcpy(src, image.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  blur(rows, cols, radius, src, dst);
  check(cudaMemcpy(image.data(), dst, n * sizeof(float), cudaMemcpyDeviceToHost));
  check(cudaFree(src));
  check(cudaFree(dst));

  double sum = 0;
  for (float v : image)
    sum += v;
  std::printf("mean %.3f\n", sum / (double)n);
  return 0;
}
