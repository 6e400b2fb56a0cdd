// RUN: %unit/cuda_nvrtc
// REQUIRES: nvrtc
#include <stdint.h>

#include "evaluator/base/mem.h"
#include "evaluator/cuda/compile.h"
#include "evaluator/cuda/cubin.h"
#include "evaluator/cuda/sass.h"
#include "evaluator/cuda/stdheaders.h"
#include "unit.h"

static struct nvrtc_compiler compiler;

struct outcome {
  int rc;
  struct kr_bytes log;
  struct kr_err err;
  struct cuda_code code;
  struct cubin_facts facts;
};

// Compiles `text` for sm_90 under flags (NULL-terminated, may be NULL).
static struct outcome compile(const char *name, const char *text, const char *const *flags)
{
  struct outcome o = {0};
  struct kr_contract c = {.name_expression = (char *)(uintptr_t)name};
  c.flags = (char **)(uintptr_t)flags;
  while (flags && flags[c.n_flags])
    c.n_flags++;
  kr_bytes_init(&o.log, 1 << 20);
  o.rc = nvrtc_compile(&compiler, &c, "sm_90", text, strlen(text), &o.code, &o.log, &o.err);
  if (!o.rc && cubin_read(o.code.cubin, o.code.len, o.code.lowered[0], &o.facts, &o.err))
    o.rc = -2;
  return o;
}

static void release(struct outcome *o)
{
  kr_bytes_release(&o->log);
  cuda_code_release(&o->code);
}

static void check_compiles(const char *name, const char *text, const char *const *flags)
{
  struct outcome o = compile(name, text, flags);
  CHECK_INT(o.rc, 0);
  if (o.rc)
    fprintf(stderr, "%s\n%s\n%.2000s\n", text, o.err.text, o.log.data);
  release(&o);
}

static struct kr_hash hash_of(const char *name, const char *text)
{
  struct outcome o = compile(name, text, NULL);
  CHECK_INT(o.rc, 0);
  if (o.rc)
    fprintf(stderr, "%s\n%s\n%.2000s\n", text, o.err.text, o.log.data);
  struct kr_hash h = o.facts.code;
  release(&o);
  return h;
}

static bool same(const char *name_a, const char *a, const char *name_b, const char *b)
{
  return kr_hash_equal(hash_of(name_a, a), hash_of(name_b, b));
}

static void kernels_are_found_by_expression(void)
{
  struct outcome o = compile(
      "a::b::k", "namespace a { namespace b { static __global__ void k(int *p) { *p = 1; } } }\n",
      NULL);
  CHECK_INT(o.rc, 0);
  CHECK(o.code.n_lowered == 1 && strstr(o.code.lowered[0], "1k"));
  CHECK(o.code.len > 100);
  release(&o);
  o = compile("k", "extern \"C\" __global__ void k(int *p) { *p = 1; }\n", NULL);
  CHECK_STR(o.code.lowered[0], "k");
  release(&o);
  o = compile("t<3>", "template <int n> __global__ void t(int *p) { *p = n; }\n", NULL);
  CHECK_INT(o.rc, 0);
  release(&o);
  o = compile("missing", "__global__ void k(int *p) { *p = 1; }\n", NULL);
  CHECK_INT(o.rc, 1);
  CHECK(strstr(o.log.data, "missing") != NULL);
  release(&o);
}

static void a_template_is_compiled_for_all_its_arguments(void)
{
  static const char text[] = "namespace a { template <typename T, int n> __global__ void t(T *p)\n"
                             "{ static_assert(n != 5, \"not five\"); *p = n; } }\n";
  struct kr_instantiation in[] = {{.name_expression = (char *)"a::t<float, 3>"},
                                  {.name_expression = (char *)"a::t<double, 4>"}};
  struct kr_contract c = {.kernel = (char *)"a::t", .instantiations = in, .n_instantiations = 2};
  struct cuda_code code;
  struct cubin_facts first, second;
  struct kr_bytes log;
  struct kr_err err = {0};
  kr_bytes_init(&log, 1 << 20);
  CHECK_INT(nvrtc_compile(&compiler, &c, "sm_90", text, strlen(text), &code, &log, &err), 0);
  CHECK_INT(code.n_lowered, 2);
  CHECK(code.n_lowered == 2 && strcmp(code.lowered[0], code.lowered[1]) != 0);
  CHECK_INT(cubin_read(code.cubin, code.len, code.lowered[0], &first, &err), 0);
  CHECK_INT(cubin_read(code.cubin, code.len, code.lowered[1], &second, &err), 0);
  CHECK(!kr_hash_equal(first.code, second.code));
  cuda_code_release(&code);
  in[1].name_expression = (char *)"a::t<double, 5>";
  CHECK_INT(nvrtc_compile(&compiler, &c, "sm_90", text, strlen(text), &code, &log, &err), 1);
  CHECK(strstr(log.data, "not five") != NULL);
  kr_bytes_release(&log);
}

