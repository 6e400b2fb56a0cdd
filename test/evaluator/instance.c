// RUN: %unit/instance
#include "evaluator/instance.h"
#include "samples.h"

static const struct kr_device_facts facts = {
    .arch = "sm_90", .sms = 132, .warp = 32, .shared_optin_bytes = 232448};

static int make(struct kr_instance *in, struct kr_contract *c, const char *const *edits,
                const struct kr_override *overrides, size_t n, struct kr_err *err)
{
  sample_make(c, edits);
  memset(err, 0, sizeof *err);
  return kr_instance_make(in, c, 0, 42, KR_DIST_NORMAL, overrides, n, err);
}

static void test_a_case_has_its_numbers(void)
{
  struct kr_contract c;
  struct kr_instance in;
  struct kr_err err;
  CHECK_INT(make(&in, &c, NULL, NULL, 0, &err), 0);
  int n;
  float a;
  memcpy(&n, in.params[0], 4);
  memcpy(&a, in.params[1], 4);
  CHECK_INT(n, 1000);
  CHECK(a >= 0.25f && a < 1.0f);
  CHECK_INT(in.held_out, 0);
  CHECK(!strncmp(in.label, "n = 1000, a = 0.", 16));
  CHECK_INT(in.n_buffers, 2);
  CHECK_INT(in.buffers[0].bytes, 4000);
  CHECK_INT(in.buffers[0].align, 4);
  CHECK_INT(in.buffers[1].align, 16);
  CHECK_INT(kr_instance_bytes(&in), 8000);
  CHECK_INT(in.slots[1].param, 3);
  CHECK_INT(in.slots[1].buffer, 1);
  struct kr_launch launch;
  CHECK_INT(kr_instance_launch(&in, &c.geometry, &facts, &launch, &err), 0);
  CHECK_INT(launch.grid[0], 4);
  CHECK_INT(launch.grid[1], 1);
  CHECK_INT(launch.block[0], 256);
  CHECK_INT(launch.shared_bytes, 0);
  struct kr_bytes place;
  kr_bytes_init(&place, 100);
  kr_buffer_place(&in, 1, 17, &place);
  CHECK_STR(place.data, "y[17]");
  kr_bytes_release(&place);
  kr_instance_release(&in);
  kr_contract_release(&c);
}

static void test_a_case_has_the_types_of_its_instantiation(void)
{
  const char *edits[] = {SAMPLE_TWO_TYPES, "\"dims\":[\"n\"]", "\"dims\":[\"n * sizeof(T)\"]",
                         NULL};
  struct kr_contract c;
  struct kr_instance in;
  struct kr_err err;
  struct kr_override other = {"UNROLL", {.i = 7}};
  CHECK_INT(make(&in, &c, edits, NULL, 0, &err), 0);
  double a;
  memcpy(&a, in.params[1], 8);
  CHECK(a >= 0.25 && a < 1.0);
  CHECK(!strncmp(in.label, "T = double, UNROLL = 2, n = 1000, a = 0.", 40));
  CHECK_INT(in.buffers[0].count, 8000);
  CHECK_INT(in.buffers[0].bytes, 64000);
  CHECK_INT(in.buffers[1].bytes, 8000);
  kr_instance_release(&in);
  CHECK_INT(kr_instance_make(&in, &c, 1, 42, KR_DIST_NORMAL, NULL, 0, &err), 0);
  CHECK(!strncmp(in.label, "T = float, n = 1000, a = 0.", 27));
  CHECK_INT(in.buffers[0].bytes, 16000);
  CHECK_INT(in.buffers[1].bytes, 4000);
  kr_instance_release(&in);
  // An argument is no size: nothing varies it.
  CHECK_INT(kr_instance_make(&in, &c, 0, 42, KR_DIST_NORMAL, &other, 1, &err), 0);
  CHECK_INT(in.held_out, 0);
  CHECK(in.names[0].value.i == 2);
  kr_instance_release(&in);
  kr_contract_release(&c);
}

static void test_an_override_is_a_held_out_size(void)
{
  struct kr_contract c;
  struct kr_instance in;
  struct kr_err err;
  struct kr_override size = {"n", {.i = 7}};
  CHECK_INT(make(&in, &c, NULL, &size, 1, &err), 0);
  CHECK_INT(in.held_out, 1);
  CHECK_INT(in.buffers[0].count, 7);
  kr_instance_release(&in);
  kr_contract_release(&c);

  const char *fixed[] = {"\"fixed\":false", "\"fixed\":true", NULL};
  CHECK_INT(make(&in, &c, fixed, &size, 1, &err), 0);
  CHECK_INT(in.held_out, 0);
  CHECK_INT(in.buffers[0].count, 1000);
  kr_instance_release(&in);
  kr_contract_release(&c);

  size.value.i = 0;
  CHECK_INT(make(&in, &c, NULL, &size, 1, &err), 0);
  CHECK_INT(in.buffers[0].count, 0);
  struct kr_launch launch;
  CHECK_INT(kr_instance_launch(&in, &c.geometry, &facts, &launch, &err), 0);
  CHECK_INT(launch.grid[0], 0);
  kr_instance_release(&in);
  kr_contract_release(&c);
}

