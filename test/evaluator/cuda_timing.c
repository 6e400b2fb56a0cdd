// RUN: %unit/cuda_timing
// REQUIRES: cuda-device, cuda-build
#include "cuda_sample.h"

static const char saxpy_text[] =
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }\n";
static const char saxpy4_text[] =
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (4 * i < n) {\n"
    "  float4 v = ((const float4 *)x)[i], w = ((float4 *)y)[i];\n"
    "  w.x += a * v.x; w.y += a * v.y; w.z += a * v.z; w.w += a * v.w; ((float4 *)y)[i] = w; } }\n";

static void saxpy_sample(struct sample *s, int n)
{
  float *x = sample_floats((size_t)n, 1, 1e-6f), *y = sample_floats((size_t)n, 0.5f, -1e-6f);
  sample_init(s, "saxpy");
  sample_int(s, n);
  sample_float(s, 2);
  sample_pointer(s, KR_IN, 4, n, x);
  sample_pointer(s, KR_INOUT, 4, n, y);
  free(x);
  free(y);
}

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_ratio(const struct kr_time_result *r)
{
  double *q = kr_xmalloc((r->n ? r->n : 1) * sizeof *q);
  for (size_t i = 0; i < r->n; i++)
    q[i] = r->a_us[i] / r->b_us[i];
  qsort(q, r->n, sizeof *q, compare_doubles);
  double m = r->n ? q[r->n / 2] : 0;
  free(q);
  return m;
}

static struct kr_time_result time_them(struct kr_device *dev, struct kr_module *a,
                                       struct kr_module *b, struct kr_dataset *d,
                                       const struct kr_time_options *o)
{
  struct kr_err err = {0};
  struct kr_time_result r;
  if (kr_backend_cuda.time(dev, a, b, d, o, &r, &err)) {
    fprintf(stderr, "time: %s\n", err.text);
    _exit(1);
  }
  return r;
}

static struct kr_dataset *load(struct kr_device *dev, struct sample *s)
{
  struct kr_err err = {0};
  struct kr_dataset *d = NULL;
  if (kr_backend_cuda.load(dev, &s->in, &d, &err)) {
    fprintf(stderr, "load: %s\n", err.text);
    _exit(1);
  }
  return d;
}

static void a_kernel_is_as_fast_as_itself(void)
{
  struct kr_device *dev = sample_open();
  static const int sizes[] = {1000, 1 << 16, 1 << 20, 1 << 24};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    int n = sizes[k];
    struct sample s;
    saxpy_sample(&s, n);
    struct kr_module *a = sample_compile(dev, &s, saxpy_text);
    struct kr_module *b = sample_compile(dev, &s, saxpy_text);
    struct kr_dataset *d = load(dev, &s);
    struct kr_time_options o = {.pairs = 40, .seed = 7 + k, .random_offsets = k & 1,
                                .keep_after = true};
    o.launch_a = o.launch_b = sample_launch((unsigned)(n + 255) / 256, 256, 0);
    struct kr_time_result r = time_them(dev, a, b, d, &o);
    CHECK_INT(r.n, 40);
    CHECK(r.cold && r.copies >= 2 && r.launches_a_batch >= 1);
    CHECK_NEAR(median_ratio(&r), 1, 0.02);
    CHECK(r.a_us[0] > 0.5 && r.a_us[0] < 1000);
    CHECK(r.warm_a_us > 0.3 && r.warm_b_us > 0.3);
    // No faster than memory allows: 12 bytes an element, cold.
    if (n >= 1 << 20)
      CHECK(r.a_us[20] * 1e-6 > 12.0 * n / kr_backend_cuda.facts(dev)->peak_bytes_per_s);
    // What it computed while it was timed is what it computes.
    int wrong = 0;
    const float *x = (float *)s.buffers[0].init, *y = (float *)s.buffers[1].init;
    CHECK(r.a_after && r.b_after && !r.a_after[0] && r.a_after[1]);
    for (int i = 0; i < n; i++) {
      float want = fmaf(2, x[i], y[i]);
      wrong += ((float *)r.a_after[1])[i] != want || ((float *)r.b_after[1])[i] != want;
    }
    CHECK_INT(wrong, 0);
    kr_time_result_release(&r);
    kr_backend_cuda.dataset_free(dev, d);
    kr_backend_cuda.module_free(dev, a);
    kr_backend_cuda.module_free(dev, b);
    sample_release(&s);
  }
  kr_backend_cuda.close(dev);
}