static void errors_have_places(void)
{
  struct outcome o = compile(
      "k",
      "int before_this();\n#line 1 \"variant.cu\"\n__global__ void k(int *p)\n{\n  *p = bogus;\n}\n",
      NULL);
  CHECK_INT(o.rc, 1);
  CHECK(strstr(o.log.data, "variant.cu:3: error: identifier \"bogus\" is undefined") != NULL);
  release(&o);
  o = compile("k", "#line 7 \"src/a (copy).cu\"\n__global__ void k(int *p) { nope(1); }\n", NULL);
  CHECK(strstr(o.log.data, "src/a (copy).cu:7: error:") != NULL);
  release(&o);
  // What ptxas refuses is an error of the text too.
  o = compile("k", "__global__ void k(int *p) { __shared__ int s[99999]; s[*p] = 1; *p = s[1]; }\n",
              NULL);
  CHECK_INT(o.rc, 1);
  CHECK(o.log.len > 0);
  release(&o);
}

static void flags_reach_the_compiler(void)
{
  static const char text[] = "__global__ void k(float *p) { p[0] = N * p[1] / p[2]; }\n";
  check_compiles("k", text, (const char *const[]){"-DN=3", NULL});
  check_compiles("k", text, (const char *const[]){"-D", "N=3", "--std", "c++17", "-O3", "-g",
                                                  "-gencode", "arch=compute_90,code=sm_90", NULL});
  check_compiles("k", text, (const char *const[]){"-DN=3", "-std=gnu++20", "--use_fast_math",
                                                  "--maxrregcount=32", "-fmad=false", NULL});
  struct outcome plain = compile("k", text, (const char *const[]){"-DN=3", NULL});
  struct outcome fast = compile("k", text, (const char *const[]){"-DN=3", "-use_fast_math", NULL});
  CHECK(!kr_hash_equal(plain.facts.code, fast.facts.code));
  release(&plain);
  release(&fast);
  static const char *const refused[] = {"-Xcompiler", "-fplugin=x.so", "@file", "-ccbin", "-run"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct outcome o = compile("k", text, (const char *const[]){"-DN=3", refused[i], NULL});
    CHECK_INT(o.rc, -1);
    CHECK(strstr(o.err.text, refused[i]) != NULL);
    release(&o);
  }
  struct outcome o = compile("k", text, (const char *const[]){"-D", NULL});
  CHECK_INT(o.rc, -1);
  CHECK(strstr(o.err.text, "wants a value") != NULL);
  release(&o);
}

static void standard_headers_are_harmless(void)
{
  struct kr_bytes text;
  size_t n;
  const struct std_header *list = std_headers(&n);
  kr_bytes_init(&text, 1 << 16);
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(&text, "#include <%s>\n", list[i].name);
  kr_bytes_adds(
      &text,
      "template <class T> __device__ std::enable_if_t<std::is_integral_v<T>, T> g(T x)\n"
      "{ return x + 1; }\n"
      "constexpr int twice(int x) { return 2 * x; }\n"
      "__global__ void k(float *x, uint64_t *u, int64_t *v)\n"
      "{\n"
      "  static_assert(std::is_same_v<uint64_t, unsigned long>, \"as on Linux\");\n"
      "  static_assert(INT32_MAX == std::numeric_limits<int>::max() && CHAR_BIT == 8, \"\");\n"
      "  __shared__ float s[twice(4)];\n"
      "  s[threadIdx.x & 7] = std::sqrt(x[0]) + std::abs(x[2]) + std::pow(x[1], 2.0f);\n"
      "  if (std::isnan(x[3]) || x[4] == INFINITY) printf(\"nan %d\\n\", 3);\n"
      "  assert(x[2] > 0);\n"
      "  x[1] = FLT_MAX * x[8] + s[g(3)] + (float)M_PI + std::numeric_limits<float>::epsilon();\n"
      "  u[0] = UINT64_C(5) + sizeof(std::size_t) + offsetof(float4, y);\n"
      "  v[0] = INT64_MAX - u[1];\n"
      "  memcpy(x + 8, x, 16);\n"
      "  x[7] = std::max(x[7], 1.0f);\n"
      "  x[5] = std::move(x[6]);\n"
      "}\n");
  check_compiles("k", text.data, NULL);
  kr_bytes_release(&text);
}

