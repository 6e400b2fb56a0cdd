#ifndef KR_TEST_SAMPLES_H
#define KR_TEST_SAMPLES_H

#include "evaluator/contract.h"
#include "unit.h"

// Contracts for the tests of this folder, as the documents they travel as.

// y = a * x + y with a guard; one case, n = 1000.
static const char sample_saxpy[] =
    "{\"schema\":1,\"kernel\":\"saxpy\",\"file\":\"saxpy.cu\",\"line\":3,"
    "\"name_expression\":\"saxpy\",\"signature\":\"void (int, float, const float *, float *)\","
    "\"before\":\"#line 3 \\\"saxpy.cu\\\"\\n\","
    "\"code\":\"__global__ void saxpy(int n, float a, const float *x, float *y) {}\","
    "\"after\":\"\\n\",\"flags\":[\"-std=c++17\"],\"archs\":[\"sm_90\"],"
    "\"types\":[{\"name\":\"float\",\"size\":4,\"align\":4,"
    "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]}],"
    "\"params\":["
    "{\"name\":\"n\",\"type_name\":\"int\",\"size\":4,\"align\":4,"
    "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"i32\"}]},"
    "{\"name\":\"a\",\"type_name\":\"float\",\"size\":4,\"align\":4,"
    "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]},"
    "{\"name\":\"x\",\"type_name\":\"const float *\",\"size\":8,\"align\":8,"
    "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"ptr\",\"type\":0,\"const\":true}]},"
    "{\"name\":\"y\",\"type_name\":\"float *\",\"size\":8,\"align\":8,"
    "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"ptr\",\"type\":0,\"const\":false}]}],"
    "\"constants\":[{\"name\":\"TILE\",\"int\":\"16\"},{\"name\":\"sizeof(float)\",\"int\":\"4\"}],"
    "\"sections\":["
    "{\"path\":\"x\",\"role\":\"in\",\"start\":null,\"dims\":[\"n\"],\"compare\":\"default\","
    "\"rtol\":null,\"atol\":null,\"align\":null},"
    "{\"path\":\"y\",\"role\":\"inout\",\"start\":null,\"dims\":[\"n\"],\"compare\":\"default\","
    "\"rtol\":null,\"atol\":null,\"align\":\"16\"}],"
    "\"requires\":[],"
    "\"cases\":[{\"label\":\"n = 1000\",\"bindings\":["
    "{\"path\":\"n\",\"expr\":\"1000\",\"fixed\":false,\"drawn\":false},"
    "{\"path\":\"a\",\"expr\":null,\"fixed\":false,\"drawn\":true}],"
    "\"fillings\":[{\"kind\":\"default\",\"expr\":null,\"alias\":null},"
    "{\"kind\":\"default\",\"expr\":null,\"alias\":null}]}],"
    "\"geometry\":{\"grid\":[\"ceil_div(n, 256)\",null,null],\"block\":[\"256\",null,null],"
    "\"shared\":null,\"cooperative\":false},"
    "\"tunable\":true,\"tunable_why\":null,\"min_speedup\":1.02,\"shared_limit\":\"49152\"}";

// The same as a template <typename T, int UNROLL>, under <float, 4> and <double, 2>:
// replacements for sample_make().
#define SAMPLE_TWO_TYPES                                                                           \
  "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]}],\"params\":[",                       \
      "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f32\"}]},"                                  \
      "{\"name\":\"double\",\"size\":8,\"align\":8,"                                               \
      "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f64\"}]}],\"params\":[",                   \
      "\"sections\":[",                                                                            \
      "\"instantiations\":["                                                                       \
      "{\"arguments\":\"float, 4\",\"name_expression\":\"saxpy<float, 4>\",\"types\":\"T = float\","   \
      "\"constants\":[{\"name\":\"sizeof(T)\",\"int\":\"4\"}]},"                                     \
      "{\"arguments\":\"double, 2\",\"name_expression\":\"saxpy<double, 2>\","                        \
      "\"types\":\"T = double\",\"constants\":[{\"name\":\"sizeof(T)\",\"int\":\"8\"}],"             \
      "\"params\":["                                                                               \
      "{\"name\":\"n\",\"type_name\":\"int\",\"size\":4,\"align\":4,"                                  \
      "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"i32\"}]},"                                  \
      "{\"name\":\"a\",\"type_name\":\"double\",\"size\":8,\"align\":8,"                               \
      "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"f64\"}]},"                                  \
      "{\"name\":\"x\",\"type_name\":\"const double *\",\"size\":8,\"align\":8,"                       \
      "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"ptr\",\"type\":1,\"const\":true}]},"         \
      "{\"name\":\"y\",\"type_name\":\"double *\",\"size\":8,\"align\":8,"                             \
      "\"leaves\":[{\"path\":\"\",\"offset\":0,\"kind\":\"ptr\",\"type\":1,\"const\":false}]}]}],"     \
      "\"sections\":[",                                                                            \
      "\"cases\":[{\"label\":\"n = 1000\",",                                                       \
      "\"cases\":[{\"label\":\"T = double, UNROLL = 2\",\"instantiation\":1,\"bindings\":["          \
      "{\"path\":\"UNROLL\",\"expr\":\"2\",\"fixed\":true,\"drawn\":false},"                         \
      "{\"path\":\"n\",\"expr\":\"1000\",\"fixed\":false,\"drawn\":false},"                          \
      "{\"path\":\"a\",\"expr\":null,\"fixed\":false,\"drawn\":true}],"                              \
      "\"fillings\":[{\"kind\":\"default\",\"expr\":null,\"alias\":null},"                           \
      "{\"kind\":\"default\",\"expr\":null,\"alias\":null}]},"                                       \
      "{\"label\":\"T = float\",\"instantiation\":0,"

// `text` with the first `from` replaced by `to`; ends the program when there is none.
static inline char *sample_edit(const char *text, const char *from, const char *to)
{
  const char *at = strstr(text, from);
  if (!at) {
    fprintf(stderr, "the sample holds no %s\n", from);
    exit(2);
  }
  size_t head = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
  char *out = malloc(size);
  snprintf(out, size, "%.*s%s%s", (int)head, text, to, at + strlen(from));
  return out;
}

static inline void sample_read(struct kr_contract *c, const char *json)
{
  struct kr_err err = {{0}};
  if (kr_contract_from_json(c, json, strlen(json), &err)) {
    fprintf(stderr, "sample: %s\n", err.text);
    exit(2);
  }
}

// The sample with replacements, pairs ended by NULL.
static inline void sample_make(struct kr_contract *c, const char *const *edits)
{
  char *text = sample_edit(sample_saxpy, "{", "{");
  for (; edits && edits[0]; edits += 2) {
    char *next = sample_edit(text, edits[0], edits[1]);
    free(text);
    text = next;
  }
  sample_read(c, text);
  free(text);
}

#endif