static void twice_the_work_takes_twice_the_time(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  sample_int(&s, 0);
  sample_pointer(&s, KR_OUT, 4, 4096, NULL);
  static const char text[] =
      "__global__ void k(int n, unsigned *y)\n"
      "{ unsigned v = threadIdx.x + n; for (int i = 0; i < ROUNDS; i++) v = v * 1664525u + (v >> 7);\n"
      "  y[blockIdx.x * blockDim.x + threadIdx.x] = v; }\n";
  static const struct {
    const char *once, *twice;
  } rounds[] = {{"-DROUNDS=20000", "-DROUNDS=40000"}, {"-DROUNDS=1000000", "-DROUNDS=2000000"}};
  for (size_t k = 0; k < 2; k++) { // in graphs, and as single launches
    s.contract.n_flags = 1;
    s.flags[0] = (char *)(uintptr_t)rounds[k].twice;
    struct kr_module *a = sample_compile(dev, &s, text);
    s.flags[0] = (char *)(uintptr_t)rounds[k].once;
    struct kr_module *b = sample_compile(dev, &s, text);
    struct kr_dataset *d = load(dev, &s);
    struct kr_time_options o = {.pairs = 5, .seed = 3};
    o.launch_a = o.launch_b = sample_launch(16, 256, 0);
    struct kr_time_result r = time_them(dev, a, b, d, &o);
    CHECK_NEAR(median_ratio(&r), 2, 0.02);
    CHECK(k == 0 ? r.launches_a_batch > 1 : r.launches_a_batch == 1);
    printf("%.1f us, %u launches a batch\n", r.b_us[0], r.launches_a_batch);
    kr_time_result_release(&r);
    kr_backend_cuda.dataset_free(dev, d);
  }
  kr_backend_cuda.close(dev);
}

static void the_budget_ends_it(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  int n = 1 << 24;
  saxpy_sample(&s, n);
  struct kr_module *a = sample_compile(dev, &s, saxpy_text);
  struct kr_module *b = sample_compile(dev, &s, saxpy4_text);
  struct kr_dataset *d = load(dev, &s);
  struct kr_time_options o = {.pairs = 100000, .budget_ms = 50, .seed = 3};
  o.launch_a = sample_launch((unsigned)n / 256, 256, 0);
  o.launch_b = sample_launch((unsigned)n / 1024, 256, 0);
  struct kr_time_result r = time_them(dev, a, b, d, &o);
  CHECK(r.n >= 3 && r.n < 1000);
  CHECK(median_ratio(&r) > 1.05);
  CHECK(r.a_after == NULL || r.a_after[1] == NULL); // large, and not asked for
  kr_time_result_release(&r);
  kr_backend_cuda.close(dev);
}

static void what_cannot_be_timed_is_told(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  struct kr_err err = {0};
  struct kr_time_result r;
  saxpy_sample(&s, 1000);
  struct kr_module *a = sample_compile(dev, &s, saxpy_text);
  struct kr_dataset *d = load(dev, &s);
  struct kr_time_options o = {.pairs = 5};
  o.launch_a = sample_launch(4, 256, 0);
  o.launch_b = sample_launch(0, 256, 0);
  CHECK_INT(kr_backend_cuda.time(dev, a, a, d, &o, &r, &err), -1);
  CHECK(strstr(err.text, "empty grid") != NULL);
  o.launch_b = sample_launch(4, 256, 64 << 10);
  CHECK_INT(kr_backend_cuda.time(dev, a, a, d, &o, &r, &err), -1);
  CHECK(strstr(err.text, "shared memory") != NULL);
  CHECK(!r.device_lost);
  o.launch_b = sample_launch(4, 256, 0);
  r = time_them(dev, a, a, d, &o);
  CHECK_INT(r.n, 5);
  kr_time_result_release(&r);
  struct kr_module *bad = sample_compile(
      dev, &s, "__global__ void saxpy(int n, float a, const float *x, float *y) { __trap(); }\n");
  CHECK_INT(kr_backend_cuda.time(dev, a, bad, d, &o, &r, &err), -1);
  CHECK(r.device_lost);
  kr_backend_cuda.close(dev);
}

int main(void)
{
  IN_CHILD(a_kernel_is_as_fast_as_itself);
  IN_CHILD(twice_the_work_takes_twice_the_time);
  IN_CHILD(the_budget_ends_it);
  IN_CHILD(what_cannot_be_timed_is_told);
  return unit_end();
}