// nvcc includes cuda_runtime.h, and with it libstdc++'s mathematics, before the
// first line: what works there without an include works here, with the same types.
static void it_is_as_under_nvcc_without_an_include(void)
{
  check_compiles("k",
                 "__device__ int d(double) { return 1; }\n"
                 "__device__ int f(float) { return 2; }\n"
                 "template <class A, class B> struct same { static constexpr bool v = false; };\n"
                 "template <class A> struct same<A, A> { static constexpr bool v = true; };\n"
                 "#define IS(type, e) static_assert(same<type, decltype(e)>::v, #e)\n"
                 "__global__ void k(float *x, double *y, int *i, unsigned u)\n"
                 "{\n"
                 "  IS(double, pow(x[0], 3.0)); IS(double, pow(3, 2)); IS(float, pow(x[0], x[1]));\n"
                 "  IS(double, sqrt(i[0])); IS(float, sqrt(x[0])); IS(double, fmax(x[0], y[0]));\n"
                 "  IS(float, fmaxf(x[0], x[1])); IS(float, fabs(x[0])); IS(int, abs(i[0]));\n"
                 "  IS(double, std::pow(x[0], 2.0)); IS(float, std::exp(x[0]));\n"
                 "  IS(double, fma(x[0], y[0], 1)); IS(size_t, sizeof(int));\n"
                 "  IS(double, pow(x[0], 2)); IS(double, pow(y[0], 2)); IS(bool, isnan(x[0]));\n"
                 "  IS(double, pow(i[0], x[0])); IS(bool, std::isinf(y[0])); IS(float, ldexp(x[0], 2));\n"
                 "  y[0] = pow(x[0], 3.0) + sqrt(i[0]) + fmax(x[0], y[1]) + floor(i[1]) + u;\n"
                 "  y[1] = M_PI + INFINITY + INT_MAX;\n"
                 "}\n",
                 NULL);
}

static void toolkit_headers_are_found(void)
{
  check_compiles("k",
                 "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                 "__global__ void k(__half *h, __nv_bfloat16 *b) { *h = __hadd(*h, *h); *b = *b; }\n",
                 NULL);
  // libcu++ has integer types of its own, which must be the same ones.
  check_compiles("k",
                 "#include <cstdint>\n#include <cooperative_groups.h>\n"
                 "namespace cg = cooperative_groups;\n"
                 "__global__ void k(int64_t *p)\n"
                 "{ auto b = cg::this_thread_block(); p[b.thread_rank()] = 1; b.sync(); }\n",
                 NULL);
}

static const char saxpy[] =
    "__device__ float twice(float v) { return v + v; }\n"
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * twice(x[i]) + y[i];\n"
    "}\n";

static void names_and_layout_do_not_change_the_hash(void)
{
  CHECK(same("saxpy", saxpy, "saxpy", saxpy));
  CHECK(same("saxpy", saxpy, "other::kernel_with_a_long_name",
             "\n\n// comment\n#line 99 \"elsewhere.cu\"\n"
             "__device__ float two(float q) { return q + q; }\n"
             "namespace other {\n"
             "__global__ void kernel_with_a_long_name(int count, float f, const float *in,\n"
             "                                        float *out)\n"
             "{ const int at = blockIdx.x * blockDim.x + threadIdx.x;\n"
             "  if (at < count) { out[at] = f * two(in[at]) + out[at]; } }\n}\n"));
  // Functions that are called, tables and constants, renamed.
  CHECK(same("k",
             "__constant__ float table[4] = {1, 2, 3, 4};\n"
             "__device__ int counter = 3;\n"
             "__device__ __noinline__ float f(float x) { return sinf(x) * table[int(x) & 3]; }\n"
             "__global__ void k(float *x) { x[0] = f(x[1]) + counter; }\n",
             "zz",
             "__constant__ float z_table[4] = {1, 2, 3, 4};\n"
             "__device__ int a_counter = 3;\n"
             "__device__ __noinline__ float a_f(float x) { return sinf(x) * z_table[int(x) & 3]; }\n"
             "__global__ void zz(float *x) { x[0] = a_f(x[1]) + a_counter; }\n"));
}

