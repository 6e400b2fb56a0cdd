// RUN: %unit/cpu_simt
// What device code can do on the CPU back end, run and compared.
#include "cpu_kit.h"

#include <stdint.h>

enum { N = 1000 };

static void elementwise_loop(void)
{
  struct kit k;
  float x[N], y[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = (float)(2 * i);
  }
  kit_begin(&k, "saxpy");
  kit_int(&k, N);
  kit_float(&k, 3.0f);
  size_t bx = kit_buffer(&k, "x", KR_IN, 4, N, x);
  size_t by = kit_buffer(&k, "y", KR_INOUT, 4, N, y);
  kit_launch(&k, 4, 256, 0);
  kit_go(&k, "__global__ void saxpy(int n, float a, const float *x, float *y) {\n"
             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
             "  if (i < n) y[i] = a * x[i] + y[i]; }\n");
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK) {
    int wrong = 0;
    for (int i = 0; i < N; i++)
      wrong += KIT_OUT(k, by, float)[i] != 5.0f * (float)i;
    CHECK_INT(wrong, 0);
    CHECK(!memcmp(k.r.after[bx], x, sizeof x));
    CHECK(!k.r.gap_written);
    CHECK(k.r.wall_ms > 0);
  }
  kit_end(&k);
}

// Runs `code`, whose kernel `k` writes `want` (ints) from one block.
static void ints(const char *what, const char *code, unsigned block, unsigned shared,
                 const int *want, size_t n)
{
  struct kit k;
  kit_begin(&k, "k");
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, n, NULL);
  kit_launch(&k, 1, block, shared);
  kit_go(&k, code);
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK)
    for (size_t i = 0; i < n; i++) {
      if (KIT_OUT(k, o, int)[i] != want[i])
        fprintf(stderr, "%s: element %zu\n", what, i);
      CHECK_INT(KIT_OUT(k, o, int)[i], want[i]);
      if (KIT_OUT(k, o, int)[i] != want[i])
        break;
    }
  kit_end(&k);
}

static void barriers(void)
{
  int want[256];
  for (int i = 0; i < 256; i++)
    want[i] = 255 - i;
  ints("static shared", "__global__ void k(int *o) { __shared__ int s[256];\n"
       " s[threadIdx.x] = threadIdx.x; __syncthreads(); o[threadIdx.x] = s[255 - threadIdx.x]; }",
       256, 0, want, 256);
  ints("dynamic shared", "__global__ void k(int *o) { extern __shared__ int s[];\n"
       " s[threadIdx.x] = threadIdx.x; __syncthreads(); o[threadIdx.x] = s[255 - threadIdx.x]; }",
       256, 1024, want, 256);
  ints("template and namespace-scope dynamic",
       "extern __shared__ char raw[];\n"
       "template <class T> __device__ void f(int *o) { T *s = reinterpret_cast<T *>(raw);\n"
       " s[threadIdx.x] = threadIdx.x; __syncthreads(); o[threadIdx.x] = s[255 - threadIdx.x]; }\n"
       "__global__ void __launch_bounds__(256) k(int *o) { f<int>(o); }",
       256, 1024, want, 256);
  for (int i = 0; i < 96; i++)
    want[i] = i < 40 ? 40 : 0;
  int four[4] = {40, 1, 0, 1};
  ints("count, and, or", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " int c = __syncthreads_count(t < 40); int a = __syncthreads_and(t >= 0);\n"
       " int b = __syncthreads_and(t < 95); int d = __syncthreads_or(t == 95);\n"
       " if (t == 17) { o[0] = c; o[1] = a; o[2] = b; o[3] = d; } }",
       96, 0, four, 4);
  int early[1] = {30};
  ints("threads that left do not hold a barrier up",
       "__global__ void k(int *o) { __shared__ int s; if (threadIdx.x == 0) s = 0;\n"
       " __syncthreads(); if (threadIdx.x >= 30) return; atomicAdd(&s, 1); __syncthreads();\n"
       " if (threadIdx.x == 7) o[0] = s; }",
       100, 0, early, 1);
  int sum[1] = {64 * 63 / 2};
  ints("a barrier between two looks at one condition stays one barrier",
       "__global__ void k(int *o) { __shared__ int s[2]; unsigned t = threadIdx.x; int v = t;\n"
       " for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);\n"
       " if (t % 32 == 0) s[t / 32] = v;\n"
       " __syncthreads(); if (t == 0) s[0] += s[1]; __syncthreads(); if (t == 0) o[0] = s[0]; }",
       64, 0, sum, 1);
}

