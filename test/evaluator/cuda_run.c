// RUN: %unit/cuda_run
// REQUIRES: cuda-device, cuda-build
#include "cuda_sample.h"

static const char saxpy_text[] =
    "#include <cstdio>\n"
    "__global__ void saxpy(int n, float a, const float *x, float *y)\n"
    "{\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

static void saxpy_sample(struct sample *s, int n)
{
  float *x = sample_floats((size_t)n, 1, 1), *y = sample_floats((size_t)n, 0.5f, -1);
  sample_init(s, "saxpy");
  sample_int(s, n);
  sample_float(s, 2);
  sample_pointer(s, KR_IN, 4, n, x);
  sample_pointer(s, KR_INOUT, 4, n, y);
  free(x);
  free(y);
}

// One launch; the caller releases the result.
static struct kr_run_result run(struct kr_device *dev, struct kr_module *m, struct sample *s,
                                struct kr_launch launch, enum kr_placement placement,
                                unsigned char poison)
{
  struct kr_err err = {0};
  struct kr_dataset *d = NULL;
  struct kr_run_result r = {0};
  if (kr_backend_cuda.load(dev, &s->in, &d, &err)) {
    fprintf(stderr, "load: %s\n", err.text);
    _exit(1);
  }
  struct kr_run_options o = {
      .launch = launch, .placement = placement, .poison = poison, .timeout_ms = 500};
  if (kr_backend_cuda.run(dev, m, d, &o, &r, &err)) {
    fprintf(stderr, "run: %s\n", err.text);
    _exit(1);
  }
  kr_backend_cuda.dataset_free(dev, d);
  return r;
}

static void saxpy_is_right_at_every_placement(void)
{
  struct kr_device *dev = sample_open();
  static const int sizes[] = {1, 31, 1000, 1 << 19, 3000001};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    int n = sizes[k];
    struct sample s;
    saxpy_sample(&s, n);
    struct kr_module *m = sample_compile(dev, &s, saxpy_text);
    for (int p = 0; p < 3; p++) {
      struct kr_run_result r = run(dev, m, &s, sample_launch((unsigned)(n + 255) / 256, 256, 0),
                                   (enum kr_placement)p, p ? 0xff : 0x55);
      CHECK_INT(r.status, KR_RUN_OK);
      CHECK(!r.gap_written);
      CHECK(!r.device_lost);
      CHECK_INT(r.n_buffers, 2);
      int wrong = 0;
      const float *x = (float *)s.buffers[0].init, *y = (float *)s.buffers[1].init;
      const float *got = (float *)r.after[1];
      for (int i = 0; i < n; i++)
        wrong += got[i] != 2 * x[i] + y[i];
      CHECK_INT(wrong, 0);
      CHECK(r.after[0] == NULL); // an input, unchanged
      kr_run_result_release(&r);
    }
    kr_backend_cuda.module_free(dev, m);
    sample_release(&s);
  }
  kr_backend_cuda.close(dev);
}

// A kernel `k(int n, float *y)` that does one thing with one element.
static struct kr_run_result run_body(const char *body, int n, enum kr_role role,
                                     enum kr_placement placement, int threads)
{
  char text[1024];
  snprintf(text, sizeof text, "__global__ void k(int n, float *y) { %s }\n", body);
  struct kr_device *dev = sample_open();
  struct sample s;
  float *y = sample_floats((size_t)n, 1, 1);
  sample_init(&s, "k");
  sample_int(&s, n);
  sample_pointer(&s, role, 4, n, role == KR_OUT ? NULL : y);
  struct kr_module *m = sample_compile(dev, &s, text);
  struct kr_run_result r = run(dev, m, &s, sample_launch(1, (unsigned)threads, 0), placement, 0x5a);
  if (r.device_lost) { // everything else says so and touches nothing
    struct kr_err err = {0};
    struct kr_dataset *d = NULL;
    CHECK_INT(kr_backend_cuda.load(dev, &s.in, &d, &err), -1);
    CHECK(strstr(err.text, "lost") != NULL);
  }
  kr_backend_cuda.module_free(dev, m);
  kr_backend_cuda.close(dev);
  free(y);
  sample_release(&s);
  return r;
}

static void check_fault(struct kr_run_result r, const char *words)
{
  CHECK_INT(r.status, KR_RUN_FAULT);
  CHECK(r.device_lost);
  CHECK(strstr(r.text, words) != NULL);
  if (!strstr(r.text, words))
    fprintf(stderr, "  text: %s\n", r.text);
}

