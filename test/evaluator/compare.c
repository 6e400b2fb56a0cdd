// RUN: %unit/compare
#include "evaluator/compare.h"
#include "evaluator/fill.h"
#include "evaluator/number.h"
#include "samples.h"

// One instance of the sample whose `y` is what is compared.
static struct kr_contract c;
static struct kr_instance in;

static void begin(const char *const *edits)
{
  struct kr_err err = {{0}};
  sample_make(&c, edits);
  if (kr_instance_make(&in, &c, 0, 3, KR_DIST_NORMAL, NULL, 0, &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(2);
  }
}

static void end(void)
{
  kr_instance_release(&in);
  kr_contract_release(&c);
}

// Compares `got` with `ref` as outputs of both launches.
static enum compare_kind compare(const void *ref, const void *got, bool exact_values,
                                 struct compare_result *r)
{
  unsigned char *refs[2] = {in.buffers[0].init, (unsigned char *)ref};
  unsigned char *gots[2] = {in.buffers[0].init, (unsigned char *)got};
  struct compare_input q = {.in = &in, .ref = {refs, refs}, .got = {gots, gots},
                            .ref_poison = {0xff, 0x42}, .got_poison = {0xff, 0x42},
                            .exact_values = exact_values, .stable = true};
  struct kr_err err = {{0}};
  CHECK_INT(compare_runs(&q, r, &err), 0);
  return r->kind;
}

static void test_scale_of_the_output_decides(void)
{
  float ref[1000], got[1000];
  struct compare_result r;
  begin(NULL);
  double sum = 0;
  for (int i = 0; i < 1000; i++) {
    ref[i] = got[i] = sinf((float)i) * 8;
    sum += (double)ref[i] * ref[i];
  }
  double rms = sqrt(sum / 1000);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  CHECK_INT(r.exact, 1);
  // A small element may be off by a share of the rms, and by no more.
  ref[500] = 1e-4f;
  got[500] = (float)(1e-4 + 0.9e-5 * rms);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  CHECK_INT(r.exact, 0);
  CHECK(r.max_rel_err > 0.8e-5 && r.max_rel_err < 1e-5);
  got[500] = (float)(1e-4 + 1.1e-5 * rms);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  CHECK_INT(r.index, 500);
  CHECK_INT(r.n_wrong, 1);
  CHECK_INT(r.n_compared, 1000);
  CHECK_NEAR(r.expected, 1e-4, 1e-6);
  // Integer inputs: nothing may be off.
  got[500] = nextafterf(ref[500], 1);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  CHECK_INT(compare(ref, got, true, &r), COMPARE_VALUE);
  ref[500] = 0;
  got[500] = -0.0f;
  CHECK_INT(compare(ref, got, true, &r), COMPARE_EQUAL);
  end();
}

static void test_first_wrong_element_is_named(void)
{
  float ref[1000], got[1000];
  struct compare_result r;
  begin(NULL);
  for (int i = 0; i < 1000; i++)
    ref[i] = got[i] = 1;
  got[17] = 2;
  got[900] = 3;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  unsigned char *refs[2] = {in.buffers[0].init, (unsigned char *)ref};
  struct compare_input q = {.in = &in, .ref = {refs, refs}, .got = {refs, refs}};
  struct kr_bytes words;
  kr_bytes_init(&words, 1000);
  compare_describe(&q, &r, &words);
  CHECK(strstr(words.data, "y[17] is 2, expected 1 (2 of 1000 elements of `y` are wrong), in the "
                           "case n = 1000, a = "));
  kr_bytes_release(&words);
  end();
}

static void test_nonfinite_values_match_in_kind_and_place(void)
{
  static const struct {
    float ref, got;
    enum compare_kind kind;
  } table[] = {{NAN, NAN, COMPARE_EQUAL},
               {INFINITY, INFINITY, COMPARE_EQUAL},
               {INFINITY, -INFINITY, COMPARE_NONFINITE},
               {NAN, INFINITY, COMPARE_NONFINITE},
               {INFINITY, NAN, COMPARE_NONFINITE},
               {NAN, 1, COMPARE_NONFINITE},
               {1, NAN, COMPARE_NONFINITE},
               {3e38f, INFINITY, COMPARE_NONFINITE}};
  float ref[1000], got[1000];
  struct compare_result r;
  begin(NULL);
  for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
    for (int i = 0; i < 1000; i++)
      ref[i] = got[i] = 1;
    ref[8] = table[t].ref;
    got[8] = table[t].got;
    got[9] = nextafterf(1, 2); // so that bytes differ anyway
    CHECK_INT(compare(ref, got, false, &r), table[t].kind);
  }
  end();
}

