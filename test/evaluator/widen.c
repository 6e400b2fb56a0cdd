// RUN: %unit/widen
// Texts in double, and texts of which nobody can say what they are in double.
#include "evaluator/widen.h"
#include "unit.h"

// What `text` is behind the helper functions that are put before it.
static char *wide(const char *text)
{
  static struct widened w;
  struct kr_err why = {{0}};
  widened_release(&w);
  if (widen(&w, text, &why)) {
    fprintf(stderr, "%s\n  %s\n", text, why.text);
    return "";
  }
  char *at = strstr(w.text, "fma(a.y, b.y, c.y)); }\n");
  return at ? at + strlen("fma(a.y, b.y, c.y)); }\n") : w.text;
}

static bool refused(const char *text, const char *reason)
{
  struct widened w;
  struct kr_err why = {{0}};
  if (!widen(&w, text, &why)) {
    fprintf(stderr, "taken: %s\n", w.text);
    widened_release(&w);
    return false;
  }
  if (strstr(why.text, reason))
    return true;
  fprintf(stderr, "%s\n  %s\n", text, why.text);
  return false;
}

static void test_types_and_functions(void)
{
  CHECK_STR(wide("__global__ void k(float *y, const float4 *__restrict__ x, int n)\n"
                 "{ // float stays in comments\n"
                 "  y[0] = sqrtf(x[0].w) + __expf(x[n].x) - fmaxf(y[1], fabsf(y[2]));\n"
                 "}\n"),
            "__global__ void k(double *y, const double4 *__restrict__ x, int n)\n"
            "{ // float stays in comments\n"
            "  y[0] = sqrt(x[0].w) + exp(x[n].x) - fmax(y[1], fabs(y[2]));\n"
            "}\n");
  CHECK_STR(wide("__device__ float f(float a) { return __fmul_rz(__frsqrt_rn(a), __int2float_rd(3)); }"),
            "__device__ double f(double a) { return __dmul_rn(rsqrt(a), __int2double_rn(3)); }");
  CHECK_STR(wide("__device__ int f(float a) { return __float2int_rd(a) + (int)floorf(a); }"),
            "__device__ int f(double a) { return __double2int_rd(a) + (int)floor(a); }");
  CHECK_STR(wide("void k(float4 *p) { *p = make_float4(1, 2, 3, 4); }"),
            "void k(double4 *p) { *p = make_double4(1, 2, 3, 4); }");
  CHECK_STR(wide("void k(double *p) { p[0] = exp(p[1]); }"),
            "void k(double *p) { p[0] = exp(p[1]); }");
  // Members and the text's own names are left alone.
  CHECK_STR(wide("struct S { int half; };\nint k(S s) { return s.half; }"),
            "struct S { int half; };\nint k(S s) { return s.half; }");
}

static void test_literals_keep_their_value(void)
{
  CHECK_STR(wide("float a = 0.1f, b = 1.f, c = 1e3F, d = 0.5, e = 0x1f, g = 0x1p2f;"),
            "double a = 0.10000000149011612, b = 1.0, c = 1000.0, d = 0.5, e = 0x1f, g = 4.0;");
}

static void test_macros_are_text(void)
{
  CHECK_STR(wide("#define FP float\n#define SQRT sqrtf\n#define EPS 1e-5f\n"
                 "void k(FP *p) { p[0] = SQRT(p[1] + (FP)1.0 + EPS); }\n"),
            "#define FP double\n#define SQRT sqrt\n#define EPS 9.9999997473787516e-06\n"
            "void k(FP *p) { p[0] = SQRT(p[1] + (FP)1.0 + EPS); }\n");
  CHECK(refused("#define ROOT strange_rootf\nvoid k(float *p) { p[0] = ROOT(p[1]); }", "strange_rootf"));
  CHECK(refused("#define F(x) x##f\nvoid k(float *p) { p[0] = F(1.0); }", "##"));
  CHECK(refused("#include \"mine.h\"\nvoid k(float *p) { p[0] = 1; }", "\"mine.h\""));
  CHECK(refused("#include <cub/cub.cuh>\nvoid k(float *p) { p[0] = 1; }", "<cub/cub.cuh>"));
}

static void test_halves(void)
{
  CHECK_STR(wide("#include <cuda_fp16.h>\n"
                 "void k(half *p) { p[0] = __float2half(__half2float(p[1]) + 1.0f); p[2] = __hadd(p[0], p[1]); }"),
            "#include <cuda_fp16.h>\n"
            "void k(double *p) { p[0] = kevin_wide(kevin_wide(p[1]) + 1.0); p[2] = __dadd_rn(p[0], p[1]); }");
  // Without the header it is a name as others are.
  CHECK_STR(wide("void k(float *p, int n) { int half = n / 2; p[half] = 0; }"),
            "void k(double *p, int n) { int half = n / 2; p[half] = 0; }");
  CHECK(refused("#include <cuda_fp16.h>\nvoid k(__half *p) { float4 v = *(float4 *)p; p[0] = v.x; }",
                "halves and floats"));
}

