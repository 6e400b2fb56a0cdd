// RUN: %unit/cpu_count
// What the CPU back end counts of kernels whose counts are known by hand.
#include "cpu_kit.h"

#include <math.h>
#include <stdint.h>

enum { N = 1 << 18, SIDE = 512 };

static float *zeros;

// Counts the kernel `k` over buffers a (in) and o (out) of N floats.
static int count_on(struct kit *k, const char *code, struct kr_count_options options,
                    struct kr_counters *c, struct kr_run_result *r)
{
  struct kr_dataset *d = NULL;
  memset(c, 0, sizeof *c);
  memset(r, 0, sizeof *r);
  if ((!k->m && kit_compile(k, code)) || kr_backend_cpu.load(kit_device, &k->in, &d, &k->err)) {
    fprintf(stderr, "%s %s\n", k->log.data, k->err.text);
    return -1;
  }
  int rc = kr_backend_cpu.count(kit_device, k->m, d, &options, c, r, &k->err);
  kr_backend_cpu.dataset_free(kit_device, d);
  return rc;
}

static struct kr_count_options launch(unsigned gx, unsigned gy, unsigned bx, unsigned by)
{
  return (struct kr_count_options){.launch = {{gx, gy, 1}, {bx, by, 1}, 0, false},
                                   .budget_ms = 2000};
}

static struct kr_counters count_some(const char *code, unsigned n, unsigned gx, unsigned gy,
                                     unsigned bx, unsigned by)
{
  struct kit k;
  struct kr_counters c;
  struct kr_run_result r;
  kit_begin(&k, "k");
  kit_buffer(&k, "a", KR_IN, 4, n, zeros);
  kit_buffer(&k, "o", KR_OUT, 4, n, NULL);
  CHECK_INT(count_on(&k, code, launch(gx, gy, bx, by), &c, &r), 0);
  if (r.status != KR_RUN_OK)
    fprintf(stderr, "%s: %s\n", code, r.text);
  CHECK_INT(r.status, KR_RUN_OK);
  kit_end(&k);
  return c;
}

static struct kr_counters count(const char *code, unsigned gx, unsigned gy, unsigned bx,
                                unsigned by)
{
  return count_some(code, N, gx, gy, bx, by);
}

static double per_request(const struct kr_traffic *t)
{
  return t->requests > 0 ? t->sectors / t->requests : 0;
}

static double shared_per_request(const struct kr_counters *c)
{
  return c->shared_wavefronts / c->inst[KR_INST_SHARED];
}

#define CHECK_IS(got, want)                                                                        \
  do {                                                                                             \
    double got_ = (got), want_ = (want);                                                           \
    unit_checks++;                                                                                 \
    if (!(fabs(got_ - want_) <= 1e-9 * (1 + fabs(want_)))) {                                       \
      unit_failures++;                                                                             \
      fprintf(stderr, "%s:%d: %s is %g, not %g\n", __FILE__, __LINE__, #got, got_, want_);         \
    }                                                                                              \
  } while (0)

static void copies(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * blockDim.x + threadIdx.x; o[i] = a[i]; }", N / 256, 1, 256, 1);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(per_request(&c.stores), 4);
  CHECK_IS(c.loads.requests, N / 32);
  CHECK_IS(c.loads.lanes, N);
  CHECK_IS(c.loads.bytes, 4.0 * N);
  CHECK_IS(c.loads.wavefronts, N / 32);
  CHECK_IS(c.loads.l1_miss_sectors, N / 8);
  CHECK_IS(c.loads.footprint, 4.0 * N);
  CHECK_IS(c.stores.footprint, 4.0 * N);
  CHECK_IS(c.loads.window[0], 4 * 256);
  CHECK_IS(c.loads.window[3], 4 * 256 * 8);
  CHECK_IS(c.stores.partial_sectors, 0);
  CHECK_IS(c.inst[KR_INST_GLOBAL], 2 * N / 32);
  CHECK_IS(c.warps, N / 32);
  CHECK_IS(c.divergent_branches, 0);
  CHECK_IS(c.chain_global, 1);
  CHECK_IS(c.longest_warp, 1);
  CHECK_INT(c.blocks, N / 256);
  CHECK_INT(c.blocks_counted, N / 256);
  CHECK(!c.sampled);
  c = count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            " ((float4 *)o)[i] = ((const float4 *)a)[i]; }", N / 1024, 1, 256, 1);
  CHECK_IS(per_request(&c.loads), 16);
  CHECK_IS(per_request(&c.stores), 16);
  CHECK_IS(c.loads.requests, N / 128);
  c = count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            " int j = (i & 31) * 32 + (i >> 5 & 31) + (i & ~1023); o[j] = a[j]; }",
            N / 256, 1, 256, 1);
  CHECK_IS(per_request(&c.loads), 32);
  CHECK_IS(per_request(&c.stores), 32);
  CHECK_IS(c.stores.partial_sectors / c.stores.requests, 32);
}