static void test_zeros_where_the_original_has_none(void)
{
  const char *loose[] = {
      "\"dims\":[\"n\"],\"compare\":\"default\",\"rtol\":null,\"atol\":null,\"align\":\"16\"",
      "\"dims\":[\"n\"],\"compare\":\"tol\",\"rtol\":\"0\",\"atol\":\"1e-3\",\"align\":\"16\"", NULL};
  float ref[1000], got[1000] = {0};
  struct compare_result r;
  begin(loose);
  for (int i = 0; i < 1000; i++)
    ref[i] = 1e-5f;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_ALL_ZERO);
  got[5] = 1e-6f;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  memset(ref, 0, sizeof ref);
  memset(got, 0, sizeof got);
  got[0] = -0.0f;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  end();
  // Half of an output is far smaller than the rest, and zero there is within the
  // tolerance of the whole; a few that cancel are let through.
  begin(NULL);
  for (int i = 0; i < 1000; i++)
    got[i] = ref[i] = i < 500 ? 1.0f : 1e-7f;
  memset(got + 900, 0, 100 * sizeof *got);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  memset(got + 500, 0, 500 * sizeof *got);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_MISSING);
  CHECK_INT(r.index, 500);
  for (int i = 500; i < 1000; i++)
    ref[i] = 1e-38f; // may be flushed
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  end();
  // Without a tolerance of its own an output of zeros takes zeros alone.
  begin(NULL);
  got[1] = 1e-30f;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  end();
}

static void test_the_users_tolerance(void)
{
  const char *tol[] = {
      "\"dims\":[\"n\"],\"compare\":\"default\",\"rtol\":null,\"atol\":null,\"align\":\"16\"",
      "\"dims\":[\"n\"],\"compare\":\"tol\",\"rtol\":\"1 / 64.0\",\"atol\":\"0.001\",\"align\":\"16\"",
      NULL};
  float ref[1000], got[1000];
  struct compare_result r;
  begin(tol);
  for (int i = 0; i < 1000; i++)
    ref[i] = got[i] = 100;
  ref[3] = 1;
  got[3] = 1.016f; // 0.001 + 1/64 = 0.0166; the rms of 100 does not come in
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  got[3] = 1.017f;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  end();
  const char *exact[] = {
      "\"dims\":[\"n\"],\"compare\":\"default\",\"rtol\":null,\"atol\":null,\"align\":\"16\"",
      "\"dims\":[\"n\"],\"compare\":\"exact\",\"rtol\":null,\"atol\":null,\"align\":\"16\"", NULL};
  begin(exact);
  got[3] = nextafterf(1, 2);
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  end();
  const char *bad[] = {
      "\"dims\":[\"n\"],\"compare\":\"default\",\"rtol\":null,\"atol\":null,\"align\":\"16\"",
      "\"dims\":[\"n\"],\"compare\":\"tol\",\"rtol\":\"2\",\"atol\":null,\"align\":\"16\"", NULL};
  begin(bad);
  unsigned char *refs[2] = {in.buffers[0].init, (unsigned char *)ref};
  unsigned char *gots[2] = {in.buffers[0].init, (unsigned char *)got};
  struct compare_input q = {.in = &in, .ref = {refs, refs}, .got = {gots, gots}};
  struct kr_err err = {{0}};
  CHECK_INT(compare_runs(&q, &r, &err), -1);
  CHECK(strstr(err.text, "tol(2, 0) of `y` is no tolerance"));
  end();
}

static void test_integers_are_exact_and_struct_leaves_stand_alone(void)
{
  const char *edits[] = {
      "{\"name\":\"float\",\"size\":4,\"align\":4,\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]}",
      ("{\"name\":\"float\",\"size\":4,\"align\":4,\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]},"
      "{\"name\":\"P\",\"size\":16,\"align\":8,\"leaves\":[{\"path\":\"k\",\"offset\":0,\"kind\":\"i32\"},"
      "{\"path\":\"v\",\"offset\":8,\"kind\":\"f64\"}]}"),
      "\"kind\":\"ptr\",\"type\":0,\"const\":false", "\"kind\":\"ptr\",\"type\":1,\"const\":false",
      NULL};
  struct element {
    int k, padding;
    double v;
  } ref[1000], got[1000];
  struct compare_result r;
  begin(edits);
  for (int i = 0; i < 1000; i++) {
    ref[i] = (struct element){1000000 + i, 1, 1e-6 * i};
    got[i] = (struct element){1000000 + i, 2, 1e-6 * i};
  }
  CHECK_INT(compare(ref, got, false, &r), COMPARE_EQUAL);
  got[7].k++;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  struct kr_bytes where;
  kr_bytes_init(&where, 100);
  compare_where(&in, &r, &where);
  CHECK_STR(where.data, "y[7].k");
  CHECK_INT(r.expected, 1000007);
  got[7].k--;
  // The rms of one leaf says nothing about another: 1e-12 of 1e-3, not of 1e6.
  got[7].v += 1e-13;
  CHECK_INT(compare(ref, got, false, &r), COMPARE_VALUE);
  kr_bytes_reset(&where);
  compare_where(&in, &r, &where);
  CHECK_STR(where.data, "y[7].v");
  kr_bytes_release(&where);
  end();
}

// --- dot products of 1 Ki: honest reorderings pass, half sums do not ---

enum { OUTPUTS = 1000, TERMS = 1024 };

