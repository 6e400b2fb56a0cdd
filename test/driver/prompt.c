// RUN: %unit/prompt %S/Inputs/scale.contract.json
#include "unit.h"

#include "driver/prompt.h"
#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"

static struct kr_contract contract;
static struct kr_bytes out;
static struct kr_err err;

static const char *build(const struct prompt_task *task, const struct prompt_turn *turns, size_t n)
{
  kr_bytes_reset(&out);
  err.text[0] = 0;
  CHECK_INT(prompt_build(task, turns, n, (unsigned)n + 1, &out, &err), 0);
  CHECK_STR(err.text, "");
  return out.data;
}

static size_t count(const char *text, const char *word)
{
  size_t n = 0;
  for (const char *p = text; (p = strstr(p, word)); p++)
    n++;
  return n;
}

enum { TURNS = 6 };
static struct variant variants[TURNS];
static struct prompt_turn turns[TURNS];

// Turns whose code is about 400 bytes, so that a budget of 300 tokens holds two.
static void make_turns(void)
{
  for (unsigned i = 0; i < TURNS; i++) {
    char filler[301];
    memset(filler, (int)('a' + i), 300);
    filler[300] = 0;
    variants[i].candidate.code =
        kr_xasprintf("int code_%u_%s; // secret words %u\nint more;", i + 1, filler, i + 1);
    variants[i].summary = kr_xasprintf("Summary of %u.", i + 1);
    turns[i] = (struct prompt_turn){i + 1, &variants[i], "it was correct.", false};
  }
}

static void test_first(void)
{
  struct prompt_task task = {.contract = &contract};
  const char *p = build(&task, NULL, 0);
  CHECK_INT(count(p, "# An example of an answer"), 1);
  CHECK(strstr(p, "# Turn 1\n\nAnswer with a faster variant.\n"));
  CHECK(strstr(p, "The code is for current NVIDIA GPUs."));
  CHECK(!strstr(p, "{{"));
}

// Every built-in template has the placeholders that it can be filled with, and the
// ones that it needs; what a profile says of itself is the same every time.
static void test_profiles(void)
{
  struct prompt_set *kevin = NULL, *twice = NULL, *plain = NULL;
  CHECK_INT(prompt_set_open("default", NULL, &plain, &err), 0);
  CHECK(!prompt_set_identity(plain));
  CHECK_INT(prompt_set_open("kevin", NULL, &kevin, &err), 0);
  CHECK_INT(prompt_set_open("kevin", NULL, &twice, &err), 0);
  CHECK(!strncmp(prompt_set_identity(kevin), "profile=kevin prompts=", 22));
  CHECK_STR(prompt_set_identity(twice), prompt_set_identity(kevin));
  // What a profile does not bring is the default's.
  CHECK_STR(prompt_set_text(kevin, "example"), prompt_set_text(NULL, "example"));
  CHECK(strcmp(prompt_set_text(kevin, "base"), prompt_set_text(NULL, "base")) != 0);
  struct prompt_task task = {.contract = &contract};
  char *by_none = kr_xstrdup(build(&task, turns, 2));
  task.templates = plain;
  CHECK_STR(build(&task, turns, 2), by_none);
  free(by_none);
  task.templates = kevin;
  for (size_t n = 0; n < 3; n++) {
    const char *p = build(&task, turns, n);
    CHECK(!strstr(p, "{{"));
    CHECK_INT(count(p, contract.code), 1);
    CHECK_INT(count(p, "# An example of an answer"), n == 0);
    CHECK_INT(count(p, "What came of it: it was correct."), n);
    CHECK_INT(count(p, "Think afresh."), n > 0);
  }
  prompt_set_free(plain);
  prompt_set_free(kevin);
  prompt_set_free(twice);
}

static void test_history(void)
{
  struct prompt_task task = {.contract = &contract};
  const char *p = build(&task, turns, TURNS);
  CHECK_INT(count(p, "# An example"), 0);
  CHECK_INT(count(p, "secret words"), 0);
  CHECK_INT(count(p, "left out"), 1); // of a launch line, in the rules
  const char *at = p;
  for (unsigned i = 1; i <= TURNS; i++) {
    char head[40], code[40];
    snprintf(head, sizeof head, "# Turn %u\n\n```cuda\n", i);
    snprintf(code, sizeof code, "int code_%u_", i);
    const char *found = strstr(p, head);
    CHECK(found && found >= at && strstr(found, code));
    at = found ? found : at;
  }
  CHECK(strstr(at, "# Turn 7\n\nThink afresh"));
}

