// RUN: %unit/contract
#include "evaluator/contract.h"
#include "samples.h"

static void test_round_trip_gives_the_same_bytes(void)
{
  struct kr_contract c, again;
  struct kr_bytes first, second;
  struct kr_err err = {{0}};
  kr_bytes_init(&first, 1 << 20);
  kr_bytes_init(&second, 1 << 20);
  sample_make(&c, NULL);
  kr_contract_to_json(&c, &first);
  CHECK_STR(first.data, sample_saxpy);
  CHECK_INT(kr_contract_from_json(&again, first.data, first.len, &err), 0);
  kr_contract_to_json(&again, &second);
  CHECK_STR(second.data, first.data);
  CHECK_INT(c.shared_limit, 49152);
  CHECK_INT(c.params[2].leaves[0].is_const, 1);
  CHECK_STR(c.sections[1].align, "16");
  kr_contract_release(&c);
  kr_contract_release(&again);
  kr_bytes_release(&first);
  kr_bytes_release(&second);
}

static void test_white_space_and_order_of_members_mean_nothing(void)
{
  const char *edits[] = {"{\"schema\":1,\"kernel\":\"saxpy\",",
                         " {\n \"kernel\" : \"saxpy\", \"schema\":1,", NULL};
  struct kr_contract a, b;
  sample_make(&a, NULL);
  sample_make(&b, edits);
  CHECK(kr_hash_equal(kr_contract_hash(&a), kr_contract_hash(&b)));
  kr_contract_release(&a);
  kr_contract_release(&b);
}

static void test_64_bit_and_odd_values_survive(void)
{
  const char *edits[] = {"\"int\":\"16\"", "\"int\":\"-9223372036854775807\"",
                         "\"after\":\"\\n\"", "\"after\":\"\\t\\u0001\\\"\\\\ \xe9\\n\"",
                         "\"min_speedup\":1.02", "\"min_speedup\":1.0199999999999998", NULL};
  struct kr_contract c, again;
  struct kr_bytes text;
  struct kr_err err = {{0}};
  sample_make(&c, edits);
  CHECK_INT(c.constants[0].value.i, -9223372036854775807);
  CHECK_STR(c.after, "\t\001\"\\ \xe9\n");
  kr_bytes_init(&text, 1 << 20);
  kr_contract_to_json(&c, &text);
  CHECK_INT(kr_contract_from_json(&again, text.data, text.len, &err), 0);
  CHECK_INT(again.constants[0].value.i, -9223372036854775807);
  CHECK_STR(again.after, c.after);
  CHECK(again.min_speedup == 1.0199999999999998);
  kr_bytes_release(&text);
  kr_contract_release(&c);
  kr_contract_release(&again);
}

static struct kr_hash hash_with(const char *from, const char *to)
{
  const char *edits[] = {from, to, NULL};
  struct kr_contract c;
  sample_make(&c, edits);
  struct kr_hash h = kr_contract_hash(&c);
  kr_contract_release(&c);
  return h;
}

static void test_hash_is_of_meaning_not_of_place(void)
{
  struct kr_hash plain = hash_with("{", "{");
  CHECK(kr_hash_equal(plain, hash_with("\"line\":3", "\"line\":77")));
  CHECK(kr_hash_equal(plain, hash_with("\"file\":\"saxpy.cu\"", "\"file\":\"src/axpy.cu\"")));
  CHECK(kr_hash_equal(plain, hash_with("#line 3 ", "#line 77 ")));
  CHECK(!kr_hash_equal(plain, hash_with("\"expr\":\"1000\"", "\"expr\":\"1001\"")));
  CHECK(!kr_hash_equal(plain, hash_with("float *y) {}", "float *y) { }")));
  CHECK(!kr_hash_equal(plain, hash_with("-std=c++17", "-std=c++14")));
  CHECK(!kr_hash_equal(plain, hash_with("\"line\":3,\"name_expression\":\"saxpy\"",
                                        "\"line\":3,\"name_expression\":\"saxpz\"")));
  CHECK(!kr_hash_equal(plain, hash_with("#line 3 \\\"saxpy.cu\\\"\\n", "#define line 3\\n")));
}

static void test_a_template_has_parameters_of_its_own_in_each_case(void)
{
  const char *edits[] = {SAMPLE_TWO_TYPES, NULL};
  struct kr_contract c, again;
  struct kr_bytes first, second;
  struct kr_err err = {{0}};
  sample_make(&c, edits);
  kr_bytes_init(&first, 1 << 20);
  kr_bytes_init(&second, 1 << 20);
  kr_contract_to_json(&c, &first);
  CHECK_INT(kr_contract_from_json(&again, first.data, first.len, &err), 0);
  kr_contract_to_json(&again, &second);
  CHECK_STR(second.data, first.data);
  CHECK_INT(kr_contract_kernels(&c), 2);
  CHECK_STR(kr_contract_kernel_name(&c, 1), "saxpy<double, 2>");
  CHECK_INT(kr_case_kernel(&c, 0), 1);
  CHECK_INT(kr_case_params(&c, 0)[1].size, 8);
  CHECK_INT(kr_case_params(&c, 1)[1].size, 4);
  CHECK(!kr_hash_equal(kr_contract_hash(&c), hash_with("{", "{")));
  kr_contract_release(&c);
  kr_contract_release(&again);
  kr_bytes_release(&first);
  kr_bytes_release(&second);
}