static float products(const float *x, const float *w, int lanes)
{
  float part[64] = {0};
  for (int i = 0; i < TERMS; i++)
    part[i % lanes] = fmaf(x[i], w[i], part[i % lanes]);
  for (int step = lanes / 2; step; step /= 2)
    for (int i = 0; i < step; i++)
      part[i] += part[i + step];
  return part[0];
}

static void test_dot_products(void)
{
  float ref[OUTPUTS], pair[OUTPUTS], back[OUTPUTS], half[OUTPUTS], rounded[OUTPUTS];
  float x[TERMS], w[TERMS];
  struct compare_result r;
  begin(NULL);
  for (int o = 0; o < OUTPUTS; o++) {
    for (int i = 0; i < TERMS; i++) {
      x[i] = (float)fill_normal(fill_bits(1, 1, (uint64_t)o * TERMS + (uint64_t)i));
      w[i] = (float)fill_normal(fill_bits(1, 2, (uint64_t)o * TERMS + (uint64_t)i));
    }
    ref[o] = products(x, w, 1);
    pair[o] = products(x, w, 32);
    float sum = 0, low = 0, in_half = 0;
    for (int i = TERMS; i-- > 0;)
      sum += x[i] * w[i];
    for (int i = 0; i < TERMS; i++) {
      low = (float)number_round(KR_F16, low + x[i] * w[i]);
      in_half += (float)number_round(KR_F16, x[i]) * (float)number_round(KR_F16, w[i]);
    }
    back[o] = sum;
    half[o] = low;
    rounded[o] = in_half;
  }
  CHECK_INT(compare(ref, pair, false, &r), COMPARE_EQUAL);
  CHECK_INT(compare(ref, back, false, &r), COMPARE_EQUAL);
  CHECK_INT(compare(ref, half, false, &r), COMPARE_VALUE);
  CHECK(r.n_wrong > OUTPUTS * 9 / 10);
  CHECK_INT(compare(ref, rounded, false, &r), COMPARE_VALUE);
  CHECK(r.n_wrong > OUTPUTS * 9 / 10);
  end();
}

static void test_each_type_has_its_tolerance(void)
{
  CHECK(compare_rtol(KR_F64) == 1e-12 && compare_rtol(KR_F32) == 1e-5);
  CHECK(compare_rtol(KR_F16) == 2e-3 && compare_rtol(KR_BF16) == 1.6e-2);
  CHECK(compare_rtol(KR_I32) == 0);
  CHECK(compare_rtol_most(KR_F64) == 1e-9 && compare_rtol_most(KR_F32) == 1e-4);
  CHECK(compare_rtol_most(KR_F16) == 1e-2 && compare_rtol_most(KR_BF16) == 4e-2);
  CHECK(compare_rtol_most(KR_I32) == 0);
}

// An output can be what is left of two large numbers, and an honest sum in another
// order is off by more than rtol of the rest; what is allowed beyond that somebody
// has to know (oracle.h).
static void test_tolerances_are_raised_for_the_outputs_that_need_it(void)
{
  float ref[1000], got[1000];
  unsigned char *refs[2], *gots[2];
  double none[1] = {0}, need[1] = {5e-5}, *raised[2] = {need, none};
  struct compare_result r;
  struct kr_err err = {{0}};
  begin(NULL);
  for (int i = 0; i < 1000; i++)
    ref[i] = got[i] = i == 700 ? -13650.8682f : 1.0f;
  got[700] = -13650.3838f; // seen with a layer norm on a GPU, original against honest variant
  refs[0] = gots[0] = in.buffers[0].init;
  refs[1] = (unsigned char *)ref;
  gots[1] = (unsigned char *)got;
  struct compare_input q = {.in = &in, .ref = {refs, refs}, .got = {gots, gots},
                            .ref_poison = {0xff, 0x42}, .got_poison = {0xff, 0x42}, .stable = true};
  CHECK_INT(compare_runs(&q, &r, &err), 0);
  CHECK_INT(r.kind, COMPARE_VALUE);
  q.raised = raised; // of another buffer
  CHECK_INT(compare_runs(&q, &r, &err), 0);
  CHECK_INT(r.kind, COMPARE_VALUE);
  raised[0] = none, raised[1] = need;
  CHECK_INT(compare_runs(&q, &r, &err), 0);
  CHECK_INT(r.kind, COMPARE_EQUAL);
  got[700] = -13649.0f; // 1.3e-4
  CHECK_INT(compare_runs(&q, &r, &err), 0);
  CHECK_INT(r.kind, COMPARE_VALUE);
  end();
}

int main(void)
{
  test_scale_of_the_output_decides();
  test_first_wrong_element_is_named();
  test_nonfinite_values_match_in_kind_and_place();
  test_zeros_where_the_original_has_none();
  test_the_users_tolerance();
  test_integers_are_exact_and_struct_leaves_stand_alone();
  test_dot_products();
  test_each_type_has_its_tolerance();
  test_tolerances_are_raised_for_the_outputs_that_need_it();
  return unit_end();
}
