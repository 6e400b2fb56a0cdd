// RUN: %unit/rules_row_lanes
#include "rules_kit.h"

#include "../../rewriter/rules/list.h"

static char *kernel(const char *work)
{
  return kr_xasprintf("__global__ void k(const float *x, float *y, const int *ptr, int *out, int n, int m)\n"
                      "{\n"
                      "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
                      "  if (row >= n) return;\n"
                      "%s"
                      "}\n",
                      work);
}

static void shares(const char *work, const char *want)
{
  struct kit k;
  char *code = kernel(work);
  kit_make(&k, "__device__ float twice(float v) { return 2 * v; }\n", code, "ceil_div(n, 128)", "128", false);
  kit_propose(&k, &row_lanes_rule);
  CHECK_INT(k.ps.n, 4);
  kit_expect(&k, "row x8", want, "return");
  kit_release(&k);
  free(code);
}

static void stays(const char *work)
{
  struct kit k;
  char *code = kernel(work);
  kit_make(&k, "__device__ float twice(float v) { return 2 * v; }\n__device__ float up(float &v) { return v++; }\n",
           code, "ceil_div(n, 128)", "128", true);
  kit_propose(&k, &row_lanes_rule);
  if (k.ps.n)
    fprintf(stderr, "touched:\n%s\n", k.ps.items[0].code);
  CHECK_INT(k.ps.n, 0);
  kit_release(&k);
  free(code);
}

int main(void)
{
  shares("  float s = 1;\n  #pragma unroll 4\n  for (int j = 0; j < m; j++)\n    s += x[row * m + j];\n  y[row] = s;\n",
         "    float s = 1;\n"
         "    float s_part = 0;\n"
         "    #pragma unroll 4\n"
         "    for (int j = lane; j < m; j += 8)\n"
         "      s_part += x[row * m + j];\n"
         "    for (int d = 4; d > 0; d /= 2) {\n"
         "      s_part += __shfl_xor_sync(mask, s_part, d);\n"
         "    }\n"
         "    s += s_part;\n"
         "    if (lane == 0) y[row] = s;\n");
  shares("  float best = -INFINITY;\n  const float *p = x + row * m;\n"
         "  for (int j = ptr[row]; j < ptr[row + 1]; ++j) best = fmaxf(best, twice(p[j]));\n"
         "  if (best > 0) y[row] = best; else out[row] = 1;\n",
         "    for (int j = ptr[row] + lane; j < ptr[row + 1]; j += 8) best = fmaxf(best, twice(p[j]));\n"
         "    for (int d = 4; d > 0; d /= 2) {\n"
         "      best = fmaxf(best, __shfl_xor_sync(mask, best, d));\n"
         "    }\n"
         "    if (best > 0) { if (lane == 0) y[row] = best; } else { if (lane == 0) out[row] = 1; }\n");
  // Each turn an element of its own.
  shares("  for (int j = 0; j < m; j++) y[row * m + j] = 2 * x[row * m + j];\n",
         "for (int j = lane; j < m; j += 8) y[row * m + j] = 2 * x[row * m + j];");

  // Neighbours read beside one another already; no loop; not counted up by one.
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) s += x[j * n + row];\n  y[row] = s;\n");
  stays("  y[row] = x[row];\n");
  stays("  float s = 0;\n  for (int j = m; j > 0; j--) s += x[row * m + j];\n  y[row] = s;\n");
  stays("  float s = 0;\n  for (int j = 0; j < m; j += 2) s += x[row * m + j];\n  y[row] = s;\n");
  // Turns that hang on one another.
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) { s += x[row * m + j]; y[row * m + j] = s; }\n");
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) s = s * 0.5f + x[row * m + j];\n  y[row] = s;\n");
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) { if (x[row * m + j] < 0) break; s += x[row * m + j]; }\n  y[row] = s;\n");
  stays("  int at = 0;\n  for (int j = 0; j < m; j++) if (x[row * m + j] > x[row * m + at]) at = j;\n  out[row] = at;\n");
  stays("  for (int j = 0; j < m; j++) y[row * m + j] = y[row * m] + x[row * m + j];\n");
  stays("  for (int j = 0; j < m; j++) y[row] = x[row * m + j];\n");
  stays("  float t[4];\n  for (int j = 0; j < m; j++) t[j % 4] = x[row * m + j];\n  y[row] = t[0];\n");
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) s += up(s) + x[row * m + j];\n  y[row] = s;\n");
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) { s += x[row * m + j]; if (s > 1) out[row * m + j] = 1; }\n  y[row] = s;\n");
  // What is stored is read again; an atomic's result is used; a loop of another kind beside.
  stays("  float s = 0;\n  y[row] = 1;\n  for (int j = 0; j < m; j++) s += x[row * m + j] * y[j];\n  y[row] = s;\n");
  stays("  int old = atomicAdd(&out[0], 1);\n  float s = 0;\n  for (int j = 0; j < m; j++) s += x[row * m + j];\n  y[old] = s;\n");
  stays("  float s = 0;\n  for (int j = 0; j < m; j++) s += x[row * m + j];\n  while (s > 1) s /= 2;\n  y[row] = s;\n");

  // Exact floats would tell the order of a sum; a block that is no whole number of warps.
  struct kit k;
  char *code = kernel("  float s = 0;\n  for (int j = 0; j < m; j++) s += x[row * m + j];\n  y[row] = s;\n");
  kit_make(&k, "", code, "ceil_div(n, 128)", "128", false);
  k.c.sections[1].compare = KR_CMP_EXACT;
  CHECK_INT(kit_propose(&k, &row_lanes_rule)->n, 0);
  kit_release(&k);
  kit_make(&k, "", code, "ceil_div(n, 48)", "48", false);
  CHECK_INT(kit_propose(&k, &row_lanes_rule)->n, 0);
  kit_release(&k);
  free(code);
  return unit_end();
}
