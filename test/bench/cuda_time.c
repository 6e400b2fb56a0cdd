// Times of kernels against themselves and against faster ones, as the cuda back
// end takes them, and what a judgement costs. Usage: cuda_time [processes]
//
// Every line is one pair: the geometric mean over processes of a process's
// median ratio, the spread of that over processes, and the time spent. Each
// process is fresh, as in a confirmation.
#include <time.h>

#include "evaluator/base/log.h"
#include "../evaluator/cuda_sample.h"

static const char saxpy_text[] =
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }\n";
static const char saxpy4_text[] =
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (4 * i < n) {\n"
    "  float4 v = ((const float4 *)x)[i], w = ((float4 *)y)[i];\n"
    "  w.x += a * v.x; w.y += a * v.y; w.z += a * v.z; w.w += a * v.w; ((float4 *)y)[i] = w; } }\n";
static const char transpose_text[] =
    "__global__ void transpose(int n, float *out, const float *in)\n"
    "{ __shared__ float t[32][32 + PAD];\n"
    "  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"
    "  for (int k = 0; k < 32; k += 8) t[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];\n"
    "  __syncthreads();\n"
    "  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;\n"
    "  for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = t[threadIdx.x][threadIdx.y + k]; }\n";

struct line {
  const char *label;
  int n;
  const char *a, *b;
  unsigned per_thread_b;
  bool transpose;
  bool fixed; // offsets of the copies
};

static const struct line lines[] = {
    {"saxpy 4 Ki / itself", 1 << 12, saxpy_text, saxpy_text, 1, false, false},
    {"saxpy 64 Ki / itself", 1 << 16, saxpy_text, saxpy_text, 1, false, false},
    {"saxpy 1 Mi / itself", 1 << 20, saxpy_text, saxpy_text, 1, false, false},
    {"saxpy 1 Mi / float4", 1 << 20, saxpy_text, saxpy4_text, 4, false, false},
    {"saxpy 16 Mi / itself", 1 << 24, saxpy_text, saxpy_text, 1, false, false},
    {"saxpy 16 Mi / float4", 1 << 24, saxpy_text, saxpy4_text, 4, false, false},
    {"saxpy 512 Mi / itself", 1 << 29, saxpy_text, saxpy_text, 1, false, false},
    {"transpose 2048 / padded", 2048, transpose_text, transpose_text, 1, true, false},
    {"  the same, fixed offsets", 2048, transpose_text, transpose_text, 1, true, true},
};

static void line_sample(const struct line *l, struct sample *s)
{
  int64_t n = l->transpose ? (int64_t)l->n * l->n : l->n;
  float *x = sample_floats((size_t)n, 1, 1e-6f);
  sample_init(s, l->transpose ? "transpose" : "saxpy");
  sample_int(s, l->n);
  if (l->transpose) {
    sample_pointer(s, KR_OUT, 4, n, NULL);
    sample_pointer(s, KR_IN, 4, n, x);
  } else {
    sample_float(s, 1e-3f);
    sample_pointer(s, KR_IN, 4, n, x);
    sample_pointer(s, KR_INOUT, 4, n, x);
  }
  free(x);
}

static struct kr_launch line_launch(const struct line *l, unsigned per_thread)
{
  if (l->transpose)
    return (struct kr_launch){.grid = {(unsigned)l->n / 32, (unsigned)l->n / 32, 1},
                              .block = {32, 8, 1}};
  unsigned per_block = 256 * per_thread;
  return sample_launch(((unsigned)l->n + per_block - 1) / per_block, 256, 0);
}

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
  qsort(v, n, sizeof *v, compare_doubles);
  return n ? v[n / 2] : 0;
}

static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// What a process reports of a line.
struct figures {
  double a_us, b_us, ratio, warm_ratio, ms;
  unsigned copies, launches;
  char note[128];
};

static void measure(const struct line *l, struct kr_device *dev, uint64_t seed, struct figures *f)
{
  struct sample s;
  struct kr_err err = {0};
  struct kr_dataset *d = NULL;
  struct kr_time_result r;
  line_sample(l, &s);
  s.flags[0] = (char *)(uintptr_t)"-DPAD=0";
  s.contract.n_flags = 1;
  struct kr_module *a = sample_compile(dev, &s, l->a);
  if (l->transpose)
    s.flags[0] = (char *)(uintptr_t)"-DPAD=1";
  struct kr_module *b = sample_compile(dev, &s, l->b);
  struct kr_time_options o = {.pairs = 60, .seed = seed, .random_offsets = !l->fixed,
                              .budget_ms = 2000, .launch_a = line_launch(l, 1),
                              .launch_b = line_launch(l, l->per_thread_b)};
  if (kr_backend_cuda.load(dev, &s.in, &d, &err))
    goto fail;
  double start = now_ms();
  if (kr_backend_cuda.time(dev, a, b, d, &o, &r, &err))
    goto fail;
  f->ms = now_ms() - start;
  // The mean, as a confirmation takes it, of the logarithm of each block's ratio.
  double sum = 0;
  for (size_t i = 0; i < r.n; i++)
    sum += log(r.a_us[i] / r.b_us[i]);
  f->ratio = exp(sum / (double)r.n);
  f->warm_ratio = r.warm_b_us > 0 ? r.warm_a_us / r.warm_b_us : 0;
  f->a_us = median(r.a_us, r.n);
  f->b_us = median(r.b_us, r.n);
  f->copies = r.copies;
  f->launches = r.launches_a_batch;
  snprintf(f->note, sizeof f->note, "%s", r.note);
  kr_time_result_release(&r);
  kr_backend_cuda.dataset_free(dev, d);
  kr_backend_cuda.module_free(dev, a);
  kr_backend_cuda.module_free(dev, b);
  sample_release(&s);
  return;
fail:
  fprintf(stderr, "%s: %s\n", l->label, err.text);
  _exit(1);
}

