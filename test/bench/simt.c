// What SIMT on the CPU costs: a barrier, and tiled products of 1024 x 1024 matrices run
// plain, counted whole, and counted with the look-out for races. Processor time of
// the running process; a line each, with the bound it is held to. Returns 1 when
// one is missed.
#include "evaluator/cpu_kit.h"

enum { SIDE = 1024, TIMES = 2 };

static int missed;

static void line(const char *what, double got, double bound, const char *unit)
{
  int ok = got <= bound;
  missed |= !ok;
  printf("%-28s %10.2f %-12s at most %g%s\n", what, got, unit, bound, ok ? "" : "  MISSED");
}

static double least(double a, double b) { return a < b ? a : b; }

static double run_ms(struct kit *k)
{
  double best = 1e30;
  k->options.timeout_ms = 300000;
  for (int i = 0; i < TIMES; i++) {
    kit_go(k, "");
    if (!kit_ok(k))
      exit(1);
    best = least(best, k->r.cpu_ms);
  }
  return best;
}

static double count_ms(struct kit *k, bool races)
{
  double best = 1e30;
  for (int i = 0; i < TIMES; i++) {
    struct kr_dataset *d = NULL;
    struct kr_counters c;
    struct kr_run_result r;
    struct kr_count_options o = {.launch = k->options.launch, .budget_ms = 1 << 20,
                                 .max_blocks = 1 << 20, .races = races};
    if (kr_backend_cpu.load(kit_device, &k->in, &d, &k->err) ||
        kr_backend_cpu.count(kit_device, k->m, d, &o, &c, &r, &k->err) ||
        r.status != KR_RUN_OK || c.sampled) {
      printf("%s %s\n", k->err.text, r.text);
      exit(1);
    }
    best = least(best, r.cpu_ms);
    kr_backend_cpu.dataset_free(kit_device, d);
  }
  return best;
}

static void barrier(unsigned block)
{
  struct kit k;
  double ms[2];
  char what[40];
  for (int i = 0; i < 2; i++) {
    kit_begin(&k, "k");
    kit_int(&k, i ? 40001 : 1);
    kit_buffer(&k, "o", KR_OUT, 4, block, NULL);
    kit_launch(&k, 1, block, 0);
    if (kit_compile(&k, "__global__ void k(int n, int *o) {\n"
                        " for (int i = 0; i < n; i++) __syncthreads(); o[threadIdx.x] = n; }"))
      exit(1);
    ms[i] = run_ms(&k);
    kit_end(&k);
  }
  snprintf(what, sizeof what, "barrier, block of %u", block);
  line(what, (ms[1] - ms[0]) * 1e6 / (40000.0 * block), 10, "ns/arrival");
}

static void product(int tile)
{
  struct kit k;
  char code[2048], what[40];
  float *x = kr_xcalloc(SIDE * SIDE, sizeof *x);
  snprintf(code, sizeof code,
           "enum { T = %d };\n"
           "__global__ void k(const float *a, const float *b, float *c, int n) {\n"
           "  __shared__ float s[T][T], u[T][T];\n"
           "  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y;\n"
           "  int col = blockIdx.x * T + x; float acc = 0;\n"
           "  for (int t = 0; t < n / T; t++) {\n"
           "    s[y][x] = a[row * n + t * T + x]; u[y][x] = b[(t * T + y) * n + col];\n"
           "    __syncthreads();\n"
           "    for (int i = 0; i < T; i++) acc += s[y][i] * u[i][x];\n"
           "    __syncthreads(); }\n"
           "  c[row * n + col] = acc; }\n", tile);
  kit_begin(&k, "k");
  kit_buffer(&k, "a", KR_IN, 4, SIDE * SIDE, x);
  kit_buffer(&k, "b", KR_IN, 4, SIDE * SIDE, x);
  kit_buffer(&k, "c", KR_OUT, 4, SIDE * SIDE, NULL);
  kit_int(&k, SIDE);
  unsigned t = (unsigned)tile, g = SIDE / t;
  k.options.launch = (struct kr_launch){{g, g, 1}, {t, t, 1}, 0, false};
  if (kit_compile(&k, code))
    exit(1);
  double plain = run_ms(&k);
  snprintf(what, sizeof what, "product, tile %d", tile);
  line(what, plain / 1e3, 3, "s");
  snprintf(what, sizeof what, "product, tile %d, counted", tile);
  line(what, count_ms(&k, false) / plain, 6, "x plain");
  snprintf(what, sizeof what, "product, tile %d, races", tile);
  line(what, count_ms(&k, true) / plain, 10, "x plain");
  kit_end(&k);
  free(x);
}

int main(void)
{
  kit_open();
  barrier(256);
  barrier(1024);
  product(16);
  product(32);
  kr_backend_cpu.close(kit_device);
  return missed;
}