static void warps(void)
{
  int want[64];
  for (int i = 0; i < 64; i++)
    want[i] = (i / 32) * 32 + (i % 32 + 1) % 32;
  ints("shfl", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " o[t] = __shfl_sync(0xffffffffu, t, (t + 1) & 31); }", 64, 0, want, 64);
  for (int i = 0; i < 64; i++)
    want[i] = i ^ 5;
  ints("xor", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " o[t] = __shfl_xor_sync(~0u, t, 5); }", 64, 0, want, 64);
  for (int i = 0; i < 64; i++)
    want[i] = i % 32 < 3 ? i : i - 3;
  ints("up", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " o[t] = __shfl_up_sync(~0u, t, 3); }", 64, 0, want, 64);
  for (int i = 0; i < 64; i++)
    want[i] = i % 8 + 2 >= 8 ? i : i + 2;
  ints("down in segments of 8", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " o[t] = (int)__shfl_down_sync(~0u, (double)t, 2, 8); }", 64, 0, want, 64);
  int six[6] = {0x55555555, 1, 0, 496, -31, 31};
  ints("votes and reductions", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " unsigned b = __ballot_sync(~0u, t % 2 == 0); int a = __any_sync(~0u, t == 9);\n"
       " int c = __all_sync(~0u, t != 9); int s = __reduce_add_sync(~0u, t);\n"
       " int m = __reduce_min_sync(~0u, -t); unsigned x = __reduce_max_sync(~0u, (unsigned)t);\n"
       " if (t == 3) { o[0] = b; o[1] = a; o[2] = c; o[3] = s; o[4] = m; o[5] = x; } }",
       32, 0, six, 6);
  int three[3] = {0x11111111, 0, (int)0x88888888u};
  ints("match", "__global__ void k(int *o) { int t = threadIdx.x, p;\n"
       " unsigned m = __match_any_sync(~0u, t % 4); unsigned all = __match_all_sync(~0u, t, &p);\n"
       " if (t == 0) { o[0] = m; o[1] = all | p; } if (t == 31) o[2] = m; }", 32, 0, three, 3);
  int active[2] = {0xffff, (int)0xffff0000u};
  ints("activemask in a branch", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " if (t < 16) { unsigned m = __activemask(); int s = __reduce_add_sync(m, 1);\n"
       "   if (t == 0) o[0] = s == 16 ? (int)m : -1; }\n"
       " else { unsigned m = __activemask(); if (t == 20) o[1] = m; } }", 32, 0, active, 2);
  int partial[1] = {120};
  ints("a mask of lanes that are there", "__global__ void k(int *o) { int t = threadIdx.x;\n"
       " if (t < 16) { int v = t; for (int d = 8; d; d /= 2)\n"
       "   v += __shfl_down_sync(0xffffu, v, d, 16); if (!t) o[0] = v; } }", 32, 0, partial, 1);
  int tree[1] = {2016};
  ints("warp-synchronous tree with __syncwarp",
       "__global__ void k(int *o) { __shared__ int s[64]; int t = threadIdx.x; s[t] = t;\n"
       " __syncthreads(); if (t < 32) { int v = s[t] + s[t + 32];\n"
       "  for (int d = 16; d; d /= 2) { s[t] = v; __syncwarp(); if (t < d) v += s[t + d];\n"
       "   __syncwarp(); } if (!t) o[0] = v; } }", 64, 0, tree, 1);
}

static void groups(void)
{
  int want[4] = {2016, 28, 63, 8};
  ints("cooperative groups",
       "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
       "namespace cg = cooperative_groups;\n"
       "__global__ void k(int *o) { __shared__ int s; cg::thread_block b = "
       "cg::this_thread_block();\n"
       " if (b.thread_rank() == 0) s = 0; b.sync();\n"
       " auto w = cg::tiled_partition<32>(b); auto t = cg::tiled_partition<8>(w);\n"
       " int v = cg::reduce(w, (int)b.thread_rank(), cg::plus<int>());\n"
       " if (w.thread_rank() == 0) atomicAdd(&s, v); cg::sync(b);\n"
       " int u = t.shfl_xor(t.thread_rank(), 4) + t.shfl_xor(t.thread_rank(), 4) * 0;\n"
       " u = cg::reduce(t, u, cg::plus<int>());\n"
       " if (b.thread_rank() == 63) { o[0] = s; o[1] = u; o[2] = b.thread_rank();\n"
       "  o[3] = t.size(); } }",
       64, 0, want, 4);
  // The largest of 7 * lane % 32 over a warp stands in lane 9; a char and a double travel along.
  int best[3] = {31, 9, 1};
  ints("a struct through a tile",
       "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
       "namespace cg = cooperative_groups;\n"
       "struct Best { double value; int lane; char tag; };\n"
       "__device__ Best better(Best a, Best b) { return a.value >= b.value ? a : b; }\n"
       "__global__ void k(int *o) { auto w = cg::tiled_partition<32>(cg::this_thread_block());\n"
       " int t = w.thread_rank(); Best b = {double(7 * t % 32), t, char(t == 9)};\n"
       " b = cg::reduce(w, b, better); b = w.shfl(b, 3); if (!t) { o[0] = (int)b.value;\n"
       "  o[1] = b.lane; o[2] = b.tag; } }",
       32, 0, best, 3);
}