static void test_what_cannot_be_is_said(void)
{
  static const struct {
    const char *edits[7];
    int rc;
    const char *text;
  } table[] = {
      {{"\"expr\":\"1000\"", "\"expr\":\"1 << 40\""}, -1, "1099511627776 does not fit `n` (int)"},
      {{"\"expr\":\"1000\"", "\"expr\":\"0.5\""}, -1, "0.5 does not fit `n` (int)"},
      {{"\"expr\":\"1000\"", "\"expr\":\"1e3\""}, 0, ""},
      {{"\"expr\":null,\"fixed\":false,\"drawn\":true",
        "\"expr\":\"1e39\",\"fixed\":false,\"drawn\":false"},
       -1, "does not fit `a` (float)"},
      {{"{\"path\":\"n\",\"expr\":\"1000\",\"fixed\":false,\"drawn\":false},", "",
        "\"dims\":[\"n\"]", "\"dims\":[\"3\"]", "\"dims\":[\"n\"]", "\"dims\":[\"3\"]"},
       -1, "no value for `n` (int): add let(n = ...)"},
      {{"\"requires\":[]", "\"requires\":[\"n % 16 == 0\"]"}, 1,
       "require(n % 16 == 0) does not hold with n = 1000"},
      {{"\"dims\":[\"n\"]", "\"dims\":[\"n - 1002\"]"}, -1,
       "negative length -2 of section `x`, in the case n = 1000"},
      {{"\"dims\":[\"n\"]", "\"dims\":[\"n / (n - 1000)\"]"}, -1,
       "in section `x`, `n / (n - 1000)`, with n = 1000"},
      {{"\"dims\":[\"n\"]", "\"dims\":[\"n << 30\",\"n << 30\"]"}, -1,
       "the length of section `x` overflows"},
      {{"\"dims\":[\"n\"]", "\"dims\":[\"1 << 50\"]"}, -1, "in section `x` of"},
      {{"\"dims\":[\"n\"]", "\"dims\":[\"rows\"]"}, -1, "rows"},
      {{"\"kind\":\"default\",\"expr\":null", "\"kind\":\"expr\",\"expr\":\"index(0)\""}, 1,
       "index(0) has no value for the 1000 elements of `x`"},
      {{"\"kind\":\"default\",\"expr\":null", "\"kind\":\"expr\",\"expr\":\"sym(i)\""}, -1,
       "`sym` is not there yet"},
      {{"\"kind\":\"default\",\"expr\":null", "\"kind\":\"expr\",\"expr\":\"1 / (i - 5)\""}, -1,
       "filler of `x`: element 5:"},
      {{"\"kind\":\"default\",\"expr\":null,\"alias\":null}]",
        "\"kind\":\"alias\",\"expr\":\"1\",\"alias\":\"x\"}]"},
       -1, "`&x[1]` with 1000 elements leaves section `x` (0 ... 999)"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct kr_contract c;
    struct kr_instance in;
    struct kr_err err;
    int rc = make(&in, &c, table[i].edits, NULL, 0, &err);
    CHECK_INT(rc, table[i].rc);
    if (!strstr(err.text, table[i].text))
      CHECK_STR(err.text, table[i].text);
    if (!rc)
      kr_instance_release(&in);
    kr_contract_release(&c);
  }
}

static void test_launches_keep_the_limits(void)
{
  static const struct {
    const char *grid, *block[3], *shared, *text;
  } table[] = {
      {"1", {"2048"}, NULL, "2048 threads exceed the limit of 1024 (sm_90), with n = 1000"},
      {"1", {"32", "33"}, NULL, "1056 threads exceed the limit of 1024"},
      {"1", {"1", "1", "65"}, NULL, "block.z is 65, more than the limit of 64"},
      {"1", {"0"}, NULL, "block.x is 0"},
      {"-1", {"1"}, NULL, "grid.x is -1"},
      {"1 << 31", {"1"}, NULL, "grid.x is 2147483648, more than the limit of 2147483647"},
      {"1", {"1"}, "300000", "300000 bytes of dynamic shared memory exceed the 49152 that the launch"},
      {"1", {"grid.x"}, NULL, "`block` may not use `grid.x`"},
      {"grid.y", {"1"}, "nope * 2", "nope"},
      {"n / (n - n)", {"1"}, NULL, "`n / (n - n)`, with n = 1000"},
  };
  struct kr_contract c;
  struct kr_instance in;
  struct kr_err err;
  struct kr_launch launch;
  CHECK_INT(make(&in, &c, NULL, NULL, 0, &err), 0);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct kr_geometry g = {{(char *)table[i].grid, NULL, NULL},
                            {(char *)table[i].block[0], (char *)table[i].block[1],
                             (char *)table[i].block[2]},
                            (char *)table[i].shared,
                            false};
    memset(&err, 0, sizeof err);
    CHECK_INT(kr_instance_launch(&in, &g, &facts, &launch, &err), -1);
    if (!strstr(err.text, table[i].text))
      CHECK_STR(err.text, table[i].text);
  }
  struct kr_geometry own = {{"ceil_div(n, block.x * 4)", "sms", "warp"}, {"TILE * 8", "2", NULL},
                            "block.x * block.y * sizeof(float)", true};
  CHECK_INT(kr_instance_launch(&in, &own, &facts, &launch, &err), 0);
  CHECK_INT(launch.grid[0], 2);
  CHECK_INT(launch.grid[1], 132);
  CHECK_INT(launch.grid[2], 32);
  CHECK_INT(launch.block[0], 128);
  CHECK_INT(launch.shared_bytes, 1024);
  CHECK_INT(launch.cooperative, 1);
  kr_instance_release(&in);
  kr_contract_release(&c);
}