static void test_a_template_that_does_not_fit_together_is_refused(void)
{
  static const char *const table[][3] = {
      {"\"instantiation\":1,", "\"instantiation\":0,",
       "contract: instantiation <double, 2> has no case"},
      {"\"instantiation\":0,", "\"instantiation\":2,",
       "contract: instantiation <float, 4> has no case"},
      {"{\"name\":\"a\",\"type_name\":\"double\"", "{\"name\":\"b\",\"type_name\":\"double\"",
       "contract: the parameters of instantiation <double, 2> are not the contract's"},
      {"\"types\":\"T = double\",", "", "contract: \"types\" is missing"},
  };
  const char *edits[] = {SAMPLE_TWO_TYPES, NULL, NULL, NULL};
  size_t n = 0;
  while (edits[n])
    n += 2;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char *text = sample_edit(sample_saxpy, "{", "{");
    for (size_t k = 0; k <= n; k += 2) {
      char *next = sample_edit(text, k < n ? edits[k] : table[i][0],
                               k < n ? edits[k + 1] : table[i][1]);
      free(text);
      text = next;
    }
    struct kr_contract c;
    struct kr_err err = {{0}};
    CHECK_INT(kr_contract_from_json(&c, text, strlen(text), &err), -1);
    CHECK_STR(err.text, table[i][2]);
    free(text);
  }
}

static void test_what_is_wrong_is_said(void)
{
  static const char *const table[][3] = {
      {"\"schema\":1", "\"schema\":2", "contract: its schema is 2; this version reads 1"},
      {"\"min_speedup\"", "\"min_speedupp\"",
       "contract: the contract has an unknown member \"min_speedupp\""},
      {"\"kernel\":\"saxpy\"", "\"kernel\":7", "contract: \"kernel\" is not a string"},
      {"\"code\":", "\"archs\":[],\"xcode\":",
       "contract: the contract has an unknown member \"xcode\""},
      {"\"int\":\"16\"", "\"int\":16", "contract: \"int\" is not a 64-bit integer in a string"},
      {"\"int\":\"16\"", "\"int\":\"9223372036854775808\"",
       "contract: \"int\" is not a 64-bit integer in a string"},
      {"\"path\":\"x\"", "\"path\":\"n\"", "contract: section `n` is no pointer of the kernel"},
      {"\"path\":\"x\"", "\"path\":\"y\"", "contract: two sections for `y`"},
      {"\"role\":\"in\"", "\"role\":\"out\"", "contract: `x` points to const; it can only be `in`"},
      {"\"type\":0", "\"type\":1", "contract: pointer `` in a parameter points to no type of the contract"},
      {"\"offset\":0,\"kind\":\"f32\"", "\"offset\":2,\"kind\":\"f32\"",
       "contract: leaf `` lies outside a type of 4 bytes"},
      {"\"size\":4,\"align\":4", "\"size\":4,\"align\":3",
       "contract: the alignment of a type is no power of two"},
      {"{\"kind\":\"default\",\"expr\":null,\"alias\":null},", "",
       "contract: case `n = 1000` has 1 fillings for 2 sections"},
      {"{\"kind\":\"default\"", "{\"kind\":\"expr\"", "contract: \"expr\" is missing"},
      {"{\"kind\":\"default\",\"expr\":null,\"alias\":null}",
       "{\"kind\":\"alias\",\"expr\":null,\"alias\":\"q\"}",
       "contract: `x` is filled as a pointer into `q`, which is no section"},
      {"\"expr\":null,\"fixed\":false,\"drawn\":true", "\"expr\":null,\"fixed\":false,\"drawn\":false",
       "contract: \"expr\" is missing"},
      {"\"after\":\"\\n\"", "\"after\":\"a\\u0000b\"", "contract: not JSON we take: \\u0000"},
      {"\"49152\"}", "\"49152\"}}", "contract: not JSON: something follows the document"},
      {"{\"schema\"", "[\"schema\"", "contract: not JSON: error near byte"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char *text = sample_edit(sample_saxpy, table[i][0], table[i][1]);
    struct kr_contract c;
    struct kr_err err = {{0}};
    CHECK_INT(kr_contract_from_json(&c, text, strlen(text), &err), -1);
    if (strncmp(err.text, table[i][2], strlen(table[i][2])))
      CHECK_STR(err.text, table[i][2]);
    free(text);
  }
}

// Whatever is cut off, it is refused and nothing leaks or is read past its end.
static void test_every_prefix_is_refused(void)
{
  size_t len = strlen(sample_saxpy);
  for (size_t n = 0; n < len; n++) {
    char *cut = malloc(n ? n : 1);
    memcpy(cut, sample_saxpy, n);
    struct kr_contract c;
    struct kr_err err = {{0}};
    CHECK_INT(kr_contract_from_json(&c, cut, n, &err), -1);
    CHECK(err.text[0]);
    free(cut);
  }
}

int main(void)
{
  test_round_trip_gives_the_same_bytes();
  test_white_space_and_order_of_members_mean_nothing();
  test_64_bit_and_odd_values_survive();
  test_hash_is_of_meaning_not_of_place();
  test_a_template_has_parameters_of_its_own_in_each_case();
  test_a_template_that_does_not_fit_together_is_refused();
  test_what_is_wrong_is_said();
  test_every_prefix_is_refused();
  return unit_end();
}