// Where a GPU's allocator puts it, whatever the length: no access lies across more
// sectors than there, and what is promised of alignment holds.
static void odd_lengths(void)
{
  struct kr_counters c =
      count_some("__global__ void k(const float *a, float *o) {\n"
                 " int i = blockIdx.x * blockDim.x + threadIdx.x; o[i] = a[i]; }",
                 N - 1, N / 256 - 1, 1, 256, 1);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(per_request(&c.stores), 4);
  c = count_some("__global__ void k(const float *a, float *o) {\n"
                 " int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 " ((float4 *)o)[i] = ((const float4 *)a)[i]; }", N - 1, N / 1024 - 1, 1, 256, 1);
  CHECK_IS(per_request(&c.loads), 16);
}

#define TRANSPOSE(pad)                                                                             \
  "__global__ void k(const float *a, float *o) { __shared__ float t[32][32 + " #pad "];\n"         \
  " int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"                   \
  " for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = a[(y + j) * 512 + x];\n"     \
  " __syncthreads(); x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;\n"      \
  " for (int j = 0; j < 32; j += 8) o[(y + j) * 512 + x] = t[threadIdx.x][threadIdx.y + j]; }"

static void transposes(void)
{
  unsigned g = SIDE / 32;
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) {\n"
            " int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"
            " for (int j = 0; j < 32; j += 8) o[x * 512 + y + j] = a[(y + j) * 512 + x]; }",
            g, g, 32, 8);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(per_request(&c.stores), 32);
  CHECK_IS(c.stores.spread_rows / c.stores.requests, 32);
  c = count(TRANSPOSE(0), g, g, 32, 8);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(per_request(&c.stores), 4);
  CHECK_IS(shared_per_request(&c), 16.5);
  CHECK_IS(c.shared_ideal / c.inst[KR_INST_SHARED], 1);
  CHECK_IS(c.barriers, c.warps);
  CHECK_INT(c.static_shared_bytes, 4096);
  c = count(TRANSPOSE(1), g, g, 32, 8);
  CHECK_IS(shared_per_request(&c), 1);
}

static void reductions(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { __shared__ float s[256];\n"
            " int t = threadIdx.x; s[t] = a[blockIdx.x * 256 + t]; __syncthreads();\n"
            " for (int d = 128; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }\n"
            " if (!t) o[blockIdx.x] = s[0]; }", N / 256, 1, 256, 1);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(c.barriers / c.warps, 9);
  CHECK_IS(shared_per_request(&c), 1);
  // The first warp parts at 16, 8, 4, 2 and 1 threads, and at the end.
  CHECK_IS(c.divergent_branches / (N / 256), 6);
  CHECK(c.longest_warp > 1.5);
  c = count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * 256 + threadIdx.x; float v = a[i];\n"
            " for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);\n"
            " if (i % 32 == 0) o[i / 32] = v; }", N / 256, 1, 256, 1);
  CHECK_IS(c.inst[KR_INST_SHUFFLE] / c.warps, 5);
  CHECK_IS(per_request(&c.stores), 1);
}

