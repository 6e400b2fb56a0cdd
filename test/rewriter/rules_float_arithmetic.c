// RUN: %unit/rules_float_arithmetic
#include "rules_kit.h"

#include "../../rewriter/rules/list.h"

static const char before[] = "#define HALF 0.5\nstatic const double kTenth = 0.1;\n"
                             "constexpr float kThird = 0.333f;\n#define SUM (1.0 + 2.0)\n"
                             "__device__ double real(double v) { return v; }\n";

static char *kernel(const char *body)
{
  return kr_xasprintf("__global__ void k(const float *x, float *y, double *d, int n, float a, double e)\n"
                      "{\n  int i = threadIdx.x;\n  float f = x[i];\n  %s\n}\n",
                      body);
}

static void becomes(const char *body, const char *place, const char *want)
{
  struct kit k;
  char *code = kernel(body);
  kit_make(&k, before, code, "1", "128", false);
  kit_propose(&k, &float_arithmetic_rule);
  kit_expect(&k, place, want, NULL);
  // Everything else stays byte for byte.
  const struct kr_proposal *p = kit_at(&k, place);
  size_t head = strlen("__global__ void k(const float *x, float *y, double *d, int n, float a, double e)\n{\n");
  CHECK(p && !strncmp(p->code, code, head) && !p->has_geometry);
  kit_release(&k);
  free(code);
}

static void stays(const char *body)
{
  struct kit k;
  char *code = kernel(body);
  kit_make(&k, before, code, "1", "128", false);
  const struct kr_proposals *ps = kit_propose(&k, &float_arithmetic_rule);
  if (ps->n)
    fprintf(stderr, "touched: %s\n%s\n", body, ps->items[0].code);
  CHECK_INT(ps->n, 0);
  kit_release(&k);
  free(code);
}

int main(void)
{
  becomes("y[i] = 0.5 * f;", "0.5*f", "y[i] = 0.5f * f;");
  becomes("y[i] = 1. - f /* one */ + 1e-3;", "1.-f+1e-3", "1.f - f /* one */ + 1e-3f;");
  becomes("y[i] += HALF * f;", "HALF*f", "y[i] += (float)HALF * f;");
  becomes("float t = kTenth * f;", "kTenth*f", "float t = (float)kTenth * f;");
  becomes("y[i] = f * sqrt(2.0 * f);", "f*sqrt(2.0*f)", "f * sqrtf(2.0f * f);");
  becomes("y[i] = pow(f, 2.0);", "pow(f,2.0)", "powf(f, 2.0f);");
  becomes("y[i] = std::exp(1.0 - f);", "std::exp(1.0-f)", "= expf(1.0f - f);");
  becomes("y[i] = f > 0.25 ? f : a;", "0.25", "f > 0.25f ? f : a;");
  becomes("y[i] = f > 0 ? f : 0.0;", "f>0?f:0.0", "f > 0 ? f : 0.0f;");
  becomes("y[i] = (float)(n * 0.5);", "n*0.5", "(float)(n * 0.5f);");
  becomes("y[i] = max(0.0, f);", "max(0.0,f)", "fmaxf(0.0f, f);");
  becomes("y[i] = sqrtf(1.0 + f);", "1.0+f", "sqrtf(1.0f + f);");
  becomes("y[i] = -(0.5 * f);", "-(0.5*f)", "-(0.5f * f);");
  becomes("y[i] = 0.5 * f; float t = 2.0 * f; y[i] = t;", "all", "float t = 2.0f * f;");

  // Meant: a double variable, parameter, buffer, cast, function, accumulator.
  stays("y[i] = 0.5 * e;");
  stays("y[i] = d[i] * 0.5;");
  stays("y[i] = (double)f * 0.5;");
  stays("double s = 0.5 * f; d[i] = s;");
  stays("d[i] = 0.5 * f;");
  stays("y[i] = real(0.5) * f;");
  // Not double at all, or nothing that says so.
  stays("y[i] = 0.5f * f;");
  stays("y[i] = kThird * f;");
  stays("y[i] = 2 * f;");
  stays("y[i] = UNKNOWN * f;");
  stays("y[i] = SUM * f;");
  stays("y[i] = (float)HALF * f;");
  // The result is cut to an integer, where a last bit shows.
  stays("int j = 0.5 * f; y[j] = 0;");
  stays("y[(int)(f * 0.5)] = 0;");
  // No float holds it.
  stays("y[i] = 1e60 * f;");
  stays("y[i] = 1e-60 * f;");
  // Not understood.
  stays("switch (n) { case 1: y[i] = 0.5 * f; }");
  stays("y[i] = [=] { return 0.5 * f; }();");
  return unit_end();
}
