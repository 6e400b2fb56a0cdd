// What the CPU back end costs in processor time of its children: a compile, a
// launch, a thread, a barrier, a shuffle. Prints a line each; medians of 5.
#include "evaluator/cpu_kit.h"

#include <sys/resource.h>

static double now_ms(void)
{
  struct rusage u;
  getrusage(RUSAGE_CHILDREN, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// One launch of `code`, without its compile; each is run in both orders.
static double launch_ms(const char *code, unsigned grid, unsigned block)
{
  struct kit k;
  double ms[5];
  kit_begin(&k, "k");
  kit_int(&k, 20000);
  kit_buffer(&k, "o", KR_OUT, 4, (size_t)grid * block, NULL);
  kit_launch(&k, grid, block, 0);
  for (int i = 0; i < 5; i++) {
    if (!k.m)
      kit_compile(&k, code);
    double start = now_ms();
    kit_go(&k, code);
    if (!kit_ok(&k))
      exit(1);
    ms[i] = (now_ms() - start) / 2;
  }
  kit_end(&k);
  qsort(ms, 5, sizeof *ms, by_value);
  return ms[2];
}

int main(void)
{
  double compile[5];
  for (int i = 0; i < 5; i++) {
    struct kit k;
    kit_begin(&k, "k");
    double start = now_ms();
    if (kit_compile(&k, "__global__ void k(int n, const float *x, float *y) {\n"
                        " __shared__ float s[256]; int t = threadIdx.x; s[t] = x[t];\n"
                        " __syncthreads(); for (int d = 128; d; d /= 2) {\n"
                        "  if (t < d) s[t] += s[t + d]; __syncthreads(); }\n"
                        " if (!t) y[blockIdx.x] = s[0] + expf(x[n]); }"))
      return 1;
    compile[i] = now_ms() - start;
    kit_end(&k);
  }
  qsort(compile, 5, sizeof *compile, by_value);
  printf("compile       %8.1f ms\n", compile[2]);
  double empty = launch_ms("__global__ void k(int n, int *o) { }", 1, 1);
  printf("launch        %8.2f ms\n", empty);
  double loop = launch_ms("__global__ void k(int n, int *o) {\n"
                          " o[blockIdx.x * blockDim.x + threadIdx.x] = n; }", 16384, 256);
  printf("thread, loop  %8.2f ns\n", (loop - empty) * 1e6 / (16384 * 256));
  for (unsigned block = 32; block <= 1024; block *= 4) {
    double few = launch_ms("__global__ void k(int n, int *o) { __syncthreads();\n"
                           " o[threadIdx.x] = n; }", 1, block);
    double many = launch_ms("__global__ void k(int n, int *o) {\n"
                            " for (int i = 0; i < n; i++) __syncthreads();\n"
                            " o[threadIdx.x] = n; }", 1, block);
    printf("barrier, %4u  %8.2f ns an arrival\n", block, (many - few) * 1e6 / (20000.0 * block));
  }
  double few = launch_ms("__global__ void k(int n, int *o) { __syncwarp();\n"
                         " o[threadIdx.x] = n; }", 1, 256);
  double many = launch_ms("__global__ void k(int n, int *o) { int v = threadIdx.x;\n"
                          " for (int i = 0; i < n; i++) v = __shfl_xor_sync(~0u, v, 1 + i % 31);\n"
                          " o[threadIdx.x] = v; }", 1, 256);
  printf("shuffle       %8.2f ns a lane\n", (many - few) * 1e6 / (20000.0 * 256));
  kr_backend_cpu.close(kit_device);
  return 0;
}