static void softmax(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { __shared__ float s[4];\n"
            " int t = threadIdx.x; const float *x = a + blockIdx.x * 512; float m = -1e30f;\n"
            " for (int i = t; i < 512; i += 128) m = fmaxf(m, x[i]);\n"
            " for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));\n"
            " if (t % 32 == 0) s[t / 32] = m; __syncthreads();\n"
            " for (int i = 0; i < 4; i++) m = fmaxf(m, s[i]);\n"
            " float e = 0; for (int i = t; i < 512; i += 128) e += expf(x[i] - m);\n"
            " for (int i = t; i < 512; i += 128) o[blockIdx.x * 512 + i] = expf(x[i] - m) / e; }",
            N / 512, 1, 128, 1);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(per_request(&c.stores), 4);
  CHECK_IS(c.loads.requests / c.warps, 12);
  // Second and third time the row is in the L1.
  CHECK_IS(c.loads.l1_miss_sectors, N / 8);
  CHECK(c.inst[KR_INST_SFU] / c.warps >= 12);
}

static void matmul(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { __shared__ float s[16][16], u[16][16];\n"
            " int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, q = blockIdx.x * 16 + x;\n"
            " float acc = 0; for (int t = 0; t < 32; t++) {\n"
            "  s[y][x] = a[r * 512 + t * 16 + x]; u[y][x] = a[(t * 16 + y) * 512 + q];\n"
            "  __syncthreads(); for (int i = 0; i < 16; i++) acc += s[y][i] * u[i][x];\n"
            "  __syncthreads(); } o[r * 512 + q] = acc; }", 32, 32, 16, 16);
  CHECK_IS(per_request(&c.loads), 4);
  CHECK_IS(shared_per_request(&c), 1);
  CHECK_IS(c.inst[KR_INST_FP32] / c.warps, 512);
  CHECK_IS(c.inst[KR_INST_SHARED] / c.warps, 32 * (2 + 4 + 16));
  CHECK_IS(c.barriers / c.warps, 64);
  CHECK_IS(c.loads.footprint, 4.0 * N);
  CHECK_IS(c.chain_global, 32);
}

// Lane l goes round l + 1 times: the longest one's requests, and what unrolling
// adds of pieces that not all lanes reach.
static void divergence(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;\n"
            " for (int j = 0; j <= (threadIdx.x & 31); j++) s += a[i * 32 + j]; o[i] = s; }",
            N / 32 / 256, 1, 256, 1);
  double requests = c.loads.requests / c.warps;
  CHECK(requests >= 32 && requests <= 35);
  CHECK_IS(c.loads.lanes / c.warps, 33 * 16);
  CHECK(c.divergent_branches / c.warps > 8);
  double all = 0;
  for (int i = 0; i < KR_N_INST; i++)
    all += c.inst[i];
  CHECK(c.lane_inst < 0.7 * 32 * all);
  // Both ways of a branch come together again behind it.
  c = count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * blockDim.x + threadIdx.x; float v;\n"
            " if (i & 1) v = a[i] * a[i + 32]; else v = a[i + 64] + a[i + 96];\n"
            " o[i] = v; }", N / 512, 1, 256, 1);
  CHECK_IS(c.loads.requests / c.warps, 4);
  CHECK_IS(c.stores.requests / c.warps, 1);
  CHECK_IS(c.divergent_branches / c.warps, 1);
  // A loop that lanes leave early, and code behind it.
  c = count("__global__ void k(const float *a, float *o) {\n"
            " int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;\n"
            " for (int j = 0; j < 100; j++) { float v = a[i + j]; s += v; if (v != 0) break;\n"
            "  s *= 2; if (j == (threadIdx.x & 7)) break; }\n"
            " o[i] = s; }", N / 512, 1, 256, 1);
  CHECK_IS(c.stores.requests / c.warps, 1);
  CHECK_IS(c.loads.requests / c.warps, 8);
}

static void long_loops(void)
{
  // More events than a trace holds, at another length in each lane.
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { float s = 0;\n"
            " for (int j = 0; j < 1000 + threadIdx.x; j++) { s += a[j]; if (s > 1e30f) o[j] = s; }\n"
            " o[threadIdx.x] = s; }", 1, 1, 64, 1);
  CHECK(c.loads.requests >= 1031 + 1063 && c.loads.requests <= 1031 + 1063 + 8);
  CHECK_IS(c.loads.lanes, 64 * 1000 + 63 * 32);
  CHECK_IS(c.stores.requests, 2);
  // A lock: lanes that wait for one of another warp.
  c = count("__device__ int lock; __global__ void k(const float *a, float *o) {\n"
            " if (threadIdx.x % 32 == 0) { while (atomicCAS(&lock, 0, 1) != 0) ;\n"
            "  for (int j = 0; j < 500; j++) o[j] += a[j] + 1; atomicExch(&lock, 0); } }",
            1, 1, 128, 1);
  CHECK(c.inst[KR_INST_ATOMIC_GLOBAL] >= 8);
}