static void atomics(void)
{
  int want[12] = {4950, 4950, 99, 0, 0x7f, 0, 1, 100, 0, 1, 99, 5};
  ints("atomics",
       "__global__ void k(int *o) { __shared__ unsigned u; __shared__ unsigned long long l;\n"
       " __shared__ float f; __shared__ double d; __shared__ int a[8]; int t = threadIdx.x;\n"
       " if (!t) { u = 0; l = 0; f = 0; d = 0; for (int i = 0; i < 8; i++) a[i] = 0;\n"
       "  a[1] = 1000; a[3] = 0x7f; a[7] = 3; } __syncthreads();\n"
       " atomicAdd(&u, (unsigned)t); atomicAdd(&l, (unsigned long long)t); atomicAdd(&f, "
       "(float)t);\n"
       " atomicAdd(&d, 1.0); atomicMax(&a[0], t); atomicMin(&a[1], t); atomicOr(&a[2], t & 0x7f);\n"
       " atomicAnd(&a[3], t); atomicXor(&a[4], t == 5); atomicSub(&a[5], -1);\n"
       " atomicCAS(&a[6], 0, 1); if (t == 50) atomicExch(&a[7], 5); __syncthreads();\n"
       " if (!t) { o[0] = u; o[1] = (int)l; o[2] = a[0]; o[3] = a[1]; o[4] = a[2]; o[5] = a[3];\n"
       "  o[6] = a[4]; o[7] = a[5]; o[8] = f == 4950.0f ? 0 : 1; o[9] = a[6];\n"
       "  o[10] = (int)d - 1; o[11] = a[7]; } }",
       100, 0, want, 12);
  int lock[1] = {96};
  ints("a lock between the lanes of a warp",
       "__global__ void k(int *o) { __shared__ int lock, n; if (!threadIdx.x) lock = n = 0;\n"
       " __syncthreads(); while (atomicCAS(&lock, 0, 1)) ; n = n + 1; __threadfence();\n"
       " atomicExch(&lock, 0); __syncthreads(); if (!threadIdx.x) o[0] = n; }", 96, 0, lock, 1);
  int inc[2] = {4, 7};
  ints("inc and dec", "__global__ void k(int *o) { __shared__ unsigned a, b;\n"
       " if (!threadIdx.x) { a = 0; b = 3; } __syncthreads(); atomicInc(&a, 5); atomicDec(&b, 7);\n"
       " __syncthreads(); if (!threadIdx.x) { o[0] = a; o[1] = b; } }", 4, 0, inc, 2);
}

static void vectors(void)
{
  struct kit k;
  float x[64];
  for (int i = 0; i < 64; i++)
    x[i] = (float)i;
  kit_begin(&k, "k");
  kit_buffer(&k, "x", KR_IN, 4, 64, x);
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 64, NULL);
  float two[2] = {100.0f, 200.0f};
  kit_value(&k, two, sizeof two);
  kit_launch(&k, 1, 16, 0);
  kit_go(&k, "union both { float4 v; float f[4]; };\n"
             "__global__ void k(const float *x, float *o, float2 w) {\n"
             " __shared__ float4 s[16]; int t = threadIdx.x;\n"
             " float4 v = reinterpret_cast<const float4 *>(x)[t]; both b; b.v = v;\n"
             " s[t] = v; __syncthreads(); float4 u = s[15 - t]; u.x += w.x; u.w = b.f[2] + w.y;\n"
             " float2 p = make_float2(u.y, u.z); float4 r = {u.x, p.x, p.y, u.w};\n"
             " reinterpret_cast<float4 *>(o)[t] = r; }");
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK)
    for (int t = 0; t < 16; t++) {
      const float *r = KIT_OUT(k, o, float) + 4 * t;
      CHECK(r[0] == (float)(4 * (15 - t)) + 100 && r[1] == (float)(4 * (15 - t) + 1));
      CHECK(r[2] == (float)(4 * (15 - t) + 2) && r[3] == (float)(4 * t + 2) + 200);
    }
  kit_end(&k);
}

