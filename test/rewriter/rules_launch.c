// RUN: %unit/rules_launch
//
// Several elements a thread, and other block sizes.
#include "rules_kit.h"

#include "../../rewriter/rules/list.h"

static const char scale[] = "__global__ void k(const float *x, float *y, int n)\n"
                            "{\n"
                            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "    // each\n"
                            "    if (i < n)\n"
                            "        y[i] = x[i]; // done\n"
                            "}\n";
static const char early[] = "__global__ void k(const float *x, float *y, int n, int m)\n"
                            "{\n"
                            "  int c = threadIdx.x + blockIdx.x * 32, r = 7;\n"
                            "  int q = threadIdx.y + blockIdx.y * TILE;\n"
                            "  if (q >= m || c >= n) return;\n"
                            "  int j = q * n + c;\n"
                            "  y[j] = x[j] + r;\n"
                            "}\n";
static const char rows[] = "__global__ void k(const float *x, float *y, int n)\n"
                           "{\n"
                           "  extern __shared__ float buf[];\n"
                           "  float s = 0;\n"
                           "  for (int i = threadIdx.x; i < n; i += blockDim.x)\n"
                           "    s += x[blockIdx.x * n + i];\n"
                           "  buf[threadIdx.x] = s;\n"
                           "  __syncthreads();\n"
                           "  if (threadIdx.x == 0) y[blockIdx.x] = buf[0];\n"
                           "}\n";

static void coarsens(void)
{
  struct kit k;
  kit_make(&k, "", scale, "(n + 127) / 128", "128", true);
  CHECK_INT(kit_propose(&k, &coarsen_rule)->n, 3);
  const struct kr_proposal *p = kit_at(&k, "i x4");
  CHECK_STR(p ? p->code : "", "__global__ void k(const float *x, float *y, int n)\n"
                              "{\n"
                              "    int i = blockIdx.x * (blockDim.x * 4) + threadIdx.x;\n"
                              "    // each\n"
                              "    #pragma unroll\n"
                              "    for (int part = 0; part < 4; ++part, i += blockDim.x) {\n"
                              "        if (i < n)\n"
                              "            y[i] = x[i]; // done\n"
                              "    }\n"
                              "}\n");
  CHECK(p && p->has_geometry);
  CHECK_STR(p ? p->geometry.grid[0] : "", "ceil_div(n, 512)");
  CHECK_STR(p ? p->geometry.block[0] : "", "128");
  kit_release(&k);
  // A fixed launch keeps its grid.
  kit_make(&k, "", scale, "ceil_div(n, 128) + 1", "128", false);
  CHECK_INT(kit_propose(&k, &coarsen_rule)->n, 3);
  CHECK(k.ps.n && !k.ps.items[0].has_geometry);
  kit_release(&k);
  // Two axes: along the slow one; a return becomes a break.
  kit_make(&k, "constexpr int TILE = 8;\n", early, "ceil_div(n, 32)|ceil_div(m, TILE)", "32|TILE", true);
  CHECK_INT(kit_propose(&k, &coarsen_rule)->n, 3);
  kit_expect(&k, "q x2", "int q = threadIdx.y + blockIdx.y * (TILE * 2);", "return");
  kit_expect(&k, "q x2", "  for (int part = 0; part < 2; ++part, q += TILE) {\n    if (q >= m || c >= n) break;\n    int j", NULL);
  p = kit_at(&k, "q x2");
  CHECK_STR(p ? p->geometry.grid[1] : "", "ceil_div(m, 16)");
  CHECK_STR(p ? p->geometry.grid[0] : "", "ceil_div(n, 32)");
  kit_release(&k);
}

// Neither several elements nor, but for those of kind `rows`, other sizes.
static void stays(const char *before, const char *code, const char *grid, const char *block)
{
  struct kit k;
  kit_make(&k, before, code, grid, block, true);
  if (kit_propose(&k, &coarsen_rule)->n)
    fprintf(stderr, "coarsened:\n%s\n", k.ps.items[0].code);
  CHECK_INT(k.ps.n, 0);
  if (kit_propose(&k, &block_size_rule)->n)
    fprintf(stderr, "resized (%s):\n%s\n", k.ps.items[0].place, k.ps.items[0].code);
  CHECK_INT(k.ps.n, 0);
  kit_release(&k);
}