static void chains(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { int i = threadIdx.x;\n"
            " const int *p = (const int *)a; i = p[i]; i = p[i]; i = p[i]; o[threadIdx.x] = i; }",
            1, 1, 32, 1);
  CHECK_IS(c.chain_global, 3);
  CHECK_IS(c.loads_in_flight, 1);
  c = count("__global__ void k(const float *a, float *o) { int i = threadIdx.x;\n"
            " o[i] = a[i] + a[i + 1000] + a[i + 2000] + a[i + 3000]; }", 1, 1, 32, 1);
  CHECK_IS(c.chain_global, 1);
  CHECK_IS(c.loads_in_flight, 4);
  // A store between two loads holds the second one up unless it cannot write there.
  c = count("__global__ void k(const float *a, float *o) { int i = threadIdx.x;\n"
            " o[i] = a[i] * 2; o[i + 32] = a[i + 32] * 2; }", 1, 1, 32, 1);
  CHECK_IS(c.chain_global, 2);
  c = count("__global__ void k(const float *__restrict__ a, float *__restrict__ o) {\n"
            " int i = threadIdx.x; o[i] = a[i] * 2; o[i + 32] = a[i + 32] * 2; }", 1, 1, 32, 1);
  CHECK_IS(c.chain_global, 1);
  c = count("__global__ void k(const float *a, float *o) { int i = threadIdx.x;\n"
            " o[i] = __ldg(a + i) * 2; o[i + 32] = __ldg(a + i + 32) * 2; }", 1, 1, 32, 1);
  CHECK_IS(c.chain_global, 1);
  // Loops of a length that can be computed are unrolled four times.
  c = count("__global__ void k(const float *a, float *o) { float s = 0; int n = (int)a[0] + 1024;\n"
            " for (int i = threadIdx.x; i < n; i += 32) s += a[i]; o[threadIdx.x] = s; }",
            1, 1, 32, 1);
  CHECK_IS(c.chain_global, 1 + 32 / 4);
}

static double inst_of(const char *expression, enum kr_inst_class which)
{
  char code[512];
  snprintf(code, sizeof code, "__global__ void k(const float *a, float *o) { int i = threadIdx.x;\n"
                              " float x = a[i]; o[i] = %s; }", expression);
  return count(code, 1, 1, 32, 1).inst[which];
}

// Fast functions cost what they cost on a GPU, and are told from exact ones.
static void functions(void)
{
  CHECK_IS(inst_of("__expf(x)", KR_INST_SFU), 1);
  CHECK_IS(inst_of("__expf(x)", KR_INST_FP32), 3);
  CHECK_IS(inst_of("expf(x)", KR_INST_FP32), 5);
  CHECK_IS(inst_of("rsqrtf(x)", KR_INST_SFU), 1);
  CHECK_IS(inst_of("rsqrtf(x)", KR_INST_FP32), 2);
  CHECK_IS(inst_of("__fdividef(x, x + 1)", KR_INST_FP32), 3);
  CHECK(inst_of("x / (x + 1)", KR_INST_FP32) > 8);
  CHECK_IS(inst_of("1 / x", KR_INST_FP32), 5);
  CHECK(inst_of("sin((double)x)", KR_INST_FP64) > 20);
  CHECK_IS(inst_of("sinf(x)", KR_INST_FP64), 0);
}

// What nvcc makes of two loops whose listings were read: 84 and 2 x 36.5 instructions.
static void instructions(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { __shared__ float s[32][32], u[32][32];\n"
            " int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 32 + y, q = blockIdx.x * 32 + x;\n"
            " float acc = 0; for (int t = 0; t < 16; t++) {\n"
            "  s[y][x] = a[r * 512 + t * 32 + x]; u[y][x] = a[(t * 32 + y) * 512 + q];\n"
            "  __syncthreads(); for (int i = 0; i < 32; i++) acc += s[y][i] * u[i][x];\n"
            "  __syncthreads(); } o[r * 512 + q] = acc; }", 16, 16, 32, 32);
  CHECK(c.chain_inst / 16 > 80 && c.chain_inst / 16 < 92);
  // Four words of a row in one access.
  CHECK_IS(c.inst[KR_INST_SHARED] / c.warps, 16 * (2 + 8 + 32));
}

