// RUN: %unit/cpu_faults
// Kernels that do wrong, and what is said of them: where, who, and why.
#include "cpu_kit.h"

enum { N = 1000 };

// Runs a kernel `k(int *o)` with `n` ints in o; wants `status` and a text with `says`.
static void fault(const char *code, unsigned grid, unsigned block, unsigned shared, size_t n,
                  enum kr_run_status status, const char *says)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_buffer(&k, "o", KR_OUT, 4, n, NULL);
  kit_launch(&k, grid, block, shared);
  k.options.timeout_ms = status == KR_RUN_TIMEOUT ? 400 : 0;
  kit_go(&k, code);
  CHECK_INT(k.compiled, 0);
  CHECK_INT(k.r.status, status);
  CHECK(kit_says(&k, says));
  kit_end(&k);
}

static void bounds(void)
{
  fault("__global__ void k(int *o) { o[blockIdx.x * 256 + threadIdx.x] = 1; }", 4, 256, 0, N,
        KR_RUN_FAULT,
        "invalid memory access: thread (232,0,0) of block (3,0,0) writes element 1000 of `o`, "
        "which has 1000");
  fault("__global__ void k(int *o) { int t = threadIdx.x; o[t] = o[t - 5000]; }", 1, 32, 0, 32,
        KR_RUN_FAULT, "of block (0,0,0) reads 20000 bytes before the start of `o`");
  fault("__global__ void k(int *o) { if (threadIdx.x == 7) *(volatile int *)8 = 1; }", 1, 32, 0, 1,
        KR_RUN_FAULT, "thread (7,0,0) of block (0,0,0) writes a null pointer plus 8 bytes");
  fault("__global__ void k(int *o) { if (threadIdx.x == 7) *(volatile int *)0x123456789000 = 1; }",
        1, 32, 0, 1, KR_RUN_FAULT, "address 0x123456789000, in no buffer");
  fault("__global__ void k(int *o) { __shared__ int s[32]; volatile int *p = s;\n"
        " p[threadIdx.x] = 1; __syncthreads(); o[threadIdx.x] = p[threadIdx.x + 1]; }",
        1, 32, 0, 32, KR_RUN_FAULT,
        "thread (31,0,0) of block (0,0,0) reads 0 bytes past the end of a __shared__ variable of "
        "128 bytes");
  fault("__global__ void k(int *o) { __shared__ int s[31]; volatile int *p = s;\n"
        " p[threadIdx.x] = 1; __syncthreads(); o[threadIdx.x] = p[threadIdx.x % 31]; }",
        1, 32, 0, 32, KR_RUN_FAULT, "writes past the end of a __shared__ variable of 124 bytes");
  fault("__global__ void k(int *o) { extern __shared__ int s[]; s[threadIdx.x + 4] = 1;\n"
        " __syncthreads(); o[threadIdx.x] = s[threadIdx.x]; }",
        1, 32, 128, 32, KR_RUN_FAULT, "outside the 128 bytes of dynamic shared memory");
}

