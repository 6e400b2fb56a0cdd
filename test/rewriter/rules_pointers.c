// RUN: %unit/rules_pointers
//
// __restrict__ and small powers.
#include "rules_kit.h"

#include "../../rewriter/rules/list.h"

static void restricts(void)
{
  struct kit k;
  kit_make(&k, "", "__global__ void k(const float *x, float* y, int *__restrict__ z, int n)\n{\n  y[0] = x[n] + z[0];\n}\n",
           "1", "32", false);
  CHECK_INT(kit_propose(&k, &restrict_rule)->n, 3);
  kit_expect(&k, "all", "(const float *__restrict__ x, float* __restrict__ y, int *__restrict__ z, int n)\n{\n  y[0] = x[n] + z[0];\n}\n", NULL);
  kit_expect(&k, "x", "(const float *__restrict__ x, float* y, int *__restrict__ z", NULL);
  kit_expect(&k, "y", "(const float *x, float* __restrict__ y", NULL);
  // A section that points into another: nothing is said of any of them.
  k.c.cases[0].fillings[1] = (struct kr_filling){.kind = KR_FILLED_ALIAS, .alias = kr_xstrdup("x")};
  CHECK_INT(kit_propose(&k, &restrict_rule)->n, 0);
  kit_release(&k);

  static const char *const nothing[] = {
      "__global__ void k(float *x, int n)\n{\n  x[n] = 0;\n}\n",              // alone
      "__global__ void k(float *__restrict__ x, float *__restrict__ y)\n{\n  x[0] = y[0];\n}\n",
      "__global__ void k(float **x, float **y)\n{\n  x[0][0] = y[0][0];\n}\n", // sections behind sections
      "__global__ void k(float x[], float y[])\n{\n  x[0] = y[0];\n}\n",
      "__global__ void k(float (&x)[4], float n)\n{\n  x[0] = n;\n}\n"};
  for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
    kit_make(&k, "", nothing[i], "1", "32", false);
    CHECK_INT(kit_propose(&k, &restrict_rule)->n, 0);
    kit_release(&k);
  }
}

static void powers(void)
{
  struct kit k;
  kit_make(&k, "", "__global__ void k(const float *x, float *y, int n)\n{\n  float v = x[0];\n"
                   "  y[0] = powf(v, 3.0f) + pow(v - 1, 2);\n}\n",
           "1", "32", false);
  CHECK_INT(kit_propose(&k, &small_powers_rule)->n, 3);
  kit_expect(&k, "powf(v,3.0f)", "(v * v * v) + pow(v - 1, 2);", NULL);
  kit_expect(&k, "pow(v-1,2)", "((v - 1) * (v - 1));", NULL);
  kit_expect(&k, "all", "(v * v * v) + ((v - 1) * (v - 1));", NULL);
  kit_release(&k);
  static const char *const nothing[] = {"powf(v, 2.5f)", "powf(v, n)", "powf(x[0], 2.0f)", "pow(n, 2)",
                                        "powf(v++, 2.0f)", "powf(f(v), 2.0f)", "powf(v, 5.0f)"};
  for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
    char *code = kr_xasprintf("__global__ void k(const float *x, float *y, int n)\n{\n  float v = x[0];\n"
                              "  y[0] = %s;\n}\n", nothing[i]);
    kit_make(&k, "", code, "1", "32", false);
    if (kit_propose(&k, &small_powers_rule)->n)
      fprintf(stderr, "touched: %s\n", nothing[i]);
    CHECK_INT(k.ps.n, 0);
    kit_release(&k);
    free(code);
  }
}

int main(void)
{
  restricts();
  powers();
  return unit_end();
}