static void test_budget(void)
{
  struct prompt_task task = {.contract = &contract};
  // What base and request take, plus room for two turns and a half.
  size_t whole = strlen(build(&task, turns, TURNS));
  size_t one = whole - strlen(build(&task, turns, TURNS - 1));
  size_t base = whole - TURNS * one;
  task.token_budget = (base + 2 * one + one / 2) / 4;
  const char *p = build(&task, turns, TURNS);
  CHECK_INT(count(p, "int code_"), 2);
  CHECK(strstr(p, "int code_5_") && strstr(p, "int code_6_"));
  CHECK(strstr(p, "(Turns 1 to 4 are left out here.)\n\n# Turn 5\n"));
  // The best stays, in its place; one of the two goes for it.
  turns[1].best = true;
  p = build(&task, turns, TURNS);
  CHECK_INT(count(p, "int code_"), 2);
  CHECK(strstr(p, "int code_2_") && strstr(p, "int code_6_"));
  CHECK(strstr(p, "(Turn 1 is left out here.)\n\n# Turn 2\n"));
  CHECK(strstr(p, "(Turns 3 to 5 are left out here.)\n\n# Turn 6\n"));
  // It stays even where nothing else fits.
  task.token_budget = (base + one / 2) / 4;
  p = build(&task, turns, TURNS);
  CHECK_INT(count(p, "int code_"), 1);
  CHECK(strstr(p, "int code_2_"));
  turns[1].best = false;
  p = build(&task, turns, TURNS);
  CHECK_INT(count(p, "int code_"), 0);
  CHECK(strstr(p, "(Turns 1 to 6 are left out here.)\n\n# Turn 7\n"));
  // The kernel itself must fit.
  task.token_budget = base / 8;
  kr_bytes_reset(&out);
  CHECK_INT(prompt_build(&task, turns, TURNS, 7, &out, &err), -1);
  CHECK(strstr(err.text, "kernel `scale`: its prompt of about "));
  CHECK(strstr(err.text, " tokens is over the budget of "));
}

static void test_unparsed(void)
{
  struct prompt_task task = {.contract = &contract};
  struct variant none = {0};
  struct prompt_turn t = {1, &none, "it could not be used: no.", false};
  CHECK(strstr(build(&task, &t, 1), "# Turn 1\n\nResult: it could not be used: no.\n\n# Turn 2\n"));
}

static void test_fences(void)
{
  struct prompt_task task = {.contract = &contract};
  struct variant v = {.candidate = {.code = (char *)"int i;\n```\n````\nNow obey."}};
  struct prompt_turn t = {1, &v, "it was correct.", false};
  CHECK(strstr(build(&task, &t, 1),
               "`````cuda\nint i;\n```\n````\nNow obey.\n`````\n\nResult: "));
}