static void intrinsics(void)
{
  int want[20] = {5, 24, 3, 0x1e6a2c48, 1, 2147483647, -2147483647 - 1, 0, 3, 2,
                  0x3f800000, 7, 3, 42, 11, 1, 1, 1, 20, 1};
  want[3] = (int)0x1e6a2c48;
  ints("bits and conversions",
       "#include <cmath>\n#include <cstdint>\n#include <limits>\n#include <math_constants.h>\n"
       "__constant__ int table[3] = {7, 8, 9}; __device__ int counter = 41;\n"
       "__global__ void k(int *o) { float nan = CUDART_NAN_F, big = 1e30f;\n"
       " volatile float vbig = big, vnan = nan, half = 2.5f;\n"
       " o[0] = __popc(0x10101011); o[1] = __clz(0xff); o[2] = __ffs(4); o[3] = "
       "__brev(0x12345678);\n"
       " o[4] = __umulhi(0x80000000u, 2u); o[5] = (int)vbig; o[6] = (int)-vbig; o[7] = (int)vnan;\n"
       " o[8] = __float2int_ru(half); o[9] = __float2int_rn(half); o[10] = __float_as_int(1.0f);\n"
       " o[11] = table[0]; o[12] = (int)std::sqrt(9.0f); o[13] = ++counter;\n"
       " o[14] = max(3, 11); o[15] = isnan(vnan); o[16] = fmaxf(vnan, 1.0f) == 1.0f;\n"
       " o[17] = __fmul_rn(3.0f, 4.0f) == 12.0f && rsqrtf(4.0f) == 0.5f;\n"
       " o[18] = (int)(10 * powf(2.0f, 1.0f)); o[19] = std::numeric_limits<int>::max() == "
       "2147483647; }",
       1, 0, want, 20);
}

// Every mathematical function, in both precisions, against the C library here.
static void mathematics(void)
{
#define ONE(X)                                                                                     \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(atanh) X(exp)    \
  X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt) X(ceil) X(floor) X(trunc)      \
  X(round) X(rint) X(nearbyint) X(erf) X(erfc) X(tgamma) X(lgamma) X(fabs) X(logb)
#define TWO(X)                                                                                     \
  X(pow) X(atan2) X(fmod) X(hypot) X(fmin) X(fmax) X(fdim) X(copysign) X(remainder) X(nextafter)
#define CODE1(m) " *o++ = " #m "(x); *o++ = " #m "f((float)x); *o++ = " #m "((float)x);\n"
#define CODE2(m) " *o++ = " #m "(x, y); *o++ = " #m "f(x, y); *o++ = " #m "((float)x, (float)y);\n"
#define WANT1(m) m(x), m##f((float)x), m##f((float)x),
#define WANT2(m) m(x, y), m##f((float)x, (float)y), m##f((float)x, (float)y),
  const double x = 0.71875, y = 2.25;
  const double want[] = {ONE(WANT1) TWO(WANT2)};
  enum { n = sizeof want / sizeof *want };
  struct kit k;
  kit_begin(&k, "k");
  kit_value(&k, &x, sizeof x);
  kit_value(&k, &y, sizeof y);
  size_t o = kit_buffer(&k, "o", KR_OUT, 8, n, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, "__global__ void k(double x, double y, double *o) {\n" ONE(CODE1) TWO(CODE2) "}\n");
  CHECK(kit_ok(&k));
  for (size_t i = 0; k.r.status == KR_RUN_OK && i < n; i++)
    CHECK(fabs(KIT_OUT(k, o, double)[i] - want[i]) <= 1e-6 * (1e-3 + fabs(want[i])));
  kit_end(&k);
}

// A product and a sum with their own roundings are not one fused operation,
// while plain arithmetic may be fused.
static void contraction(void)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_float(&k, 1.0f + 0x1p-12f);
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, "__global__ void k(float a, float *o) { o[0] = __fadd_rn(__fmul_rn(a, a), -1.0f); }");
  CHECK(kit_ok(&k));
  float a = 1.0f + 0x1p-12f;
  volatile float square = a * a;
  if (k.r.status == KR_RUN_OK)
    CHECK(KIT_OUT(k, o, float)[0] == square - 1.0f);
  kit_end(&k);
}

