// RUN: %unit/fill
#include "evaluator/fill.h"
#include "evaluator/number.h"
#include "unit.h"

#include <time.h>

static struct kr_leaf leaf_f32 = {.path = "", .kind = KR_F32};
static struct kr_type type_f32 = {"float", 4, 4, &leaf_f32, 1};
static struct kr_leaf leaf_i32 = {.path = "", .kind = KR_I32};
static struct kr_type type_i32 = {"int", 4, 4, &leaf_i32, 1};
static struct kr_leaf leaf_u8 = {.path = "", .kind = KR_U8};
static struct kr_type type_u8 = {"unsigned char", 1, 1, &leaf_u8, 1};

static int fill(void *into, const struct kr_type *type, int64_t count, const char *text,
                enum kr_distribution dist, unsigned threads, struct kr_err *err)
{
  struct kr_expr_error error;
  struct kr_expr *e = text ? kr_expr_parse(text, strlen(text), &error) : NULL;
  struct fill_request q = {.type = type,
                           .count = count,
                           .dims = &count,
                           .n_dims = 1,
                           .e = e,
                           .dist = dist,
                           .seed = 7,
                           .section = 3,
                           .path = "x",
                           .threads = threads};
  memset(err, 0, sizeof *err);
  int rc = fill_buffer(into, &q, err);
  kr_expr_free(e);
  return rc;
}

// The three vectors that Random123 1.14 gives for philox4x32-10 (kat_vectors).
static void test_philox_gives_the_published_vectors(void)
{
  static const uint32_t table[3][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
       0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (int i = 0; i < 3; i++) {
    uint32_t out[4];
    philox(table[i], table[i] + 4, out);
    for (int k = 0; k < 4; k++)
      CHECK_INT(out[k], table[i][6 + k]);
  }
}

static uint64_t bits_for(double p)
{
  return (uint64_t)(p * 0x1p52) << 12;
}

static void test_normal_quantiles_are_those_of_the_tables(void)
{
  CHECK(fabs(fill_normal(bits_for(0.5))) < 1e-7);
  CHECK_NEAR(fill_normal(bits_for(0.975)), 1.959963984540054, 1e-6);
  CHECK_NEAR(fill_normal(bits_for(0.8413447460685429)), 1.0, 1e-6);
  CHECK_NEAR(fill_normal(bits_for(0.001)), -3.090232306167813, 1e-6);
  CHECK_NEAR(fill_normal(bits_for(0.016)), -2.144410620911840, 1e-6);
  CHECK_NEAR(fill_normal(bits_for(0.3)), -0.524400512708041, 1e-6);
  // No step where one segment meets the next.
  for (int s = 1; s < 1024; s++) {
    uint64_t edge = (uint64_t)s << 54;
    double below = fill_normal(edge - (1u << 12)), above = fill_normal(edge);
    CHECK(above - below > -1e-7 && above - below < 1e-6);
  }
  CHECK_NEAR(fill_normal(bits_for(1e-9)), -5.997807015007773, 1e-5);
  CHECK_NEAR(fill_normal(bits_for(1e-13)), -7.348796102800822, 1e-3);
}

static void test_moments(void)
{
  enum { N = 1 << 20 };
  float *x = malloc(N * sizeof *x);
  struct kr_err err;
  static const struct {
    const char *text;
    enum kr_distribution dist;
    double mean, variance, fourth; // fourth central moment over variance squared
  } table[] = {{NULL, KR_DIST_NORMAL, 0, 1, 3},
               {NULL, KR_DIST_LARGE, 0, 1024.0 * 1024.0, 3},
               {NULL, KR_DIST_INTEGER, 0, 2, 1.7},
               {"normal(3, 2)", KR_DIST_NORMAL, 3, 4, 3},
               {"uniform(-1, 3)", KR_DIST_NORMAL, 1, 16.0 / 12, 1.8},
               {"2 * normal(1, 1) + 1", KR_DIST_NORMAL, 3, 4, 3}};
  for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
    CHECK_INT(fill(x, &type_f32, N, table[t].text, table[t].dist, 0, &err), 0);
    double sum = 0, two = 0, four = 0, neighbour = 0;
    for (int i = 0; i < N; i++)
      sum += x[i];
    double mean = sum / N;
    for (int i = 0; i < N; i++) {
      double d = x[i] - mean;
      two += d * d;
      four += d * d * d * d;
      if (i)
        neighbour += d * (x[i - 1] - mean);
    }
    double variance = two / N;
    CHECK(fabs(mean - table[t].mean) < 5 * sqrt(table[t].variance / N));
    CHECK_NEAR(variance, table[t].variance, 0.01);
    CHECK_NEAR(four / N / variance / variance, table[t].fourth, 0.03);
    CHECK(fabs(neighbour / two) < 5 / sqrt(N));
  }
  free(x);
}

