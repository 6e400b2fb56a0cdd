// RUN: %unit/oracle
// Tolerances by need, through kernels that run: the original in double on the CPU
// back end, and what it lets pass and what not.
#include "evaluator/evaluate.h"
#include "evaluator/fill.h"
#include "evaluator/judge_internal.h"
#include "unit.h"

// --- a contract ---

#define F32_TYPE "{\"name\":\"float\",\"size\":4,\"align\":4,\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]}"
#define POINTER(n, k) "{\"name\":\"" n "\",\"type_name\":\"float *\",\"size\":8,\"align\":8,\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"ptr\",\"type\":0,\"const\":" k "}]}"
#define NUMBER(n) "{\"name\":\"" n "\",\"type_name\":\"int\",\"size\":4,\"align\":4,\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"i32\"}]}"
#define SECTION(n, role, dims) "{\"path\":\"" n "\",\"role\":\"" role "\",\"start\":null,\"dims\":[" dims "],\"compare\":\"default\",\"rtol\":null,\"atol\":null,\"align\":null}"
#define PLAIN "{\"kind\":\"default\",\"expr\":null,\"alias\":null}"

// Rows far from zero: what is left when the mean is taken off is what rounding makes of it.
#define OFFSET "{\"kind\":\"expr\",\"expr\":\"normal(10, 1)\",\"alias\":null}"

static const char frame[] =
    "{\"schema\":1,\"kernel\":\"norm\",\"file\":\"norm.cu\",\"line\":1,\"name_expression\":\"norm\","
    "\"signature\":\"void\",\"before\":\"\",\"code\":\"\",\"after\":\"\",\"flags\":[],\"archs\":[],"
    "\"types\":[" F32_TYPE "],"
    "\"params\":[" POINTER("out", "false") "," POINTER("mean", "false") "," POINTER("rstd", "false")
    "," POINTER("inp", "true") "," POINTER("weight", "true") "," POINTER("bias", "true") ","
    NUMBER("N") "," NUMBER("C") "],\"constants\":[],"
    "\"sections\":[" SECTION("out", "out", "\"N\",\"C\"") "," SECTION("mean", "out", "\"N\"") ","
    SECTION("rstd", "out", "\"N\"") "," SECTION("inp", "in", "\"N\",\"C\"") ","
    SECTION("weight", "in", "\"C\"") "," SECTION("bias", "in", "\"C\"") "],"
    "\"requires\":[],\"cases\":[{\"label\":\"N = 64, C = 773\",\"bindings\":["
    "{\"path\":\"N\",\"expr\":\"64\",\"fixed\":true,\"drawn\":false},"
    "{\"path\":\"C\",\"expr\":\"773\",\"fixed\":true,\"drawn\":false}],"
    "\"fillings\":[" PLAIN "," PLAIN "," PLAIN "," OFFSET "," PLAIN "," PLAIN "]}],"
    "\"geometry\":{\"grid\":[\"ceil_div(N, 64)\",null,null],\"block\":[\"64\",null,null],"
    "\"shared\":null,\"cooperative\":false},"
    "\"tunable\":true,\"tunable_why\":null,\"min_speedup\":1.02,\"shared_limit\":\"49152\"}";

// --- kernels: a layer norm, one thread a row ---

#define HEAD                                                                                       \
  "__global__ void norm(float *out, float *mean, float *rstd, const float *inp,\n"                 \
  "                     const float *weight, const float *bias, int N, int C)\n"                   \
  "{\n"                                                                                            \
  "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"                                           \
  "  if (row >= N) return;\n"                                                                      \
  "  const float *x = inp + row * C;\n"
#define TAIL                                                                                       \
  "  float s = 1.0f / sqrtf(v + 1e-5f);\n"                                                         \
  "  for (int i = 0; i < C; i++) out[row * C + i] = s * (x[i] - m) * weight[i] + bias[i];\n"       \
  "  mean[row] = m;\n"                                                                             \
  "  rstd[row] = s;\n"                                                                             \
  "}\n"