static void leaves_what_hangs_on_the_launch(void)
{
  static const char head[] = "__global__ void k(const float *x, float *y, int n)\n{\n  ";
  static const char *const bodies[] = {
      // No guard, or none that bounds the index, or an index of another kind.
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = x[i];\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < x[0]) y[i] = x[i];\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i <= n) y[i] = x[i];\n}",
      "int i = blockIdx.x * 64 + threadIdx.x;\n  if (i < n) y[i] = x[i];\n}",
      "int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);\n  if (i < n) y[i] = x[i];\n}",
      "short i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i];\n}",
      // Something else depends on it.
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] + threadIdx.x;\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] + gridDim.x;\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] + lane();\n}",
      "__shared__ float t[128];\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = t[0];\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) { __syncthreads(); y[i] = x[i]; }\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = __shfl_sync(~0u, x[i], 0);\n}",
      "dim3 t = threadIdx;\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = t.x;\n}",
      // More after the guarded work, or before the guard.
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 1;\n  y[0] = 2;\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[0] = 2;\n  if (i < n) y[i] = 1;\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float f = x[i];\n  if (i < n) y[i] = f;\n}",
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 1; else y[0] = 2;\n}",
      // The index is changed.
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) { y[i] = 1; i++; }\n}",
      // Not understood.
      "int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) { MACRO { y[i] = 1; } }\n}",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char *code = kr_xasprintf("%s%s\n", head, bodies[i]);
    stays("__device__ int lane() { return threadIdx.x % 32; }\n", code, "ceil_div(n, 128)", "128");
    free(code);
  }
  // A grid that does not cover the range does less than another would.
  stays("", scale, "n / 128", "128");
  stays("", scale, "60", "128");
  // Along an axis that the kernel does not look at there are several.
  stays("", scale, "ceil_div(n, 128)|4", "128|1");
  // What comes out is measured by the grid.
  struct kit k;
  kit_make(&k, "", scale, "ceil_div(n, 128)", "128", true);
  free(k.c.sections[1].dims[0]);
  k.c.sections[1].dims[0] = kr_xstrdup("grid.x");
  CHECK_INT(kit_propose(&k, &block_size_rule)->n, 0);
  kit_release(&k);
}

static void resizes(void)
{
  struct kit k;
  kit_make(&k, "", scale, "(n + 127) / 128", "128", true);
  CHECK_INT(kit_propose(&k, &block_size_rule)->n, 4);
  const struct kr_proposal *p = kit_at(&k, "block 256");
  CHECK_STR(p ? p->code : "", scale);
  CHECK_STR(p ? p->geometry.grid[0] : "", "ceil_div(n, 256)");
  CHECK_STR(p ? p->geometry.block[0] : "", "256");
  k.c.tunable = false;
  CHECK_INT(kit_propose(&k, &block_size_rule)->n, 0);
  kit_release(&k);
  // Constants give way; an axis of one thread takes the bound itself.
  kit_make(&k, "constexpr int TILE = 8;\n", early, "ceil_div(n, 32)|ceil_div(m, TILE)", "32|TILE", true);
  CHECK(kit_propose(&k, &block_size_rule)->n > 4);
  kit_expect(&k, "block 128x1", "threadIdx.x + blockIdx.x * blockDim.x, r = 7;", "TILE");
  p = kit_at(&k, "block 128x1");
  CHECK_STR(p ? p->geometry.grid[0] : "", "ceil_div(n, 128)");
  CHECK_STR(p ? p->geometry.grid[1] : "", "m");
  kit_release(&k);
  // Bounds of the launch hold.
  kit_make(&k, "", "__global__ void __launch_bounds__(256) k(float *y, int n)\n{\n"
                   "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 0;\n}\n",
           "ceil_div(n, 128)", "128", true);
  kit_propose(&k, &block_size_rule);
  for (size_t i = 0; i < k.ps.n; i++)
    CHECK(atoi(k.ps.items[i].geometry.block[0]) <= 256);
  CHECK_INT(k.ps.n, 2);
  kit_release(&k);
  // A block a row.
  kit_make(&k, "", rows, "n", "256", true);
  k.c.geometry.shared = kr_xstrdup("4 * block.x");
  CHECK_INT(kit_propose(&k, &block_size_rule)->n, 4);
  p = kit_at(&k, "block 512");
  CHECK_STR(p ? p->geometry.grid[0] : "", "n");
  CHECK_STR(p ? p->geometry.shared : "", "4 * block.x");
  // Shared memory that does not grow with the block; a constant that is its size.
  free(k.c.geometry.shared);
  k.c.geometry.shared = kr_xstrdup("1024");
  CHECK_INT(kit_propose(&k, &block_size_rule)->n, 0);
  kit_release(&k);
  kit_make(&k, "__device__ float sum(float v) { for (int i = 128; i; i /= 2) v += i; return v; }\n", rows, "n",
           "256", true);
  k.c.geometry.shared = kr_xstrdup("4 * block.x");
  free(k.c.before);
  k.c.before = kr_xstrdup("constexpr int kThreads = 256;\n");
  CHECK_INT(kit_propose(&k, &block_size_rule)->n, 0);
  kit_release(&k);
}

int main(void)
{
  coarsens();
  leaves_what_hangs_on_the_launch();
  resizes();
  return unit_end();
}