static void test_sections_may_name_the_grid(void)
{
  const char *edits[] = {"\"dims\":[\"n\"]", "\"dims\":[\"grid.x\",\"block.x\"]", NULL};
  struct kr_contract c;
  struct kr_instance in;
  struct kr_err err;
  CHECK_INT(make(&in, &c, edits, NULL, 0, &err), 0);
  CHECK_INT(in.buffers[0].count, 1024);
  struct kr_bytes place;
  kr_bytes_init(&place, 100);
  kr_buffer_place(&in, 0, 513, &place);
  CHECK_STR(place.data, "x[2][1]");
  kr_bytes_release(&place);
  kr_instance_release(&in);
  kr_contract_release(&c);
}

static void test_ghost_cells_null_and_alias(void)
{
  const char *ghost[] = {"\"start\":null,\"dims\":[\"n\"]",
                         "\"start\":\"-2\",\"dims\":[\"n + 4\"]",
                         "\"kind\":\"default\",\"expr\":null,\"alias\":null}]",
                         "\"kind\":\"alias\",\"expr\":\"1\",\"alias\":\"x\"}]", NULL};
  struct kr_contract c;
  struct kr_instance in;
  struct kr_err err;
  CHECK_INT(make(&in, &c, ghost, NULL, 0, &err), 0);
  CHECK_INT(in.buffers[0].start, -2);
  CHECK_INT(in.buffers[0].count, 1004);
  CHECK_INT(in.n_buffers, 1);
  CHECK_INT(in.n_slots, 2);
  CHECK_INT(in.slots[1].buffer, 0);
  CHECK_INT(in.slots[1].element, 1);
  // Written through the other pointer, so no longer read-only.
  CHECK_INT(in.buffers[0].role, KR_INOUT);
  struct kr_bytes place;
  kr_bytes_init(&place, 100);
  kr_buffer_place(&in, 0, 0, &place);
  CHECK_STR(place.data, "x[-2]");
  kr_bytes_release(&place);
  kr_instance_release(&in);
  kr_contract_release(&c);

  const char *null[] = {"\"kind\":\"default\"", "\"kind\":\"null\"", NULL};
  CHECK_INT(make(&in, &c, null, NULL, 0, &err), 0);
  CHECK_INT(in.buffers[0].null, 1);
  CHECK(!in.buffers[0].init);
  CHECK(in.slots[0].buffer == SIZE_MAX);
  CHECK_INT(in.slots[1].buffer, 1);
  kr_instance_release(&in);
  kr_contract_release(&c);
}

static void test_a_seed_repeats_and_another_differs(void)
{
  struct kr_contract c;
  struct kr_instance a, b, d;
  struct kr_err err = {{0}};
  sample_make(&c, NULL);
  CHECK_INT(kr_instance_make(&a, &c, 0, 1, KR_DIST_NORMAL, NULL, 0, &err), 0);
  CHECK_INT(kr_instance_make(&b, &c, 0, 1, KR_DIST_NORMAL, NULL, 0, &err), 0);
  CHECK_INT(kr_instance_make(&d, &c, 0, 2, KR_DIST_NORMAL, NULL, 0, &err), 0);
  CHECK_STR(a.label, b.label);
  CHECK(!memcmp(a.buffers[0].init, b.buffers[0].init, 4000));
  CHECK(memcmp(a.buffers[0].init, d.buffers[0].init, 4000));
  CHECK(memcmp(a.buffers[0].init, a.buffers[1].init, 4000));
  CHECK(strcmp(a.label, d.label));
  kr_instance_release(&a);
  kr_instance_release(&b);
  kr_instance_release(&d);
  kr_contract_release(&c);
}

int main(void)
{
  test_a_case_has_its_numbers();
  test_a_case_has_the_types_of_its_instantiation();
  test_an_override_is_a_held_out_size();
  test_what_cannot_be_is_said();
  test_launches_keep_the_limits();
  test_sections_may_name_the_grid();
  test_ghost_cells_null_and_alias();
  test_a_seed_repeats_and_another_differs();
  return unit_end();
}