static void spaces(void)
{
  struct kr_counters c =
      count("__constant__ float t[64]; __global__ void k(const float *a, float *o) {\n"
            " int i = threadIdx.x; float v[8]; for (int j = 0; j < 8; j++) v[j] = a[i + j];\n"
            " o[i] = v[(int)a[i] & 7] + t[blockIdx.x]; }", 1, 1, 32, 1);
  CHECK_IS(c.inst[KR_INST_CONSTANT], 1);
  CHECK(c.inst[KR_INST_LOCAL] >= 3 && c.inst[KR_INST_LOCAL] <= 9);
  CHECK_IS(c.local_bytes, 9 * 4 * 32);
  // Private arrays at known places are registers.
  c = count("__global__ void k(const float *a, float *o) { int i = threadIdx.x; float v[4];\n"
            " for (int j = 0; j < 4; j++) v[j] = a[i + 32 * j];\n"
            " for (int j = 0; j < 4; j++) o[i + 32 * j] = v[3 - j]; }", 1, 1, 32, 1);
  CHECK_IS(c.inst[KR_INST_LOCAL], 0);
  CHECK_IS(c.local_bytes, 0);
  CHECK_IS(c.inst[KR_INST_GLOBAL], 8);
}

static void atomics(void)
{
  struct kr_counters c =
      count("__global__ void k(const float *a, float *o) { atomicAdd(&o[threadIdx.x & 7], 1.0f); }",
            16, 1, 64, 1);
  CHECK_IS(c.atomics.requests, 32);
  CHECK_IS(c.atomics.sectors, 32);
  CHECK_IS(c.atomic_passes, 32 * 4);
  CHECK_IS(c.hottest_atomic, 16 * 8);
  c = count("__global__ void k(const float *a, float *o) { __shared__ int s[32];\n"
            " atomicAdd(&s[threadIdx.x & 3], 1); __syncthreads(); o[threadIdx.x] = s[threadIdx.x & 3]; }",
            1, 1, 32, 1);
  CHECK_IS(c.inst[KR_INST_ATOMIC_SHARED], 1);
  CHECK_IS(c.shared_atomic_passes, 8);
}

// A grid too large for the budget: sampled, scaled, and the same each time.
static void sampling(void)
{
  static const char code[] =
      "__global__ void k(const float *a, float *o) { float s = 0;\n"
      " int r = blockIdx.y, q = blockIdx.x * 64 + threadIdx.x;\n"
      " for (int i = 0; i < 512; i++) s += a[r * 512 + i] * a[i * 512 + q]; o[r * 512 + q] = s; }";
  struct kit k;
  struct kr_counters c, again;
  struct kr_run_result r;
  struct kr_count_options o = launch(8, 512, 64, 1);
  o.budget_ms = 20;
  kit_begin(&k, "k");
  kit_buffer(&k, "a", KR_IN, 4, N, zeros);
  kit_buffer(&k, "o", KR_OUT, 4, N, NULL);
  CHECK_INT(count_on(&k, code, o, &c, &r), 0);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(c.sampled && c.blocks == 4096 && c.blocks_counted >= 4 && c.blocks_counted < 4096);
  CHECK_IS(c.loads.requests, 4096.0 * 2 * 2 * 512);
  CHECK_IS(c.stores.requests, 4096.0 * 2);
  CHECK_IS(c.stores.footprint, 4.0 * N);
  CHECK_IS(c.loads.footprint, 4.0 * N);
  // Blocks of a row share its line of the left matrix.
  CHECK(c.loads.window[3] <= 1.01 * 4 * N);
  CHECK_INT(count_on(&k, code, o, &again, &r), 0);
  CHECK(!memcmp(&c, &again, sizeof c));
  o.max_blocks = 2;
  CHECK_INT(count_on(&k, code, o, &again, &r), 0);
  CHECK_INT(again.blocks_counted, 2);
  CHECK_IS(again.loads.requests, c.loads.requests);
  kit_end(&k);
}