// The same kernel over each placement: what each of them can see.
static void placements(void)
{
  static const char code[] = "__global__ void k(int *o) { int t = threadIdx.x;\n"
                             " if (t != STEP) o[t] = 1;\n"
                             " if (t == 0) ((volatile int *)o)[STEP] = 9; }";
  static const struct {
    const char *step;
    enum kr_placement placement;
    enum kr_run_status status;
    bool gap;
  } cases[] = {{"-DSTEP=5", KR_PLACE_END, KR_RUN_FAULT, false},
               {"-DSTEP=-1", KR_PLACE_START, KR_RUN_FAULT, false},
               {"-DSTEP=-1", KR_PLACE_END, KR_RUN_OK, true},
               {"-DSTEP=5", KR_PLACE_START, KR_RUN_OK, true},
               {"-DSTEP=5", KR_PLACE_ALIGN, KR_RUN_OK, true},
               {"-DSTEP=4", KR_PLACE_ALIGN, KR_RUN_OK, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct kit k;
    kit_begin(&k, "k");
    k.flags[0] = (char *)cases[i].step;
    k.c.n_flags = 1;
    size_t o = kit_buffer(&k, "o", KR_OUT, 4, 5, NULL);
    k.buffers[o].align = 16;
    k.options.placement = cases[i].placement;
    kit_launch(&k, 1, 5, 0);
    kit_go(&k, code);
    CHECK_INT(k.r.status, cases[i].status);
    CHECK_INT(k.r.gap_written, cases[i].gap);
    kit_end(&k);
  }
}

// A buffer that ends at the page is not aligned for float4, and a GPU would trap.
static void misaligned(void)
{
  struct kit k;
  float x[5] = {0};
  kit_begin(&k, "k");
  kit_buffer(&k, "x", KR_INOUT, 4, 5, x);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, "__global__ void k(float *x) { float4 v = *reinterpret_cast<float4 *>(x);\n"
             " v.x = v.w + 1; *reinterpret_cast<float4 *>(x) = v; }");
  CHECK_INT(k.r.status, KR_RUN_FAULT);
  CHECK(kit_says(&k, "thread (0,0,0) of block (0,0,0) uses an address that is not aligned"));
  kit_end(&k);
}

// Written and put back: nothing has changed in the end, and it is a fault.
static void constant(void)
{
  static const char code[] =
      "__global__ void k(const int *x, int *o) { int t = threadIdx.x, v = x[t];\n"
      " volatile int *p = (int *)x; if (t == 3) { p[t] = 0; p[t] = v; } o[t] = v; }";
  int x[32] = {0};
  for (int is_const = 0; is_const < 2; is_const++) {
    struct kit k;
    struct kr_leaf leaf = {.path = (char *)"", .kind = KR_POINTER, .is_const = is_const};
    kit_begin(&k, "k");
    kit_buffer(&k, "x", KR_IN, 4, 32, x);
    kit_buffer(&k, "o", KR_OUT, 4, 32, NULL);
    k.params[0].leaves = &leaf;
    k.params[0].n_leaves = 1;
    kit_launch(&k, 1, 32, 0);
    kit_go(&k, code);
    CHECK_INT(k.r.status, is_const ? KR_RUN_FAULT : KR_RUN_OK);
    CHECK(!is_const || kit_says(&k, "thread (3,0,0) of block (0,0,0) writes element 3 of `x`, "
                                    "which is const"));
    kit_end(&k);
  }
}

static void waiting(void)
{
  fault("__global__ void k(int *o) { if (threadIdx.x < 16) __syncthreads(); else __syncwarp();\n"
        " o[threadIdx.x] = 1; }", 1, 32, 0, 32, KR_RUN_FAULT,
        "deadlock: of 32 threads 16 wait at __syncthreads, 16 for lanes of their warp");
  fault("__global__ void k(int *o) { int t = threadIdx.x; if (t < 64) {\n"
        " o[t] = 1; __syncthreads(); o[t] = o[127 - t] + 1; }\n"
        " else { o[t] = 2; __syncthreads(); o[t] = 5; } }", 1, 128, 0, 128, KR_RUN_FAULT,
        "divergence: threads meet at different calls of __syncthreads");
  fault(
      "__global__ void k(int *o) { int t = threadIdx.x, v = t; if (t & 1) { o[t] = 1;\n"
      " v = __shfl_sync(~0u, v, 3); } else { v = __shfl_sync(~0u, v * 2, 5) + o[t]; } o[t] = v; }",
      1, 32, 0, 32, KR_RUN_FAULT, "divergence: threads meet at different calls of __shfl_*_sync");
  fault("__global__ void k(int *o) { int t = threadIdx.x; o[t] = __shfl_sync(0xffffu, t, 3); }", 1,
        32, 0, 32, KR_RUN_FAULT,
        "calls __shfl_*_sync with mask 0x0000ffff, which leaves it out");
  fault(
      "__global__ void k(int *o) { int t = threadIdx.x; if (t < 8) o[t] = __shfl_sync(~0u, t, 3);\n"
      " else { __syncthreads(); o[t] = 2; } }",
      1, 32, 0, 32, KR_RUN_FAULT, "deadlock");
}