// All lines in a process of its own; the big one only in the first.
static int one_process(int index, struct figures *out)
{
  int pipes[2];
  size_t n = sizeof lines / sizeof *lines;
  if (pipe(pipes))
    return -1;
  pid_t pid = fork();
  if (!pid) {
    struct figures f[sizeof lines / sizeof *lines] = {0};
    struct kr_device *dev = sample_open();
    for (size_t i = 0; i < n; i++)
      if (index == 0 || lines[i].n < 1 << 26)
        measure(&lines[i], dev, (uint64_t)index * 1000 + i + 1, &f[i]);
    _exit(write(pipes[1], f, sizeof f) != sizeof f);
  }
  close(pipes[1]);
  size_t got = 0, want = n * sizeof *out;
  ssize_t r;
  while (got < want && (r = read(pipes[0], (char *)out + got, want - got)) > 0)
    got += (size_t)r;
  close(pipes[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return status || got != want ? -1 : 0;
}

// What one candidate costs in a warm worker: compile, a check, search timing.
static void judgement(void)
{
  struct kr_device *dev = sample_open();
  struct line l = lines[3];
  struct sample s;
  struct kr_err err = {0};
  struct kr_dataset *d = NULL;
  double total[15], compile[15], runs[15], time[15];
  line_sample(&l, &s);
  struct kr_module *a = sample_compile(dev, &s, l.a);
  if (kr_backend_cuda.load(dev, &s.in, &d, &err))
    _exit(1);
  for (int i = 0; i < 15; i++) {
    char text[2048];
    snprintf(text, sizeof text, "// candidate %d\n%s", i, l.b);
    double t0 = now_ms();
    struct kr_module *b = sample_compile(dev, &s, text);
    double t1 = now_ms();
    for (int p = 0; p < 3; p++) {
      struct kr_run_result r;
      struct kr_run_options o = {.launch = line_launch(&l, 4), .placement = (enum kr_placement)p,
                                 .poison = 0xff};
      if (kr_backend_cuda.run(dev, b, d, &o, &r, &err))
        _exit(1);
      kr_run_result_release(&r);
    }
    double t2 = now_ms();
    struct kr_time_options o = {.pairs = 30, .seed = (uint64_t)i, .launch_a = line_launch(&l, 1),
                                .launch_b = line_launch(&l, 4), .budget_ms = 400};
    struct kr_time_result r;
    if (kr_backend_cuda.time(dev, a, b, d, &o, &r, &err))
      _exit(1);
    kr_time_result_release(&r);
    kr_backend_cuda.module_free(dev, b);
    double t3 = now_ms();
    total[i] = t3 - t0;
    compile[i] = t1 - t0;
    runs[i] = t2 - t1;
    time[i] = t3 - t2;
  }
  printf("one candidate, saxpy 1 Mi, warm, median of 15: %.1f ms (compile %.1f, 3 runs %.1f, "
         "time %.1f)\n",
         median(total, 15), median(compile, 15), median(runs, 15), median(time, 15));
  fflush(stdout);
  _exit(0);
}

static void show_log(enum kr_log_level level, const char *stage, const char *text, void *arg)
{
  (void)level;
  (void)arg;
  fprintf(stderr, "%s: %s\n", stage ? stage : "", text);
}

int main(int argc, char **argv)
{
  int processes = argc > 1 ? atoi(argv[1]) : 5;
  size_t n = sizeof lines / sizeof *lines;
  if (processes < 1)
    processes = 1;
  if (getenv("KEVIN_BENCH_LOG"))
    kr_log_install(show_log, NULL, "all");
  struct figures *all = kr_xcalloc((size_t)processes * n, sizeof *all);
  for (int p = 0; p < processes; p++)
    if (one_process(p, all + (size_t)p * n)) {
      fprintf(stderr, "a process failed\n");
      return 1;
    }
  printf("%-24s %9s %9s %8s %8s %8s %7s %6s %8s\n", "pair", "a us", "b us", "ratio", "sd %",
         "warm", "copies", "batch", "ms");
  for (size_t i = 0; i < n; i++) {
    double sum = 0, squares = 0, ms = 0;
    int count = 0;
    struct figures *first = &all[i];
    for (int p = 0; p < processes; p++) {
      struct figures *f = &all[(size_t)p * n + i];
      if (f->ratio <= 0)
        continue;
      count++;
      sum += log(f->ratio);
      squares += log(f->ratio) * log(f->ratio);
      ms += f->ms;
      if (*f->note && p == 0)
        printf("note: %s\n", f->note);
    }
    double mean = sum / count;
    double sd = count > 1 ? sqrt(fmax(0, (squares - count * mean * mean) / (count - 1))) : 0;
    printf("%-24s %9.2f %9.2f %8.4f %8.3f %8.3f %7u %6u %8.1f\n", lines[i].label, first->a_us,
           first->b_us, exp(mean), 100 * sd, first->warm_ratio, first->copies, first->launches,
           ms / count);
    printf("    ratios:");
    for (int p = 0; p < processes; p++)
      if (all[(size_t)p * n + i].ratio > 0)
        printf(" %.4f", all[(size_t)p * n + i].ratio);
    printf("\n");
  }
  fflush(NULL);
  pid_t pid = fork();
  if (!pid)
    judgement();
  int status = 0;
  waitpid(pid, &status, 0);
  free(all);
  return status != 0;
}