static void test_threads_change_nothing(void)
{
  enum { N = 300001 };
  static const char *const texts[] = {NULL, "uniform(0, 1)", "permutation()", "offsets(1000000)",
                                      "normal(0, 1) + i % 3"};
  float *a = calloc(N, 4), *b = calloc(N, 4);
  struct kr_err err;
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    const struct kr_type *type = t == 2 || t == 3 ? &type_i32 : &type_f32;
    CHECK_INT(fill(a, type, N, texts[t], KR_DIST_NORMAL, 1, &err), 0);
    CHECK_INT(fill(b, type, N, texts[t], KR_DIST_NORMAL, 5, &err), 0);
    CHECK(!memcmp(a, b, N * 4));
  }
  free(a);
  free(b);
}

static void test_uniform_never_reaches_its_end(void)
{
  enum { N = 1 << 18 };
  uint16_t *h = malloc(N * 2);
  struct kr_leaf leaf = {.path = "", .kind = KR_BF16};
  struct kr_type type = {"bf16", 2, 2, &leaf, 1};
  struct kr_err err;
  CHECK_INT(fill(h, &type, N, "uniform(1, 1.5)", KR_DIST_NORMAL, 0, &err), 0);
  int below = 0, at_end = 0;
  for (int i = 0; i < N; i++) {
    double d = number_from_bfloat(h[i]);
    below += d < 1;
    at_end += d >= 1.5;
  }
  CHECK_INT(below, 0);
  CHECK_INT(at_end, 0);
  free(h);
}

static void test_index_and_offsets_and_permutation(void)
{
  static const int sizes[] = {1, 2, 3, 17, 4097, 70001};
  struct kr_err err;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    int n = sizes[s];
    int *x = calloc((size_t)n, 4);
    char *seen = calloc((size_t)n, 1);
    CHECK_INT(fill(x, &type_i32, n, "permutation()", KR_DIST_NORMAL, 0, &err), 0);
    int fresh = 0, moved = 0;
    for (int i = 0; i < n; i++) {
      if (x[i] >= 0 && x[i] < n && !seen[x[i]])
        seen[x[i]] = 1, fresh++;
      moved += x[i] != i;
    }
    CHECK_INT(fresh, n);
    CHECK(n < 17 || moved > n / 2);

    CHECK_INT(fill(x, &type_i32, n, "index(5)", KR_DIST_NORMAL, 0, &err), 0);
    int bad = 0, most = 0;
    for (int i = 0; i < n; i++) {
      bad += x[i] < 0 || x[i] > 4;
      most = x[i] > most ? x[i] : most;
    }
    CHECK_INT(bad, 0);
    CHECK(n < 4097 || most == 4);

    if (n > 1) {
      CHECK_INT(fill(x, &type_i32, n, "offsets(100000)", KR_DIST_NORMAL, 0, &err), 0);
      int falls = 0;
      for (int i = 1; i < n; i++)
        falls += x[i] < x[i - 1];
      CHECK_INT(falls, 0);
      CHECK_INT(x[0], 0);
      CHECK_INT(x[n - 1], 100000);
    } else {
      CHECK_INT(fill(x, &type_i32, n, "offsets(100000)", KR_DIST_NORMAL, 0, &err), 1);
      CHECK_INT(fill(x, &type_i32, n, "offsets(0)", KR_DIST_NORMAL, 0, &err), 0);
    }
    free(x);
    free(seen);
  }
}

static void test_places_of_two_dimensions(void)
{
  int64_t dims[2] = {3, 5};
  int x[15] = {0};
  struct kr_expr_error error;
  struct kr_err err = {{0}};
  const char *text = "100 * i0 + 10 * i1 + (i == 14)";
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  struct fill_request q = {.type = &type_i32, .count = 15, .dims = dims, .n_dims = 2, .e = e,
                           .path = "x"};
  CHECK_INT(fill_buffer((unsigned char *)x, &q, &err), 0);
  CHECK_INT(x[0], 0);
  CHECK_INT(x[4], 40);
  CHECK_INT(x[7], 120);
  CHECK_INT(x[14], 241);
  kr_expr_free(e);
}