static void ends(void)
{
  fault("__global__ void k(int *o) { for (;;) ; }", 1, 32, 0, 1, KR_RUN_TIMEOUT,
        "did not finish within 400 ms");
  fault("__global__ void k(int *o) { volatile int *p = o; while (*p != 17) ; }", 1, 32, 0, 1,
        KR_RUN_TIMEOUT, "did not finish");
  fault(
      "__device__ int f(volatile int *p, int n) { volatile int a[64]; a[n & 63] = n;\n"
      " return n ? f(p, n - 1) + a[n & 63] + *p : 0; }\n"
      "__global__ void k(int *o) { if (threadIdx.x == 3) o[0] = f(o, 1 << 30); __syncthreads(); }",
      1, 32, 0, 1, KR_RUN_FAULT, "stack overflow: thread (3,0,0) of block (0,0,0)");
  fault(
      "__global__ void k(int *o) { char big[1 << 19]; volatile char *p = big; p[threadIdx.x] = 1;\n"
      " o[0] = p[threadIdx.x]; }",
      1, 1, 0, 1, KR_RUN_FAULT, "stack overflow");
  fault("__global__ void k(int *o) { volatile int z = 0; o[0] = 7 / z; }", 1, 1, 0, 1, KR_RUN_FAULT,
        "integer division by zero");
  fault("__global__ void k(int *o) { if (blockIdx.x == 2) __trap(); }", 3, 1, 0, 1, KR_RUN_FAULT,
        "trap in thread (0,0,0) of block (2,0,0)");
  fault("#include <cassert>\n__global__ void k(int *o) { assert(threadIdx.x < 5); }", 1, 32, 0, 1,
        KR_RUN_FAULT, "assertion failed in thread (5,0,0)");
  fault("__global__ void k(int *o) { __builtin_trap(); }", 1, 1, 0, 1, KR_RUN_FAULT, "trap");
}

// What the order of threads shows, and what it must not.
static void races(void)
{
  static const char differs[] = "differs when the threads run in another order";
  fault("__global__ void k(int *o) { __shared__ int s[64]; int t = threadIdx.x; s[t] = t;\n"
        " o[t] = s[63 - t]; }", 1, 64, 0, 64, KR_RUN_FAULT, differs);
  fault("__global__ void k(int *o) { __shared__ int s[64]; int t = threadIdx.x; s[t] = t;\n"
        " __syncthreads(); for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; }\n"
        " if (!t) o[0] = s[0]; }", 1, 64, 0, 1, KR_RUN_FAULT, differs);
  fault("__global__ void k(int *o) { o[threadIdx.x / 2] = threadIdx.x; }", 1, 64, 0, 32,
        KR_RUN_FAULT, "`o[0]` differs when the threads run in another order");
  fault("__global__ void k(int *o) { __shared__ int s[64]; int t = threadIdx.x;\n"
        " if (t != 5) s[t] = t; __syncthreads(); o[t] = s[t]; }", 1, 64, 0, 64, KR_RUN_FAULT,
        "`o[5]` differs");
  fault("__global__ void k(int *o) { int t = threadIdx.x, v = t;\n"
        " for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d); if (!t) o[0] = v; }",
        1, 24, 0, 1, KR_RUN_FAULT, "`o[0]` differs");
  fault("__global__ void k(int *o) { if (!threadIdx.x) o[0] = blockIdx.x; }", 5, 32, 0, 1,
        KR_RUN_FAULT, "`o[0]` differs when the threads run in another order");
  // Blocks that wait for earlier ones by plain loads end in one order only.
  fault("__global__ void k(int *o) { volatile int *p = o; int b = blockIdx.x;\n"
        " while (b && p[b - 1] != b) ; p[b] = b + 1; }", 4, 1, 0, 4, KR_RUN_OK, "");
  // Atomics whose outcome is the order's: compared with nothing.
  fault("__global__ void k(int *o) { __shared__ int n; if (!threadIdx.x) n = 0; __syncthreads();\n"
        " o[atomicAdd(&n, 1)] = threadIdx.x; }", 1, 64, 0, 64, KR_RUN_OK, "");
  // Atomics that commute: still compared, and equal.
  fault("__global__ void k(int *o) { __shared__ int n; if (!threadIdx.x) n = 0; __syncthreads();\n"
        " atomicAdd(&n, threadIdx.x); __syncthreads(); if (!threadIdx.x) o[0] = n; }",
        1, 64, 0, 1, KR_RUN_OK, "");
}