static const char original[] = HEAD
    "  float m = 0.0f, v = 0.0f;\n"
    "  for (int i = 0; i < C; i++) m += x[i];\n"
    "  m = m / C;\n"
    "  for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }\n"
    "  v = v / C;\n" TAIL;

// Sums in as many strands as a warp has lanes, put together as a tree.
#define STRANDS(add, skip)                                                                         \
  "static __device__ float plus(float a, float b) { float c = a + b; return " add "; }\n"          \
  "static __device__ float tree(float *p)\n"                                                       \
  "{\n"                                                                                            \
  "  for (int k = 16; k; k /= 2) for (int i = 0; i < k; i++) p[i] = plus(p[i], p[i + k]);\n"       \
  "  return p[0];\n"                                                                               \
  "}\n" HEAD                                                                                       \
  "  float p[32], q[32];\n"                                                                        \
  "  for (int k = 0; k < 32; k++) p[k] = q[k] = 0.0f;\n"                                           \
  "  for (int i = 0; i < C - " skip "; i++) p[i % 32] = plus(p[i % 32], x[i]);\n"                  \
  "  float m = tree(p) / C;\n"                                                                     \
  "  for (int i = 0; i < C; i++) { float d = x[i] - m; q[i % 32] = plus(q[i % 32], d * d); }\n"    \
  "  float v = tree(q) / C;\n" TAIL

static const char honest[] = STRANDS("c", "0");
static const char all_but_last[] = STRANDS("c", "1");
// Eleven bits are kept of every sum, as in half.
static const char coarse[] = STRANDS("c * 8193.0f - (c * 8193.0f - c)", "0");
static const char one_pass[] = HEAD
    "  float m = 0.0f, q = 0.0f;\n"
    "  for (int i = 0; i < C; i++) { m += x[i]; q += x[i] * x[i]; }\n"
    "  m = m / C;\n"
    "  float v = q / C - m * m;\n" TAIL;
// A quarter of the type's tolerance off everywhere, and twice that where it adds up.
static const char a_little_off[] = HEAD
    "  float m = 0.0f, v = 0.0f;\n"
    "  for (int i = 0; i < C; i++) m += x[i];\n"
    "  m = m / C;\n"
    "  for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }\n"
    "  v = v / C * 1.00001f;\n" TAIL;
// The original's, but for how it finds the sign of what is no number of its own.
static const char reads_bits[] =
    "static __device__ float sign(float a) { return __float_as_int(a) < 0 ? -1.0f : 1.0f; }\n" HEAD
    "  float m = 0.0f, v = 0.0f;\n"
    "  for (int i = 0; i < C; i++) m += sign(x[i]) * fabsf(x[i]);\n"
    "  m = m / C;\n"
    "  for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }\n"
    "  v = v / C;\n" TAIL;
// In double another kernel: memory is read as if a float were four bytes.
static const char means_another_thing[] = HEAD
    "  float m = 0.0f, v = 0.0f;\n"
    "  for (int i = 0; i < C; i++) m += sizeof(x[i]) == 4 ? x[i] : 2.0f * x[i];\n"
    "  m = m / C;\n"
    "  for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }\n"
    "  v = v / C;\n" TAIL;

// In double it ends in a fault.
static const char faults_in_double[] = HEAD
    "  float m = 0.0f, v = 0.0f;\n"
    "  for (int i = 0; i < C; i++) m += x[i];\n"
    "  if (sizeof(m) != 4) __trap();\n"
    "  m = m / C;\n"
    "  for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }\n"
    "  v = v / C;\n" TAIL;

// --- judging one instance ---

static struct kr_contract c;
static struct kr_evaluator *e;

static struct kr_backend cpu;
static int compilations;