static void a_real_change_changes_the_hash(void)
{
  CHECK(!same("saxpy", saxpy, "saxpy",
              "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
              "{ int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
              "  if (i < n) y[i] = a * x[i] + y[i]; }\n"));
#define K(table, init, body)                                                                       \
  "__constant__ float table[4] = " table ";\n__device__ int v = " init ";\n"                       \
  "__device__ __noinline__ float f(float x) { return " body "; }\n"                                \
  "__global__ void k(float *x) { x[0] = f(x[1]) + v + table[int(x[2]) & 3]; }\n"
  static const char base[] = K("{1, 2, 3, 4}", "3", "x * x + 1");
  CHECK(!same("k", base, "k", K("{1, 2, 3, 5}", "3", "x * x + 1")));
  CHECK(!same("k", base, "k", K("{1, 2, 3, 4}", "4", "x * x + 1")));
  CHECK(!same("k", base, "k", K("{1, 2, 3, 4}", "3", "x * x + 2")));
  // The same code over two tables, of which another is read.
#define T(which)                                                                                   \
  "__device__ const volatile int a[2] = {1, 2}, b[2] = {3, 4};\n"                                  \
  "__global__ void k(int *x) { x[0] = " which "[x[1] & 1]; }\n"
  CHECK(!same("k", T("a"), "k", T("b")));
  // More shared memory.
  CHECK(!same("k",
              "__global__ void k(int *x) { __shared__ int s[64]; s[x[1]] = x[2]; __syncthreads();"
              " x[0] = s[x[3]]; }\n",
              "k",
              "__global__ void k(int *x) { __shared__ int s[96]; s[x[1]] = x[2]; __syncthreads();"
              " x[0] = s[x[3]]; }\n"));
}

static void parameters_are_measured(void)
{
  struct outcome o = compile(
      "k",
      "struct s { int a; double b; char c[100]; };\n"
      "__global__ void k(int n, s v, const float *x, short q, float4 f) { *(float *)x = v.b; }\n",
      NULL);
  static const unsigned want[] = {4, 120, 8, 2, 16};
  CHECK_INT(o.facts.n_params, 5);
  for (size_t i = 0; i < 5; i++)
    CHECK_INT(o.facts.param_sizes[i], want[i]);
  release(&o);
  o = compile("k", "__global__ void k() {}\n", NULL);
  CHECK_INT(o.facts.n_params, 0);
  release(&o);
}

static void state_is_seen(void)
{
  struct outcome o = compile("saxpy", saxpy, NULL);
  CHECK(!o.facts.has_state);
  release(&o);
  o = compile("k", "__global__ void k(float *x) { x[0] = sinf(x[1]); }\n", NULL);
  CHECK(!o.facts.has_state); // tables of the mathematics library are none
  release(&o);
  o = compile("k", "__device__ int n; __global__ void k(int *x) { x[0] = ++n; }\n", NULL);
  CHECK(o.facts.has_state);
  release(&o);
  o = compile("k", "__global__ void k(int *x) { static int n = 2; x[0] = ++n; }\n", NULL);
  CHECK(o.facts.has_state);
  release(&o);
}

static void broken_machine_code_is_refused(void)
{
  struct outcome o = compile("saxpy", saxpy, NULL);
  struct cubin_facts f;
  struct kr_err err = {0};
  CHECK_INT(cubin_read(o.code.cubin, o.code.len, "nobody", &f, &err), -1);
  CHECK(strstr(err.text, "nobody") != NULL);
  size_t bad = 0;
  for (size_t len = 0; len < o.code.len; len += 97) { // at every cut: an answer, no crash
    unsigned char *cut = kr_xmalloc(len + 1);
    memcpy(cut, o.code.cubin, len);
    bad += cubin_read(cut, len, o.code.lowered[0], &f, &err) != 0;
    free(cut);
  }
  CHECK(bad > 0);
  for (size_t at = 0; at < o.code.len; at += 3) { // and with bytes turned over
    unsigned char *copy = kr_xmalloc(o.code.len);
    memcpy(copy, o.code.cubin, o.code.len);
    copy[at] ^= 0xff;
    (void)cubin_read(copy, o.code.len, o.code.lowered[0], &f, &err);
    free(copy);
  }
  release(&o);
}