static void test_names_of_the_text_itself_may_be_called(void)
{
  CHECK_STR(wide("template <class T> __device__ T twice(T a) { return a + a; }\n"
                 "void __launch_bounds__(256)\nk(float *p) { auto f = [](float a) { return a; };"
                 " p[0] = twice<float>(f(p[1])); }"),
            "template <class T> __device__ T twice(T a) { return a + a; }\n"
            "void __launch_bounds__(256)\nk(double *p) { auto f = [](double a) { return a; };"
            " p[0] = twice<double>(f(p[1])); }");
  CHECK(refused("void k(float *p) { p[0] = 2 * thrice(p[1]); }", "it calls `thrice`"));
  CHECK(refused("void k(float *p) { return thrice(p); }", "it calls `thrice`"));
  CHECK(refused("void k(float *p) { p[0] = thrice<float>(p[1]); }", "it calls `thrice`"));
  CHECK(refused("void k(float *p) { p[0] = nextafterf(p[1], 2.0f); }", "it calls `nextafterf`"));
  CHECK(refused("#define F(x) thrice(x)\nvoid k(float *p) { p[0] = F(p[1]); }", "it calls `thrice`"));
}

static void test_bits_and_casts(void)
{
  CHECK(refused("void k(float *p, int *q) { q[0] = __float_as_int(p[0]); }", "bits"));
  CHECK(refused("void k(float *p, int *q) { q[0] = *(int *)&p[0]; }", "casts a pointer to `int *`"));
  CHECK(refused("void k(float *p, int *q) { q[0] = *reinterpret_cast<const int *>(p); }",
                "casts a pointer to `int *`"));
  CHECK(refused("void k(float *p, long *q) { q[0] = reinterpret_cast<long>(p); }", "casts a pointer"));
  CHECK(refused("void k(float *p) { float &r = reinterpret_cast<V<float> &>(p[0]); r = 0; }", "cast"));
  CHECK(refused("union U { float f; int i; };\nvoid k(float *p) { U u; u.i = 0; p[0] = u.f; }", "union"));
  CHECK(refused("void k(float *p) { asm(\"\" : : \"f\"(p[0])); }", "assembly"));
  CHECK(refused("void k(float *p, float *q) { memcpy(p, q, 4); }", "copies bytes"));
  CHECK(refused("extern __shared__ char s[];\nvoid k(float *p) { float *f = (float *)s; f[0] = p[0]; }",
                "shared memory"));
  // Vectors of floats stay vectors of what floats become.
  CHECK_STR(wide("void k(float *p) { *(float4 *)p = *reinterpret_cast<const float4 *>(&p[4]); }"),
            "void k(double *p) { *(double4 *)p = *reinterpret_cast<const double4 *>(&p[4]); }");
  CHECK_STR(wide("extern __shared__ __align__(16) float s[];\nvoid k(float *p) { s[0] = p[0]; }"),
            "extern __shared__ __align__(16) double s[];\nvoid k(double *p) { s[0] = p[0]; }");
  // A product is no cast.
  CHECK_STR(wide("void k(float *p, int n) { p[0] = (n) * (p[1]); }"),
            "void k(double *p, int n) { p[0] = (n) * (p[1]); }");
}

static void test_infinity_is_no_bit_trick(void)
{
  CHECK_STR(wide("#define INFINITY __int_as_float(0x7f800000)\nvoid k(float *p) { p[0] = -INFINITY; }"),
            "#define INFINITY (double)__int_as_float(0x7f800000)\nvoid k(double *p) { p[0] = -INFINITY; }");
  CHECK(refused("void k(float *p) { p[0] = __int_as_float(0x3f800000); }", "bits"));
}

static void test_the_kernels_name_follows(void)
{
  struct kr_err why = {{0}};
  char *name = widen_name("", "a::k<float, 3>", &why);
  CHECK_STR(name, "a::k<double, 3>");
  free(name);
  name = widen_name("#include <cuda_fp16.h>\n", "k<half>", &why);
  CHECK_STR(name, "k<double>");
  free(name);
}

int main(void)
{
  test_types_and_functions();
  test_literals_keep_their_value();
  test_macros_are_text();
  test_halves();
  test_names_of_the_text_itself_may_be_called();
  test_bits_and_casts();
  test_infinity_is_no_bit_trick();
  test_the_kernels_name_follows();
  return unit_end();
}