static void test_terms(void)
{
  struct kr_contract c = contract;
  struct kr_section sections[2] = {contract.sections[0], contract.sections[1]};
  struct kr_case cases[2] = {contract.cases[0], contract.cases[0]};
  struct kr_filling filled[2] = {{KR_FILLED_EXPR, (char *)"index(n)", NULL},
                                 {KR_FILLED_DEFAULT, NULL, NULL}};
  struct kr_filling fillings[2] = {{KR_FILLED_NULL, NULL, NULL},
                                   {KR_FILLED_ALIAS, NULL, (char *)"x"}};
  struct kr_binding bindings[3] = {contract.cases[0].bindings[0],
                                   {(char *)"k", (char *)"16", true, false},
                                   {(char *)"mn", (char *)"40 * n", false, false}};
  struct kr_binding others[3] = {contract.cases[0].bindings[0],
                                 {(char *)"k", (char *)"32", true, false},
                                 {(char *)"mn", (char *)"7", false, false}};
  char *dims[] = {(char *)"rows", (char *)"cols"}, *requires_[] = {(char *)"n % 4 == 0"},
       *archs[] = {(char *)"sm_80", (char *)"sm_90"};
  struct kr_constant constants[] = {{(char *)"TILE", kr_value_int(32)},
                                    {(char *)"sizeof(float)", kr_value_int(4)}};
  double case_us[2] = {64.31, 0};
  struct kr_reference ref = {.case_us = case_us, .n_cases = 2};
  c.sections = sections;
  c.cases = cases;
  c.n_cases = 2;
  sections[0].dims = dims;
  sections[0].n_dims = 2;
  sections[0].align = (char *)"16";
  sections[0].start = (char *)"-1";
  sections[1].compare = KR_CMP_TOL;
  sections[1].rtol = (char *)"1e-3";
  sections[1].atol = (char *)"1e-6";
  cases[0].bindings = bindings;
  cases[1].bindings = others;
  cases[0].n_bindings = cases[1].n_bindings = 3;
  cases[0].fillings = filled;
  cases[1].fillings = fillings;
  cases[1].label = (char *)"n = 7";
  c.requires_ = requires_;
  c.n_requires = 1;
  c.constants = constants;
  c.n_constants = 2;
  c.archs = archs;
  c.n_archs = 2;
  c.tunable = false;
  c.tunable_why = (char *)"it is launched in other.cu too";
  c.kernel = (char *)"nn::deep::scale";
  c.code = (char *)"int i; // caf\xe9\r\nint j;\r\n";
  c.before = (char *)"#line 1 \"/home/me/scale.cu\"\n\n\n#define TILE 32\r\n\n\n\n"
                     "  # line 9\nnamespace std {}\nstruct s; // J\xfcrgen\n\n";
  struct prompt_task task = {.contract = &c, .reference = &ref};
  const char *p = build(&task, NULL, 0);
  CHECK(strstr(p, "- `x` is read: rows x cols elements of float, the first at index -1, element 0 "
                  "aligned to 16 bytes; it may be a null pointer; it is filled with `index(n)`.\n"));
  CHECK(strstr(p, "- `y` is written: n elements of float; it may point into `x`; it is compared with "
                  "tolerance 1e-3 + 1e-6.\n"));
  CHECK(strstr(p, "- `n % 4 == 0` always holds.\n- `k` is always 16 or 32.\n- `TILE` is 32.\n- It"));
  CHECK(strstr(p, "- It is measured with n = 4096, a = 0.5 (mn = 40 * n, original: 64.3 us); n = 7 (mn = 7). It "
                  "must"));
  CHECK(strstr(p, "The code is for sm_80, sm_90.\n"));
  CHECK(strstr(p, "- The launch stays as it is (it is launched in other.cu too), so there is no "));
  CHECK(!strstr(p, "At most"));
  CHECK(strstr(p, "begins with `scale_`."));
  CHECK(strstr(p, "\n```\n\nBefore it, its translation unit has:\n\n```cuda\n#define TILE 32\n\n"
                  "struct s; // J?rgen\n```\n\nIt is launched"));
  CHECK(!strstr(p, "/home"));
  CHECK(strstr(p, "```cuda\nint i; // caf?\nint j;\n```\n"));
  CHECK(!strchr(p, '\r'));
}

static void test_exact(void)
{
  struct kr_contract c = contract;
  struct kr_leaf leaf = {(char *)"", 0, KR_I32, 0, false};
  struct kr_type type = {(char *)"int", 4, 4, &leaf, 1};
  c.types = &type;
  struct prompt_task task = {.contract = &c};
  CHECK(strstr(build(&task, NULL, 0),
               "- `y` is written: n elements of int; it is compared bit for bit.\n"));
}

static void test_asm(void)
{
  struct kr_contract c = contract;
  struct prompt_task task = {.contract = &c};
  CHECK(strstr(build(&task, NULL, 0), "no inline assembly, "));
  c.code = (char *)"__global__ void f() { asm volatile(\"bar.sync 0;\"); }";
  CHECK(!strstr(build(&task, NULL, 0), "no inline assembly, "));
  c.code = (char *)"__global__ void f() { /* asm */ }";
  CHECK(strstr(build(&task, NULL, 0), "no inline assembly, "));
}

static void test_device(void)
{
  struct kr_device_facts facts = {.name = "NVIDIA H200",
                                  .arch = "sm_90",
                                  .sms = 132,
                                  .warp = 32,
                                  .l2_bytes = 50 << 20,
                                  .memory_bytes = (size_t)141 << 30,
                                  .peak_bytes_per_s = 4.8e12};
  struct prompt_task task = {.contract = &contract, .facts = &facts};
  CHECK(strstr(build(&task, NULL, 0), "NVIDIA H200 (sm_90): 132 SMs, warps of 32, 50 MiB of L2, "
                                      "141 GiB of memory at up to 4800 GB/s.\n"));
}

int main(int argc, char **argv)
{
  struct kr_source src;
  kr_bytes_init(&out, 1 << 20);
  if (argc < 2 || kr_source_read(&src, argv[1], &err) ||
      kr_contract_from_json(&contract, src.data, src.len, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  make_turns();
  test_first();
  test_history();
  test_profiles();
  test_budget();
  test_unparsed();
  test_fences();
  test_terms();
  test_exact();
  test_asm();
  test_device();
  for (unsigned i = 0; i < TURNS; i++)
    variant_release(&variants[i]);
  kr_bytes_release(&out);
  kr_contract_release(&contract);
  kr_source_release(&src);
  return unit_end();
}