static void what_cannot_be_is_told(void)
{
  struct nvrtc_compiler c;
  struct kr_err err = {0};
  CHECK_INT(nvrtc_compiler_open(&c, "/nonexistent-toolkit", &err), -1);
  CHECK(strstr(err.text, "/nonexistent-toolkit") != NULL);
  struct kr_contract contract = {.name_expression = (char[]){"k"}};
  struct cuda_code code;
  struct kr_bytes log;
  kr_bytes_init(&log, 1 << 16);
  static const char text[] = "__global__ void k() {}\0";
  CHECK_INT(nvrtc_compile(&compiler, &contract, "sm_12", text, strlen(text), &code, &log, &err),
            -1);
  CHECK(strstr(err.text, "sm_12") != NULL);
  CHECK_INT(nvrtc_compile(&compiler, &contract, "sm_90", text, sizeof text - 1, &code, &log, &err),
            1);
  CHECK(strstr(log.data, "NUL") != NULL);
  // A project that asks for the architecture's own instructions gets them.
  contract.archs = (char *[]){(char[]){"sm_80"}, (char[]){"sm_90a"}};
  contract.n_archs = 2;
  static const char own[] =
      "__global__ void k(int *p) {\n#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n*p = 1;\n#else\n#error no\n"
      "#endif\n}\n";
  CHECK_INT(nvrtc_compile(&compiler, &contract, "sm_90", own, strlen(own), &code, &log, &err), 0);
  cuda_code_release(&code);
  kr_bytes_release(&log);
}

// A thread's share of the register file, and what did not fit into it.
static void registers_and_frames_are_read(void)
{
  struct outcome o = compile("f", "__global__ void f(float *x) { x[threadIdx.x] = 1; }", NULL);
  CHECK(o.facts.registers >= 4 && o.facts.registers <= 16);
  CHECK_INT(o.facts.frame_bytes, 0);
  release(&o);
  o = compile("f",
              "__global__ void g(float *x) { x[threadIdx.x] = 1; }\n"
              "__global__ void __launch_bounds__(1024) f(float *x, const int *k) {\n"
              "  float a[64]; for (int i = 0; i < 64; i++) a[i] = x[i];\n"
              "  for (int i = 0; i < 64; i++) a[k[i] & 63] += a[i];\n"
              "  for (int i = 0; i < 64; i++) x[i] = a[i]; }", NULL);
  CHECK(o.facts.registers > 16 && o.facts.registers <= 64);
  CHECK(o.facts.frame_bytes >= 256); // indexed by what is not known, so in memory
  release(&o);
}

static struct sass_facts sass_of(const char *text)
{
  struct outcome o = compile("f", text, NULL);
  struct sass_facts f;
  memset(&f, 0, sizeof f);
  size_t len = 0;
  CHECK_INT(o.rc, 0);
  const unsigned char *code = cubin_text(o.code.cubin, o.code.len, o.code.lowered[0], &len);
  CHECK(code && len % 16 == 0);
  sass_read(code, len, &f);
  release(&o);
  return f;
}

static bool execute(const struct sass_facts *f, double loads, double stores, double shared,
                    double floats, struct sass_part *out)
{
  struct sass_counted c = {loads, stores, shared, floats};
  return sass_execute(f, &c, out);
}