static void the_last_element_is_inside(void)
{
  struct kr_run_result r =
      run_body("y[n - 1] = 7; y[0] = 8;", 1000, KR_INOUT, KR_PLACE_END, 1);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(!r.gap_written);
  CHECK(((float *)r.after[0])[999] == 7 && ((float *)r.after[0])[0] == 8);
}

static void a_write_one_past_faults_at_end(void)
{
  check_fault(run_body("y[n] = 7;", 1000, KR_INOUT, KR_PLACE_END, 1), "ILLEGAL_ADDRESS");
}

static void a_read_one_past_faults_at_end(void)
{
  check_fault(run_body("y[0] = y[n];", 1000, KR_INOUT, KR_PLACE_END, 1), "ILLEGAL_ADDRESS");
}

static void a_write_one_past_is_seen_in_the_gap(void)
{
  struct kr_run_result r = run_body("y[n] = 7;", 1000, KR_INOUT, KR_PLACE_ALIGN, 1);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(r.gap_written);
  CHECK_INT(r.gap_buffer, 0);
  r = run_body("y[n] = 7;", 1000, KR_INOUT, KR_PLACE_START, 1);
  CHECK(r.gap_written);
}

static void a_write_one_before_is_found(void)
{
  struct kr_run_result r = run_body("y[-1] = 7;", 1000, KR_INOUT, KR_PLACE_END, 1);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(r.gap_written);
  check_fault(run_body("y[-1] = 7;", 1000, KR_INOUT, KR_PLACE_START, 1), "ILLEGAL_ADDRESS");
}

static void an_endless_loop_times_out(void)
{
  struct kr_run_result r = run_body("volatile float *v = y; while (v[0] != 0) { }", 1000, KR_INOUT,
                                    KR_PLACE_END, 1);
  CHECK_INT(r.status, KR_RUN_TIMEOUT);
  CHECK(r.device_lost);
  CHECK(strstr(r.text, "500 ms") != NULL);
}

static void a_trap_is_a_fault(void)
{
  check_fault(run_body("__trap();", 16, KR_INOUT, KR_PLACE_END, 1), "CUDA_ERROR");
}

static void a_failed_assert_is_a_fault(void)
{
  check_fault(run_body("assert(y[0] == 0);", 16, KR_INOUT, KR_PLACE_END, 1), "ASSERT");
}

static void float4_on_an_odd_end_is_misaligned(void)
{
  static const char body[] = "((float4 *)y)[0] = make_float4(1, 2, 3, 4);";
  // As the program itself would allocate it there is nothing wrong.
  struct kr_run_result r = run_body(body, 1001, KR_INOUT, KR_PLACE_ALIGN, 1);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(!r.gap_written);
  check_fault(run_body(body, 1001, KR_INOUT, KR_PLACE_END, 1), "MISALIGNED");
  // From then on this process is told so, and not with the old error's name.
  struct kr_err err = {0};
  struct kr_device *dev = NULL;
  CHECK_INT(kr_backend_cuda.open(&(struct kr_backend_options){0}, &dev, &err), -1);
  CHECK(strstr(err.text, "new process") != NULL);
}

static void a_promised_alignment_holds_at_the_end(void)
{
  static const char text[] = "__global__ void k(float *y) { ((float4 *)y)[0] = make_float4(1, 2, "
                             "3, 4); if (threadIdx.x) y[1001] = 1; }\n";
  struct kr_device *dev = sample_open();
  struct sample s;
  float *y = sample_floats(1001, 0, 0);
  sample_init(&s, "k");
  sample_pointer(&s, KR_INOUT, 4, 1001, y)->align = 16;
  s.sections[0].align = (char *)(uintptr_t)"16";
  struct kr_module *m = sample_compile(dev, &s, text);
  struct kr_run_result r = run(dev, m, &s, sample_launch(1, 1, 0), KR_PLACE_END, 3);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(!r.gap_written);
  kr_run_result_release(&r);
  // The gap of less than 16 bytes that the promise leaves is watched.
  r = run(dev, m, &s, sample_launch(1, 2, 0), KR_PLACE_END, 3);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(r.gap_written);
  kr_backend_cuda.close(dev);
}