static void test_struct_elements_field_by_field(void)
{
  struct kr_leaf leaves[] = {{.path = "x", .offset = 0, .kind = KR_F32},
                             {.path = "k", .offset = 4, .kind = KR_U8},
                             {.path = "d", .offset = 8, .kind = KR_F64}};
  struct kr_type type = {"mixed", 16, 8, leaves, 3};
  unsigned char *x = calloc(1000, 16);
  struct kr_err err;
  CHECK_INT(fill(x, &type, 1000, NULL, KR_DIST_NORMAL, 0, &err), 0);
  int padded = 0, equal = 0;
  for (int i = 0; i < 1000; i++) {
    padded += x[16 * i + 5] || x[16 * i + 6] || x[16 * i + 7];
    equal += number_get(KR_F32, x + 16 * i) == number_round(KR_F32, number_get(KR_F64, x + 16 * i + 8));
  }
  CHECK_INT(padded, 0);
  CHECK_INT(equal, 0);
  CHECK_INT(fill(x, &type, 1000, "3", KR_DIST_NORMAL, 0, &err), 0);
  CHECK(number_get(KR_F64, x + 16 * 9 + 8) == 3 && number_get(KR_U8, x + 16 * 9 + 4) == 3);
  free(x);
}

static void test_values_that_do_not_fit_are_said(void)
{
  unsigned char x[2000];
  struct kr_err err;
  CHECK_INT(fill(x, &type_u8, 1000, "300", KR_DIST_NORMAL, 0, &err), -1);
  CHECK_STR(err.text, "filler of `x`: 300 does not fit (unsigned char)");
  CHECK_INT(fill(x, &type_u8, 1000, "i", KR_DIST_NORMAL, 0, &err), -1);
  CHECK_STR(err.text, "filler of `x`: element 256: 256 does not fit (unsigned char)");
  CHECK_INT(fill(x, &type_u8, 1000, "index(257)", KR_DIST_NORMAL, 0, &err), -1);
  CHECK(strstr(err.text, "up to 256 do not fit an element of `x` (unsigned char)"));
  CHECK_INT(fill(x, &type_u8, 1000, "uniform(3, 3)", KR_DIST_NORMAL, 0, &err), -1);
  CHECK_INT(fill(x, &type_u8, 1000, "uniform(0, 256)", KR_DIST_NORMAL, 0, &err), 0);
  CHECK_INT(fill(x, &type_u8, 1000, "index(1, 2)", KR_DIST_NORMAL, 0, &err), -1);
  CHECK(strstr(err.text, "index() takes 1 arguments, not 2"));
}

static void test_sixteen_bit_floats(void)
{
  // Every finite half and bfloat16 reads back as itself.
  int bad = 0;
  for (uint32_t h = 0; h < 65536; h++) {
    if (isfinite(number_from_half((uint16_t)h)))
      bad += number_to_half(number_from_half((uint16_t)h)) != h;
    if (isfinite(number_from_bfloat((uint16_t)h)))
      bad += number_to_bfloat(number_from_bfloat((uint16_t)h)) != h;
  }
  CHECK_INT(bad, 0);
  // Ties to even, carries, the ends of the range.
  CHECK_INT(number_to_half(1 + 0x1p-11), 0x3c00);
  CHECK_INT(number_to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  CHECK_INT(number_to_half(1 + 3 * 0x1p-11), 0x3c02);
  CHECK_INT(number_to_half(65504), 0x7bff);
  CHECK_INT(number_to_half(65519.999), 0x7bff);
  CHECK_INT(number_to_half(65520), 0x7c00);
  CHECK_INT(number_to_half(0x1p-24), 1);
  CHECK_INT(number_to_half(0x1p-25), 0);
  CHECK_INT(number_to_half(0x1.8p-25), 1);
  CHECK_INT(number_to_half(-0.0), 0x8000);
  CHECK_INT(number_to_half(INFINITY), 0x7c00);
  CHECK((number_to_half(NAN) & 0x7fff) > 0x7c00);
  CHECK_INT(number_to_bfloat(1 + 0x1p-8), 0x3f80);
  CHECK_INT(number_to_bfloat(3.4e38), 0x7f80);
}

// The rate is told, not judged: this may run on a busy machine.
static void tell_the_rate_of_normal(void)
{
  enum { N = 1 << 22 };
  float *x = malloc(N * sizeof *x);
  struct kr_err err;
  struct timespec a, b;
  memset(x, 0, N * sizeof *x);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  CHECK_INT(fill(x, &type_f32, N, NULL, KR_DIST_NORMAL, 1, &err), 0);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  printf("normal: %.1f ns a value\n",
         ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / N);
  free(x);
}

int main(void)
{
  test_philox_gives_the_published_vectors();
  test_normal_quantiles_are_those_of_the_tables();
  test_moments();
  test_threads_change_nothing();
  test_uniform_never_reaches_its_end();
  test_index_and_offsets_and_permutation();
  test_places_of_two_dimensions();
  test_struct_elements_field_by_field();
  test_values_that_do_not_fit_are_said();
  test_sixteen_bit_floats();
  tell_the_rate_of_normal();
  return unit_end();
}