static void launches(void)
{
  static const char code[] = "__global__ void k(int *o) { if (!threadIdx.x) o[0] = 1; }";
  fault(code, 1, 1025, 0, 1, KR_RUN_LAUNCH_FAILED, "a block of 1025 x 1 x 1 threads");
  fault(code, 1, 0, 0, 1, KR_RUN_LAUNCH_FAILED, "a block of 0 x 1 x 1 threads");
  fault(code, 1, 32, 50000, 1, KR_RUN_LAUNCH_FAILED,
        "wants 50000 bytes of shared memory (0 static), at most 49152");
  fault(code, 0, 32, 0, 1, KR_RUN_OK, "");
  struct kit k;
  kit_begin(&k, "k");
  kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  k.options.launch.cooperative = true;
  kit_go(&k, code);
  CHECK_INT(k.r.status, KR_RUN_UNSUPPORTED);
  CHECK(kit_says(&k, "a cooperative launch is not there yet"));
  kit_end(&k);
  // An empty grid runs nothing and leaves the poison.
  kit_begin(&k, "k");
  size_t o = kit_buffer(&k, "o", KR_OUT, 1, 3, NULL);
  kit_launch(&k, 0, 32, 0);
  kit_go(&k, code);
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK)
    CHECK(!memcmp(k.r.after[o], "\xcd\xcd\xcd", 3));
  kit_end(&k);
}

// Null pointers, empty buffers, pointers into another buffer and offsets.
static void pointers(void)
{
  struct kit k;
  int x[4] = {10, 20, 30, 40};
  kit_begin(&k, "k");
  size_t bx = kit_buffer(&k, "x", KR_IN, 4, 4, x);
  size_t none = kit_buffer(&k, "none", KR_IN, 4, 0, NULL);
  size_t null = kit_buffer(&k, "null", KR_IN, 4, 0, NULL);
  size_t alias = kit_buffer(&k, "alias", KR_IN, 4, 0, NULL);
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 4, NULL);
  k.buffers[bx].start = 1; // the pointer's element 1 is the first there is
  k.buffers[null].null = true;
  k.slots[null].buffer = SIZE_MAX;
  k.slots[alias].buffer = bx;
  k.slots[alias].element = 3;
  kit_launch(&k, 1, 1, 0);
  kit_go(&k,
         "__global__ void k(const int *x, const int *none, const int *null, const int *alias,"
         " int *o) { o[0] = x[1]; o[1] = null == nullptr; o[2] = alias[0]; o[3] = alias - x; }");
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK) {
    const int *r = KIT_OUT(k, o, int);
    CHECK(r[0] == 10 && r[1] == 1 && r[2] == 30 && r[3] == 3);
    CHECK(!k.r.after[none] && !k.r.after[null]);
  }
  kit_end(&k);
}

int main(void)
{
  bounds();
  placements();
  misaligned();
  constant();
  waiting();
  ends();
  races();
  launches();
  pointers();
  kr_backend_cpu.close(kit_device);
  return unit_end();
}