static void cooperative_launches_wait_for_all_blocks(void)
{
  static const char text[] =
      "#include <cooperative_groups.h>\n"
      "__global__ void k(int *sum, int *out)\n"
      "{ if (!threadIdx.x) atomicAdd(sum, 1);\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  if (!threadIdx.x) out[blockIdx.x] = *(volatile int *)sum; }\n";
  struct kr_device *dev = sample_open();
  struct sample s;
  int zero = 0;
  sample_init(&s, "k");
  sample_pointer(&s, KR_INOUT, 4, 1, &zero);
  sample_pointer(&s, KR_OUT, 4, 64, NULL);
  struct kr_module *m = sample_compile(dev, &s, text);
  struct kr_launch l = sample_launch(64, 128, 0);
  l.cooperative = true;
  struct kr_run_result r = run(dev, m, &s, l, KR_PLACE_END, 3);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(r.after && ((int *)r.after[1])[0] == 64 && ((int *)r.after[1])[63] == 64);
  kr_run_result_release(&r);
  l.grid[0] = 100000;
  r = run(dev, m, &s, l, KR_PLACE_END, 3);
  CHECK_INT(r.status, KR_RUN_LAUNCH_FAILED);
  CHECK(strstr(r.text, "COOPERATIVE") != NULL);
  kr_backend_cuda.close(dev);
}

static void other_parameters_are_refused(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  saxpy_sample(&s, 64);
  static const char *const texts[] = {
      "__global__ void saxpy(int n, float a, const float *x) {}\n",
      "__global__ void saxpy(int n, double a, const float *x, float *y) {}\n",
      "__global__ void saxpy(int n, float a, const float *x, float *y, int more) {}\n"};
  for (size_t i = 0; i < 3; i++) {
    struct kr_bytes log;
    struct kr_err err = {0};
    struct kr_module *m = NULL;
    kr_bytes_init(&log, 1 << 16);
    CHECK_INT(kr_backend_cuda.compile(dev, &s.contract, texts[i], strlen(texts[i]), &m, &log,
                                      &err),
              1);
    CHECK(strstr(log.data, "parameter") != NULL);
    kr_bytes_release(&log);
  }
  kr_backend_cuda.close(dev);
}

static void a_changed_input_is_brought_back(void)
{
  struct kr_run_result r = run_body("if (threadIdx.x == 0) ((unsigned char *)y)[4 * n - 1] ^= 1;",
                                    100001, KR_IN, KR_PLACE_END, 1);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(!r.gap_written);
  float last = 100001;
  if (r.after[0])
    memcpy(&last, r.after[0] + 4 * 100000, sizeof last);
  CHECK(r.after[0] && last != 100001);
  r = run_body("y[0] = y[0];", 1000, KR_IN, KR_PLACE_START, 1);
  CHECK(r.status == KR_RUN_OK && !r.after[0]);
}

static void outputs_are_poisoned(void)
{
  struct kr_run_result r = run_body("if (threadIdx.x < n && threadIdx.x != 3) y[threadIdx.x] = 0;",
                                    8, KR_OUT, KR_PLACE_END, 32);
  CHECK_INT(r.status, KR_RUN_OK);
  static const unsigned char poison[4] = {0x5a, 0x5a, 0x5a, 0x5a};
  CHECK(!memcmp(r.after[0] + 12, poison, 4));
  CHECK(((float *)r.after[0])[2] == 0 && ((float *)r.after[0])[4] == 0);
}