// Blocks that do much more than others, a column of the grid of any width: what is
// sampled is like the whole.
static void sampling_is_fair(void)
{
  static const char code[] =
      "__global__ void k(const float *a, float *o) { float s = 0;\n"
      " int r = blockIdx.y, q = blockIdx.x * 64 + threadIdx.x;\n"
      " int n = blockIdx.x % 4 == 1 ? 2048 : 64;\n"
      " for (int i = 0; i < n; i++) s += a[(r + i) % 512 * 512 + q % 512]; o[(r % 512) * 512 + q % 512] = s; }";
  for (unsigned wide = 4; wide <= 12; wide += 4) {
    struct kit k;
    struct kr_counters c;
    struct kr_run_result r;
    struct kr_count_options o = launch(wide, 4096 / wide, 64, 1);
    o.budget_ms = 20;
    kit_begin(&k, "k");
    kit_buffer(&k, "a", KR_IN, 4, N, zeros);
    kit_buffer(&k, "o", KR_OUT, 4, N, NULL);
    CHECK_INT(count_on(&k, code, o, &c, &r), 0);
    CHECK_INT(r.status, KR_RUN_OK);
    CHECK(c.sampled && c.blocks_counted < c.blocks / 2);
    double loads = (double)c.blocks / 4 * (2048 + 3 * 64) * 2;
    CHECK(fabs(c.loads.requests / loads - 1) < 0.2);
    if (!(fabs(c.loads.requests / loads - 1) < 0.2))
      fprintf(stderr, "%u wide: %g of %g, %g of %g blocks\n", wide, c.loads.requests, loads,
              (double)c.blocks_counted, (double)c.blocks);
    kit_end(&k);
  }
}