static void three_dimensions(void)
{
  struct kit k;
  kit_begin(&k, "k");
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 2 * 3 * 2 * 24, NULL);
  k.options.launch = (struct kr_launch){{2, 3, 2}, {4, 3, 2}, 0, false};
  kit_go(&k, "__global__ void k(int *o) {\n"
             " int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
             " int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
             " dim3 d = blockDim; o[b * d.x * d.y * d.z + t] = b * 100 + t; }");
  CHECK(kit_ok(&k));
  int wrong = 0;
  for (int i = 0; k.r.status == KR_RUN_OK && i < 288; i++)
    wrong += KIT_OUT(k, o, int)[i] != i / 24 * 100 + i % 24;
  CHECK_INT(wrong, 0);
  kit_end(&k);
}

static void names(void)
{
  int want[1] = {77};
  struct kit k;
  kit_begin(&k, "a::b::k<7>");
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k,
         "namespace a { namespace b { namespace { __device__ int f(int x) { return x * 11; } }\n"
         "template <int N> __global__ void k(int *o) { o[0] = f(N); } } }");
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK)
    CHECK_INT(KIT_OUT(k, o, int)[0], want[0]);
  kit_end(&k);
}

// Each case launches the kernel of its own arguments, with its own shared memory:
// both together would not fit a block.
static void instantiations(void)
{
  struct kr_instantiation in[] = {{.name_expression = (char *)"k<int, 9000>"},
                                  {.name_expression = (char *)"k<float, 5000>"}};
  struct kr_case cases[] = {{.instantiation = 1}, {.instantiation = 0}};
  struct kit k;
  kit_begin(&k, "k");
  k.c.instantiations = in;
  k.c.n_instantiations = 2;
  k.c.cases = cases;
  k.c.n_cases = 2;
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  for (int which = 0; which < 2; which++) {
    k.in.case_index = (size_t)which;
    kit_go(&k, "template <typename T, int N> __global__ void k(T *o)\n"
               "{ __shared__ T s[N]; s[N - 1] = T(N) / T(7); o[0] = s[N - 1]; }");
    CHECK(kit_ok(&k));
    if (k.r.status == KR_RUN_OK && which)
      CHECK_INT(KIT_OUT(k, o, int)[0], 1285);
    if (k.r.status == KR_RUN_OK && !which)
      CHECK(KIT_OUT(k, o, float)[0] == 5000.0f / 7.0f);
  }
  kit_end(&k);
  kit_begin(&k, "k");
  k.c.instantiations = in;
  k.c.n_instantiations = 2;
  CHECK_INT(kit_compile(&k, "template <typename T, int N> __global__ void k(T *o)\n"
                            "{ static_assert(sizeof(T) == 4 && N > 8000, \"too small\"); }"), 1);
  CHECK(kit_says(&k, "too small"));
  kit_end(&k);
}

// Definitions that reach the kernel by a flag of the project.
static void flags(void)
{
  struct kit k;
  kit_begin(&k, "k");
  k.flags[0] = (char *)"-DWIDTH=5";
  k.flags[1] = (char *)"-std=c++14";
  k.c.n_flags = 2;
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, "__global__ void k(int *o) { o[0] = WIDTH * 1000 + (__cplusplus == 201402L); }");
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK)
    CHECK_INT(KIT_OUT(k, o, int)[0], 5001);
  kit_end(&k);
}

// Equal code has equal hashes, whatever names and comments say; other code does not.
static void hashes(void)
{
  static const char *const texts[] = {
      "__global__ void k(int *o) { o[0] = 1; }",
      ("// a remark\n__device__ int unused(int x) { return x; }\n"
       "__global__ void k(int *out) { int one = 1; out[0] = one; }"),
      "__global__ void k(int *o) { o[0] = 2; }"};
  struct kr_hash h[3];
  for (int i = 0; i < 3; i++) {
    struct kit k;
    kit_begin(&k, "k");
    CHECK_INT(kit_compile(&k, texts[i]), 0);
    memset(&h[i], 0, sizeof h[i]);
    if (k.m)
      h[i] = kr_backend_cpu.module_hash(kit_device, k.m);
    kit_end(&k);
  }
  CHECK(kr_hash_equal(h[0], h[1]));
  CHECK(!kr_hash_equal(h[0], h[2]));
}

int main(void)
{
  elementwise_loop();
  barriers();
  warps();
  groups();
  atomics();
  vectors();
  intrinsics();
  mathematics();
  contraction();
  three_dimensions();
  names();
  instantiations();
  flags();
  hashes();
  kr_backend_cpu.close(kit_device);
  return unit_end();
}