static void shared_memory_needs_leave(void)
{
  static const char text[] = "__global__ void k(float *y) { extern __shared__ float s[];\n"
                             "  s[threadIdx.x + 12000] = 3; __syncthreads();\n"
                             "  y[threadIdx.x] = s[threadIdx.x + 12000]; }\n";
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  sample_pointer(&s, KR_OUT, 4, 32, NULL);
  struct kr_module *m = sample_compile(dev, &s, text);
  struct kr_run_result r = run(dev, m, &s, sample_launch(1, 32, 64 << 10), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_LAUNCH_FAILED);
  CHECK(strstr(r.text, "65536 bytes of shared memory") != NULL);
  CHECK(!r.device_lost);
  kr_backend_cuda.module_free(dev, m);
  // Where the sites raise the limit the same launch is right, on the same device.
  s.contract.shared_limit = 64 << 10;
  m = sample_compile(dev, &s, text);
  r = run(dev, m, &s, sample_launch(1, 32, 64 << 10), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(r.after && ((float *)r.after[0])[31] == 3);
  kr_run_result_release(&r);
  r = run(dev, m, &s, sample_launch(1, 2048, 64 << 10), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_LAUNCH_FAILED);
  CHECK(strstr(r.text, "2048 threads") != NULL);
  kr_backend_cuda.close(dev);
}

static void launch_bounds_limit_the_block(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  sample_pointer(&s, KR_OUT, 4, 512, NULL);
  struct kr_module *m = sample_compile(
      dev, &s, "__global__ void __launch_bounds__(128) k(float *y) { y[threadIdx.x] = 1; }\n");
  struct kr_run_result r = run(dev, m, &s, sample_launch(1, 512, 0), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_LAUNCH_FAILED);
  CHECK(strstr(r.text, "at most 128 threads") != NULL);
  r = run(dev, m, &s, sample_launch(1, 128, 0), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_OK);
  kr_backend_cuda.close(dev);
}

struct view {
  int n;
  float *data;
  double scale;
};

static void structs_and_vectors_are_passed(void)
{
  static const char text[] =
      "struct view { int n; float *data; double scale; };\n"
      "__global__ void k(view v, short s, const float4 *q, float4 *out)\n"
      "{\n"
      "  int i = threadIdx.x;\n"
      "  if (i < v.n) { float4 f = q[i]; f.w = v.data[i] * (float)v.scale + s; out[i] = f; }\n"
      "}\n";
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  struct view v = {.n = 5, .scale = 0.5};
  float *data = sample_floats(5, 10, 2), *q = sample_floats(20, 0, 1);
  s.slots[s.in.n_slots++] = (struct kr_pointer_slot){
      .param = 0, .offset = offsetof(struct view, data), .buffer = 0};
  sample_buffer(&s, KR_IN, 4, 5, data);
  sample_value(&s, &v, sizeof v, 8);
  short three = 3;
  sample_value(&s, &three, sizeof three, 2);
  sample_pointer(&s, KR_IN, 16, 5, q);
  sample_pointer(&s, KR_OUT, 16, 5, NULL);
  struct kr_module *m = sample_compile(dev, &s, text);
  for (int p = 0; p < 3; p++) {
    struct kr_run_result r =
        run(dev, m, &s, sample_launch(1, 32, 0), (enum kr_placement)p, 0xee);
    CHECK_INT(r.status, KR_RUN_OK);
    CHECK(!r.gap_written);
    const float *out = (float *)r.after[2];
    for (int i = 0; i < 5; i++) {
      CHECK(out[4 * i + 2] == q[4 * i + 2]);
      CHECK(out[4 * i + 3] == data[i] * 0.5f + 3);
    }
    kr_run_result_release(&r);
  }
  kr_backend_cuda.close(dev);
}

static void empty_and_null_buffers_have_no_memory(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  sample_pointer(&s, KR_OUT, 4, 2, NULL);
  sample_pointer(&s, KR_IN, 4, 0, NULL);
  sample_pointer(&s, KR_INOUT, 4, 9, NULL)->null = true;
  struct kr_module *m = sample_compile(
      dev, &s,
      "__global__ void k(int *out, const int *empty, int *null)\n"
      "{ out[0] = empty != nullptr; out[1] = null == nullptr; }\n");
  struct kr_run_result r = run(dev, m, &s, sample_launch(1, 1, 0), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK_INT(((int *)r.after[0])[0], 1);
  CHECK_INT(((int *)r.after[0])[1], 1);
  CHECK(!r.after[1] && !r.after[2]);
  // Reading an empty buffer's first element is out of bounds.
  struct kr_module *bad = sample_compile(
      dev, &s, "__global__ void k(int *out, const int *empty, int *null) { out[0] = *empty; }\n");
  check_fault(run(dev, bad, &s, sample_launch(1, 1, 0), KR_PLACE_END, 0), "ILLEGAL_ADDRESS");
  kr_backend_cuda.close(dev);
}

static void an_empty_grid_launches_nothing(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  saxpy_sample(&s, 64);
  struct kr_module *m = sample_compile(dev, &s, saxpy_text);
  struct kr_run_result r = run(dev, m, &s, sample_launch(0, 256, 0), KR_PLACE_END, 0);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(!memcmp(r.after[1], s.buffers[1].init, s.buffers[1].bytes));
  kr_backend_cuda.close(dev);
}

static void a_section_may_start_before_the_pointer(void)
{
  static const char text[] = "__global__ void k(const float *x, float *y)\n"
                             "{ int i = threadIdx.x; y[i] = x[i - 1] + x[i + 1]; }\n";
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  float *x = sample_floats(34, 1, 1);
  struct kr_buffer *b = sample_pointer(&s, KR_IN, 4, 34, x);
  b->start = -1;
  s.slots[0].element = 1; // the pointer is one past the first element
  sample_pointer(&s, KR_OUT, 4, 32, NULL);
  struct kr_module *m = sample_compile(dev, &s, text);
  for (int p = 0; p < 3; p++) {
    struct kr_run_result r = run(dev, m, &s, sample_launch(1, 32, 0), (enum kr_placement)p, 1);
    CHECK_INT(r.status, KR_RUN_OK);
    CHECK(r.after && ((float *)r.after[1])[31] == x[31] + x[33]);
    CHECK(!r.gap_written);
    kr_run_result_release(&r);
  }
  kr_backend_cuda.close(dev);
}

static void device_variables_start_anew(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  sample_pointer(&s, KR_OUT, 4, 1, NULL);
  struct kr_module *m = sample_compile(dev, &s,
                                       "__device__ int calls;\n"
                                       "__global__ void k(int *y) { *y = ++calls; }\n");
  for (int i = 0; i < 3; i++) {
    struct kr_run_result r = run(dev, m, &s, sample_launch(1, 1, 0), KR_PLACE_END, 0);
    CHECK_INT(r.status, KR_RUN_OK);
    CHECK_INT(*(int *)r.after[0], 1);
    kr_run_result_release(&r);
  }
  kr_backend_cuda.close(dev);
}

static void shared_memory_keeps_nothing(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  sample_init(&s, "k");
  sample_pointer(&s, KR_OUT, 4, 256, NULL);
  struct kr_module *w = sample_compile(
      dev, &s, "__global__ void k(int *y) { __shared__ int s[256]; volatile int *v = s;\n"
               "  v[threadIdx.x] = 12345; y[threadIdx.x] = v[threadIdx.x]; }\n");
  struct kr_module *r_only = sample_compile(
      dev, &s, "__global__ void k(int *y) { __shared__ int s[256]; volatile int *v = s;\n"
               "  y[threadIdx.x] = v[threadIdx.x]; }\n");
  struct kr_run_result r = run(dev, w, &s, sample_launch(1, 256, 0), KR_PLACE_END, 0);
  kr_run_result_release(&r);
  r = run(dev, r_only, &s, sample_launch(1, 256, 0), KR_PLACE_END, 0x11);
  CHECK_INT(r.status, KR_RUN_OK);
  int kept = 0;
  for (int i = 0; i < 256; i++)
    kept += ((int *)r.after[0])[i] == 12345;
  CHECK_INT(kept, 0);
  kr_backend_cuda.close(dev);
}

// Each case launches the kernel of its own arguments, its scalars as wide as these say.
static void a_case_launches_its_instantiation(void)
{
  struct kr_device *dev = sample_open();
  struct sample s;
  struct kr_instantiation in[] = {{.name_expression = (char *)"k<int, 3>"},
                                  {.name_expression = (char *)"k<double, 5>"}};
  struct kr_case cases[] = {{.instantiation = 0}, {.instantiation = 1}};
  double two = 2;
  int four = 4;
  sample_init(&s, "k");
  sample_value(&s, &four, sizeof four, sizeof four);
  sample_pointer(&s, KR_OUT, 8, 1, NULL);
  struct kr_param wide[SAMPLE_MAX];
  memcpy(wide, s.params, sizeof wide);
  wide[0].size = wide[0].align = sizeof two;
  in[1].params = wide;
  s.contract.instantiations = in;
  s.contract.n_instantiations = 2;
  s.contract.cases = cases;
  s.contract.n_cases = 2;
  struct kr_module *m = sample_compile(
      dev, &s, "template <typename T, int N> __global__ void k(T a, T *y) { *y = a * N + T(1) / 2; }\n");
  struct kr_run_result r = run(dev, m, &s, sample_launch(1, 1, 0), KR_PLACE_START, 0);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK_INT(r.after ? *(int *)r.after[0] : -1, 12);
  kr_run_result_release(&r);
  free(s.blocks[0]);
  s.blocks[0] = kr_xmalloc(sizeof two);
  memcpy(s.blocks[0], &two, sizeof two);
  s.in.case_index = 1;
  r = run(dev, m, &s, sample_launch(1, 1, 0), KR_PLACE_START, 0);
  CHECK_INT(r.status, KR_RUN_OK);
  CHECK(r.after && *(double *)r.after[0] == 10.5);
  kr_run_result_release(&r);
  kr_backend_cuda.module_free(dev, m);
  sample_release(&s);
  kr_backend_cuda.close(dev);
}

static void facts_and_resources_are_told(void)
{
  struct kr_device *dev = sample_open();
  const struct kr_device_facts *f = kr_backend_cuda.facts(dev);
  printf("%s %s %s, %d SMs, L2 %.1f MiB, %.1f GiB, %.2f TB/s, driver %s, %s\n", f->name, f->arch,
         f->uuid, f->sms, (double)f->l2_bytes / 1048576, (double)f->memory_bytes / 1073741824,
         f->peak_bytes_per_s / 1e12, f->driver, f->compiler);
  CHECK(*f->name && !strncmp(f->arch, "sm_", 3) && !strncmp(f->uuid, "GPU-", 4));
  CHECK(strlen(f->uuid) == 40);
  CHECK(f->sms > 0 && f->warp == 32 && f->l2_bytes > 0 && f->memory_bytes > 0);
  CHECK(f->peak_bytes_per_s > 1e10 && f->peak_bytes_per_s < 1e14);
  struct sample s;
  saxpy_sample(&s, 64);
  struct kr_module *m = sample_compile(dev, &s, saxpy_text);
  struct kr_resources r;
  struct kr_launch l = sample_launch(1, 256, 1024);
  CHECK_INT(kr_backend_cuda.module_resources(dev, m, &l, &r), 0);
  CHECK(r.registers > 0 && r.registers < 64);
  CHECK_INT(r.shared_bytes, 1024);
  CHECK_INT(r.local_bytes, 0);
  CHECK_INT(r.max_threads, 1024);
  CHECK(r.occupancy > 0.5 && r.occupancy <= 1);
  struct sample t;
  sample_init(&t, "k");
  sample_pointer(&t, KR_OUT, 4, 64, NULL);
  m = sample_compile(dev, &t,
                     "__global__ void k(int *y) { int a[64];\n"
                     "  for (int i = 0; i < 64; i++) a[i] = i;\n"
                     "  for (int i = 0; i < 64; i++) a[y[i] & 63] += y[i + 64];\n"
                     "  y[0] = a[y[1] & 63]; }\n");
  CHECK_INT(kr_backend_cuda.module_resources(dev, m, NULL, &r), 0);
  CHECK_INT(r.local_bytes, 256);
  kr_backend_cuda.close(dev);
}

static void a_missing_device_is_told(void)
{
  struct kr_err err = {0};
  struct kr_device *dev = NULL;
  CHECK_INT(kr_backend_cuda.open(&(struct kr_backend_options){.device = 99}, &dev, &err), -1);
  CHECK(strstr(err.text, "there is no GPU 99") != NULL);
}

int main(void)
{
  IN_CHILD(facts_and_resources_are_told);
  IN_CHILD(a_missing_device_is_told);
  IN_CHILD(saxpy_is_right_at_every_placement);
  IN_CHILD(the_last_element_is_inside);
  IN_CHILD(a_write_one_past_faults_at_end);
  IN_CHILD(a_read_one_past_faults_at_end);
  IN_CHILD(a_write_one_past_is_seen_in_the_gap);
  IN_CHILD(a_write_one_before_is_found);
  IN_CHILD(an_endless_loop_times_out);
  IN_CHILD(a_trap_is_a_fault);
  IN_CHILD(a_failed_assert_is_a_fault);
  IN_CHILD(float4_on_an_odd_end_is_misaligned);
  IN_CHILD(a_promised_alignment_holds_at_the_end);
  IN_CHILD(cooperative_launches_wait_for_all_blocks);
  IN_CHILD(other_parameters_are_refused);
  IN_CHILD(a_changed_input_is_brought_back);
  IN_CHILD(outputs_are_poisoned);
  IN_CHILD(shared_memory_needs_leave);
  IN_CHILD(launch_bounds_limit_the_block);
  IN_CHILD(structs_and_vectors_are_passed);
  IN_CHILD(empty_and_null_buffers_have_no_memory);
  IN_CHILD(an_empty_grid_launches_nothing);
  IN_CHILD(a_section_may_start_before_the_pointer);
  IN_CHILD(device_variables_start_anew);
  IN_CHILD(shared_memory_keeps_nothing);
  IN_CHILD(a_case_launches_its_instantiation);
  return unit_end();
}