static void refusals(void)
{
  static const struct {
    const char *code, *says;
  } cases[] = {
      {"__global__ void k(const float *a, float *o) { int n = (int)a[0] + 5; char b[64];\n"
       " for (int i = 0; i < 64; i++) b[i] = (char)a[i];\n"
       " memcpy(o, b, n); }", "memcpy"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct kit k;
    struct kr_counters c;
    struct kr_run_result r;
    kit_begin(&k, "k");
    kit_buffer(&k, "a", KR_IN, 4, N, zeros);
    kit_buffer(&k, "o", KR_OUT, 4, N, NULL);
    CHECK_INT(count_on(&k, cases[i].code, launch(1, 1, 32, 1), &c, &r), 0);
    CHECK_INT(r.status, KR_RUN_UNSUPPORTED);
    CHECK(strstr(r.text, cases[i].says) && strstr(r.text, "not there yet"));
    kit_end(&k);
  }
}

static void faults(void)
{
  static const struct {
    const char *code, *says;
  } cases[] = {
      {"__global__ void k(const float *a, float *o) { o[(int)a[0] + 10000000] = 1; }", "writes"},
      // The trace itself, and the registers of the thread.
      {"__global__ void k(const float *a, float *o) { unsigned long long p = 0x400000000000ull;\n"
       " if (a[0] == 0) p += 8; *(float *)p = 1; }", "not its own"},
      {"__global__ void k(const float *a, float *o) {\n"
       " o[threadIdx.x] = *(volatile unsigned long long *)0xf0000000048ull != 0; }", "not its own"},
      // Nothing tells that code is counted.
      {"#if defined KR_COUNTED || defined KR_FAST || __has_feature(undefined_behavior_sanitizer)\n"
       "#error counted\n#endif\n"
       "__global__ void k(const float *a, float *o) { o[(int)a[0] + 10000000] = 1; }", "writes"},
      {"#if !__has_feature(undefined_behavior_sanitizer)\n"
       "__global__ void k(const float *a, float *o) { o[(int)a[0] + 10000000] = 1; }\n#endif",
       "writes"},
      {"extern \"C\" void __kr_trace_full(); __global__ void k(const float *a, float *o) {\n"
       " __kr_trace_full(); }", "reserved"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct kit k;
    struct kr_counters c;
    struct kr_run_result r;
    kit_begin(&k, "k");
    kit_buffer(&k, "a", KR_IN, 4, N, zeros);
    kit_buffer(&k, "o", KR_OUT, 4, N, NULL);
    if (kit_compile(&k, cases[i].code)) {
      CHECK(strstr(k.log.data, cases[i].says) != NULL);
    } else {
      CHECK_INT(count_on(&k, cases[i].code, launch(1, 1, 32, 1), &c, &r), 0);
      CHECK_INT(r.status, KR_RUN_FAULT);
      if (!strstr(r.text, cases[i].says))
        fprintf(stderr, "%s\n", r.text);
      CHECK(strstr(r.text, cases[i].says) != NULL);
    }
    kit_end(&k);
  }
}

// Races that are there are found, and no others.
static void races(void)
{
#define REDUCE(sync, volatile)                                                                     \
  "__global__ void k(const float *a, float *o) { __shared__ " volatile " float s[64];\n"           \
  " int t = threadIdx.x; s[t] = a[t]; __syncthreads();\n"                                          \
  " if (t < 32) { for (int d = 32; d; d /= 2) { float v = s[t + d]; " sync "\n"                    \
  "   if (t + d < 64) s[t] += v; " sync " } }\n"                                                   \
  " if (t == 0) o[blockIdx.x] = s[0]; }"
#define TILES(first, second)                                                                       \
  "__global__ void k(const float *a, float *o) { __shared__ float s[16][16], u[16][16];\n"         \
  " int x = threadIdx.x, y = threadIdx.y; float acc = 0;\n"                                        \
  " for (int t = 0; t < 4; t++) {\n"                                                               \
  "  s[y][x] = a[y * 64 + t * 16 + x]; u[y][x] = a[(t * 16 + y) * 64 + x]; " first "\n"            \
  "  for (int i = 0; i < 16; i++) acc += s[y][i] * u[i][x];\n"                                     \
  "  " second " }\n"                                                                               \
  " o[y * 16 + x] = acc; }"
  static const struct {
    const char *what, *code, *says; // NULL: clean
    unsigned grid, bx, by;
  } cases[] = {
      {"tiles", TILES("__syncthreads();", "__syncthreads();"), NULL, 1, 16, 16},
      {"no barrier behind the fill", TILES("", "__syncthreads();"), "__shared__ variable", 1, 16, 16},
      {"no barrier before the fill", TILES("__syncthreads();", ""), "__shared__ variable", 1, 16, 16},
      {"a warp reduces, met", REDUCE("__syncwarp();", ""), NULL, 4, 64, 1},
      {"a warp reduces, unmet", REDUCE("", ""), "race at byte", 4, 64, 1},
      {"all add to one", "__global__ void k(const float *a, float *o) {\n"
       " o[0] += a[threadIdx.x]; }", "element 0 of `o`", 1, 64, 1},
      {"all add to one, atomically", "__global__ void k(const float *a, float *o) {\n"
       " atomicAdd(o, a[threadIdx.x]); }", NULL, 4, 64, 1},
      {"blocks at the edge", "__global__ void k(const float *a, float *o) {\n"
       " int i = blockIdx.x * 64 + threadIdx.x; o[i] = a[i]; if (threadIdx.x == 63) o[i + 1] = 0; }",
       "of another block", 4, 64, 1},
      {"blocks side by side", "__global__ void k(const float *a, float *o) {\n"
       " int i = blockIdx.x * 64 + threadIdx.x; o[i] = a[i]; __syncthreads();\n"
       " o[i] += o[blockIdx.x * 64 + (threadIdx.x + 1) % 64 / 64]; }", "element", 4, 64, 1},
      {"bytes side by side", "__global__ void k(const float *a, float *o) {\n"
       " int i = blockIdx.x * 64 + threadIdx.x; ((char *)o)[i] = (char)a[i]; }", NULL, 4, 64, 1},
      {"halves of a warp", "__global__ void k(const float *a, float *o) { __shared__ float s[64];\n"
       " int t = threadIdx.x; unsigned m = t % 32 < 16 ? 0xffffu : 0xffff0000u; s[t] = a[t];\n"
       " for (int i = 0; i < 20; i++) { __syncwarp(m); float v = s[t ^ 1]; __syncwarp(m); s[t] = v; }\n"
       " o[t] = s[t]; }", NULL, 1, 64, 1},
      {"shared atomics", "__global__ void k(const float *a, float *o) { __shared__ int s[8];\n"
       " if (threadIdx.x < 8) s[threadIdx.x] = 0; __syncthreads();\n"
       " atomicAdd(&s[threadIdx.x & 7], 1); __syncthreads(); o[threadIdx.x] = s[threadIdx.x & 7]; }",
       NULL, 1, 64, 1},
      {"dynamic memory", "__global__ void k(const float *a, float *o) {\n"
       " extern __shared__ float s[]; s[threadIdx.x] = a[threadIdx.x];\n"
       " o[threadIdx.x] = s[63 - threadIdx.x]; }", "dynamic shared memory", 1, 64, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct kit k;
    struct kr_counters c;
    struct kr_run_result r;
    struct kr_count_options o = launch(cases[i].grid, 1, cases[i].bx, cases[i].by);
    o.races = true;
    o.launch.shared_bytes = strstr(cases[i].code, "extern") ? 256 : 0;
    kit_begin(&k, "k");
    kit_buffer(&k, "a", KR_IN, 4, N, zeros);
    kit_buffer(&k, "o", KR_INOUT, 4, 512, zeros);
    CHECK_INT(count_on(&k, cases[i].code, o, &c, &r), 0);
    bool right = cases[i].says ? r.status == KR_RUN_FAULT && strstr(r.text, "race") &&
                                     strstr(r.text, cases[i].says) && strstr(r.text, "line ")
                               : r.status == KR_RUN_OK;
    if (!right)
      fprintf(stderr, "%s: %s\n", cases[i].what, r.text);
    CHECK(right);
    kit_end(&k);
  }
  // Both sites are named.
  struct kit k;
  struct kr_counters c;
  struct kr_run_result r;
  struct kr_count_options o = launch(1, 1, 64, 1);
  o.races = true;
  kit_begin(&k, "k");
  kit_buffer(&k, "a", KR_IN, 4, N, zeros);
  kit_buffer(&k, "o", KR_INOUT, 4, 512, zeros);
  CHECK_INT(count_on(&k, "__global__ void k(const float *a, float *o) {\n"
                         " __shared__ float s[64];\n"
                         " s[threadIdx.x] = a[threadIdx.x];\n"
                         "\n"
                         " o[threadIdx.x] = s[63 - threadIdx.x]; }", o, &c, &r), 0);
  CHECK(strstr(r.text, "line 5") && strstr(r.text, "line 3"));
  kit_end(&k);
}

// What a counted launch writes stays where it is.
static void nothing_is_left(void)
{
  struct kit k;
  struct kr_counters c;
  struct kr_run_result r;
  struct kr_dataset *d = NULL;
  struct kr_count_options o = launch(4, 1, 64, 1);
  kit_begin(&k, "k");
  size_t b = kit_buffer(&k, "a", KR_INOUT, 4, 256, zeros);
  kit_launch(&k, 4, 64, 0);
  CHECK_INT(kit_compile(&k, "__global__ void k(float *a) {\n"
                            " int i = blockIdx.x * 64 + threadIdx.x; if (a[i] == 0) a[i] = 1; }"), 0);
  CHECK_INT(kr_backend_cpu.load(kit_device, &k.in, &d, &k.err), 0);
  for (int i = 0; i < 2; i++) {
    CHECK_INT(kr_backend_cpu.count(kit_device, k.m, d, &o, &c, &r, &k.err), 0);
    CHECK_IS(c.stores.requests, 8);
  }
  CHECK_INT(kr_backend_cpu.run(kit_device, k.m, d, &k.options, &k.r, &k.err), 0);
  CHECK(kit_ok(&k) && k.r.after[b] && KIT_OUT(k, b, float)[7] == 1);
  kr_backend_cpu.dataset_free(kit_device, d);
  kit_end(&k);
}

int main(void)
{
  zeros = kr_xcalloc(N, sizeof *zeros);
  copies();
  odd_lengths();
  transposes();
  reductions();
  softmax();
  matmul();
  divergence();
  long_loops();
  chains();
  instructions();
  functions();
  spaces();
  atomics();
  sampling();
  sampling_is_fair();
  refusals();
  faults();
  races();
  nothing_is_left();
  free(zeros);
  kr_backend_cpu.close(kit_device);
  return unit_end();
}