// How many of a thread's loads are under way together stands in the machine code,
// and so does what a turn of a loop takes.
static void machine_code_is_read(void)
{
  struct sass_part x;
  struct sass_facts f = sass_of("__global__ void f(float *x) { x[threadIdx.x] = 1; }");
  CHECK(f.outside.loads == 0 && f.outside.stores == 1 && f.n_loops == 0);
  CHECK(f.outside.instructions >= 4 && f.outside.instructions <= 16);
  CHECK(execute(&f, 0, 1, 0, 0, &x) && x.instructions == f.outside.instructions);
  f = sass_of("__global__ void f(const float *x, float *y) {\n"
              "  int i = threadIdx.x; y[i] = x[i] + x[i + 32] + x[i + 64] + x[i + 96]; }");
  CHECK(f.outside.loads == 4 && f.n_loops == 0);
  CHECK(execute(&f, 4, 1, 0, 0, &x));
  CHECK(x.batches >= 1 && x.batches <= 2); // together, or the first one waited for alone
  // Each address is the value before it.
  f = sass_of("__global__ void f(const int *x, int *y, int n) {\n"
              "  int p = threadIdx.x;\n"
              "#pragma unroll 1\n"
              "  for (int k = 0; k < n; k++) p = x[p];\n"
              "  y[threadIdx.x] = p; }");
  CHECK(f.n_loops >= 1);
  CHECK(execute(&f, 1000, 1, 0, 0, &x));
  CHECK_NEAR(x.batches, 1000, 0.01);
  CHECK(x.instructions > 3000 && x.instructions < 12000);
  CHECK(x.stalls >= x.instructions);
  // A sum is unrolled, and its loads go first.
  f = sass_of("__global__ void f(const float *x, float *y, int n) {\n"
              "  float s = 0;\n"
              "  for (int i = threadIdx.x; i < n; i += 256) s += x[i];\n"
              "  y[threadIdx.x] = s; }");
  execute(&f, 1024, 1, 0, 0, &x);
  CHECK(x.batches >= 1024 / 32 && x.batches <= 1024 / 4);
  CHECK(x.instructions > 2000 && x.instructions < 5000);
  // With stores that may hit what is loaded next there is one load at a time.
  f = sass_of("__global__ void f(const float *x, float *y, int n, int step) {\n"
              "#pragma unroll 1\n"
              "  for (int i = threadIdx.x; i < n; i += step) y[i] = x[i]; }");
  CHECK(execute(&f, 1024, 1024, 0, 0, &x));
  CHECK_NEAR(x.batches, 1024, 0.01);
  // Shared memory and the special function unit; a chain of additions is four
  // cycles from one to the next.
  f = sass_of("__global__ void f(float *y) {\n"
              "  __shared__ float s[256]; s[threadIdx.x] = y[threadIdx.x]; __syncthreads();\n"
              "  y[threadIdx.x] = __expf(s[threadIdx.x ^ 1]); }");
  CHECK(f.outside.shared == 2 && f.outside.special == 1 && f.outside.waits >= 2);
  f = sass_of("__global__ void f(float *y, float a) { float v = a;\n"
              "#pragma unroll\n"
              "  for (int k = 0; k < 200; k++) v = v * a + 1;\n"
              "  y[threadIdx.x] = v; }");
  CHECK(f.outside.instructions > 200 && f.outside.instructions < 240);
  CHECK(f.outside.stalls > 780 && f.outside.stalls < 1000);
  // A loop of arithmetic alone: nobody counted how often.
  f = sass_of("__global__ void f(float *y, float a, int n) { float v = a;\n"
              "#pragma unroll 1\n"
              "  for (int k = 0; k < n; k++) v = v * a + 1;\n"
              "  y[threadIdx.x] = v; }");
  CHECK(execute(&f, 0, 1, 0, 2000, &x));
  CHECK(x.floats > 1600 && x.floats < 2400 && x.instructions > 2400 && x.stalls > 8000);
  f = sass_of("__global__ void f(unsigned *y, unsigned a, int n) { unsigned v = a;\n"
              "#pragma unroll 1\n"
              "  for (int k = 0; k < n; k++) v = v * a ^ v >> 7;\n"
              "  y[threadIdx.x] = v; }");
  CHECK(!execute(&f, 0, 1, 0, 0, &x));
  CHECK(x.stalls > x.instructions); // of a turn
  // Bytes that are no code do no harm.
  unsigned char noise[16 * 64 + 7];
  for (size_t i = 0; i < sizeof noise; i++)
    noise[i] = (unsigned char)(i * 37 + i / 5);
  sass_read(noise, sizeof noise, &f);
  for (size_t i = 0; i < sizeof noise; i += 16) {
    noise[i] = 0x47;
    noise[i + 1 < sizeof noise ? i + 1 : i] = 0x09; // branches to anywhere
  }
  sass_read(noise, sizeof noise, &f);
  sass_read(NULL, 0, &f);
  CHECK(f.outside.loads == 0 && f.n_loops == 0);
}

int main(void)
{
  struct kr_err err = {0};
  if (nvrtc_compiler_open(&compiler, NULL, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  kernels_are_found_by_expression();
  a_template_is_compiled_for_all_its_arguments();
  errors_have_places();
  flags_reach_the_compiler();
  standard_headers_are_harmless();
  it_is_as_under_nvcc_without_an_include();
  toolkit_headers_are_found();
  names_and_layout_do_not_change_the_hash();
  a_real_change_changes_the_hash();
  parameters_are_measured();
  state_is_seen();
  broken_machine_code_is_refused();
  what_cannot_be_is_told();
  registers_and_frames_are_read();
  machine_code_is_read();
  nvrtc_compiler_release(&compiler);
  return unit_end();
}