static int count_compile(struct kr_device *dev, const struct kr_contract *contract,
                         const char *text, size_t len, struct kr_module **out,
                         struct kr_bytes *log, struct kr_err *err)
{
  compilations++;
  return kr_backend_find("cpu")->compile(dev, contract, text, len, out, log, err);
}

static void begin(const char *code)
{
  cpu = *kr_backend_find("cpu");
  cpu.compile = count_compile;
  struct kr_err err = {{0}};
  struct kr_backend_options options = {.timeout_ms = 20000};
  if (kr_contract_from_json(&c, frame, strlen(frame), &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(2);
  }
  free(c.code);
  c.code = strdup(code);
  if (kr_evaluator_open(&e, &cpu, &options, &c, 5, &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(2);
  }
}

static void end(void)
{
  kr_evaluator_close(e);
  kr_contract_release(&c);
}

struct outcome {
  int rc;
  struct kr_verdict v;
};

// Candidate `code` on contents of the case, as a check of a judgement has it.
static struct outcome look(const char *code, enum kr_distribution dist, uint64_t seed, bool precise)
{
  struct outcome o;
  struct kr_err err = {{0}};
  struct kr_bytes log;
  struct kr_candidate cand = {.code = (char *)(uintptr_t)code};
  struct kr_judge_options options = {.until = KR_STAGE_CHECK, .seed = seed};
  struct judgement j = {.e = e, .cand = &cand, .o = &options, .v = &o.v,
                        .geometry = &c.geometry, .precise = precise};
  kr_verdict_init(&o.v);
  kr_bytes_init(&log, 1 << 20);
  if (e->backend->compile(e->dev, &c, code, strlen(code), &j.m, &log, &err)) {
    fprintf(stderr, "%s %s\n", err.text, log.data);
    exit(2);
  }
  o.rc = judge_fresh(&j, KR_STAGE_CHECK, 0, seed, dist, NULL, 0, false);
  judge_oracle_note(&j);
  e->backend->module_free(e->dev, j.m);
  kr_bytes_release(&log);
  return o;
}

static bool says(struct outcome *o, int rc, const char *log, const char *note)
{
  bool ok = o->rc == rc && (!log || (o->v.log && strstr(o->v.log, log))) &&
            (note ? o->v.note && strstr(o->v.note, note) : !o->v.note);
  if (!ok)
    fprintf(stderr, "rc %d, log %s, note %s\n", o->rc, o->v.log ? o->v.log : "-",
            o->v.note ? o->v.note : "-");
  kr_verdict_release(&o->v);
  return ok;
}

#define RAISED "on `out`, twice the original's own error"

static void test_an_honest_order_passes_where_the_original_is_less_precise(void)
{
  begin(original);
  CHECK(e->ref.oracle && !e->ref.oracle_why);
  for (uint64_t seed = 1; seed <= 3; seed++) {
    struct oracle *kept = e->oracle;
    e->oracle = NULL;
    struct outcome o = look(honest, KR_DIST_MIXED, seed, false);
    CHECK(says(&o, JUDGE_FAILED, "elements of `out` are wrong", NULL));
    e->oracle = kept;
    o = look(honest, KR_DIST_MIXED, seed, true);
    CHECK(o.v.max_rel_err > 1e-5 && o.v.max_rel_err < 1e-4);
    CHECK(says(&o, JUDGE_PASSED, NULL, RAISED));
  }
  // The whole of a judgement says so too.
  struct kr_verdict v;
  struct kr_candidate cand = {.code = (char *)(uintptr_t)honest};
  struct kr_judge_options options = {.until = KR_STAGE_CHECK, .seed = 4, .thorough = true};
  CHECK_INT(kr_evaluator_judge(e, &cand, &options, &v), 0);
  CHECK_INT(v.status, KR_STATUS_OK);
  CHECK(v.note && strstr(v.note, "rtol raised to ") && strstr(v.note, RAISED));
  kr_verdict_release(&v);
  end();
}

static void test_what_computes_something_else_is_refused_all_the_same(void)
{
  const char *const worse[] = {all_but_last, coarse, one_pass};
  begin(original);
  for (size_t i = 0; i < sizeof worse / sizeof *worse; i++) {
    struct outcome o = look(worse[i], KR_DIST_MIXED, 1, false);
    CHECK(says(&o, JUDGE_FAILED, "elements of `out` are wrong", NULL));
    o = look(worse[i], KR_DIST_NORMAL, 2, true);
    CHECK(says(&o, JUDGE_FAILED, "elements of `out` are wrong", NULL));
  }
  end();
}

static void test_what_is_less_precise_in_all_elements_is_refused(void)
{
  begin(original);
  struct outcome o = look(a_little_off, KR_DIST_NORMAL, 6, false);
  CHECK(says(&o, JUDGE_PASSED, NULL, NULL)); // no element is off by more than its type's rtol
  o = look(a_little_off, KR_DIST_NORMAL, 6, true);
  CHECK(says(&o, JUDGE_FAILED, "less precise than the original: against double the rms error of",
             NULL));
  o = look(original, KR_DIST_NORMAL, 6, true);
  CHECK(says(&o, JUDGE_PASSED, NULL, NULL));
  end();
}

static void test_nothing_is_raised_without_an_oracle(void)
{
  begin(reads_bits);
  CHECK(!e->ref.oracle);
  CHECK_STR(e->ref.oracle_why, "it reads the bits of a floating value (`__float_as_int`)");
  struct outcome o = look(honest, KR_DIST_MIXED, 1, true);
  CHECK(says(&o, JUDGE_FAILED,
             "; how precise the original is cannot be told: it reads the bits of a floating value",
             NULL));
  o = look(original, KR_DIST_MIXED, 1, true);
  CHECK(says(&o, JUDGE_PASSED, NULL, NULL));
  end();
}

static void test_an_oracle_that_computes_something_else_is_none(void)
{
  begin(means_another_thing);
  CHECK(e->ref.oracle); // nobody has looked yet
  struct outcome o = look(honest, KR_DIST_MIXED, 1, false);
  CHECK(says(&o, JUDGE_FAILED, "is another result", NULL));
  CHECK(!e->ref.oracle && strstr(e->ref.oracle_why, "is another result"));
  end();
}

static void test_an_oracle_that_faults_is_none(void)
{
  begin(faults_in_double);
  CHECK(e->ref.oracle);
  struct outcome o = look(honest, KR_DIST_MIXED, 1, false);
  CHECK(says(&o, JUDGE_FAILED, "; how precise the original is cannot be told: in double it ends in fault", NULL));
  CHECK(!e->ref.oracle);
  end();
}

static void test_who_does_not_ask_pays_nothing(void)
{
  begin(original);
  int before = compilations;
  struct outcome o = look(original, KR_DIST_MIXED, 1, false);
  CHECK(says(&o, JUDGE_PASSED, NULL, NULL));
  o = look(all_but_last, KR_DIST_MIXED, 1, false); // beyond the most that could be raised to
  CHECK(says(&o, JUDGE_FAILED, NULL, NULL));
  CHECK_INT(compilations, before + 2);
  for (uint64_t seed = 1; seed < 4; seed++) {
    o = look(honest, KR_DIST_MIXED, seed, true);
    CHECK(says(&o, JUDGE_PASSED, NULL, RAISED));
  }
  CHECK_INT(compilations, before + 2 + 3 + 1); // once for all three
  end();
}

int main(void)
{
  test_an_honest_order_passes_where_the_original_is_less_precise();
  test_what_computes_something_else_is_refused_all_the_same();
  test_what_is_less_precise_in_all_elements_is_refused();
  test_nothing_is_raised_without_an_oracle();
  test_an_oracle_that_computes_something_else_is_none();
  test_an_oracle_that_faults_is_none();
  test_who_does_not_ask_pays_nothing();
  return unit_end();
}
