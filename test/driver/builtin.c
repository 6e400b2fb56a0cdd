// RUN: %unit/builtin %S/Inputs/gelu.contract.json
//
// How the built-in model reacts to verdicts: a judge that decides by what it finds
// in the code, so that every step can be foreseen.
#include "../unit.h"

#include "driver/refine.h"
#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"

static struct kr_contract contract;

struct script {
  bool untimed, all_wrong, several; // several elements a thread are right and fast
  unsigned judged, wrong;
  char *codes[64]; // in the order in which they came, with their launches
};

static bool has(const char *code, const char *word)
{
  return strstr(code, word) != NULL;
}

static bool same_code(const char *a, const char *b)
{
  return kr_hash_equal(kr_lex_hash(a, strlen(a)), kr_lex_hash(b, strlen(b)));
}

static int judge(void *arg, const struct kr_candidate *cand, unsigned number, struct kr_verdict *v,
                 struct kr_err *err)
{
  struct script *s = arg;
  (void)err;
  const char *block = cand->has_geometry ? cand->geometry.block[0] : contract.geometry.block[0];
  CHECK_INT(number, s->judged + 1);
  CHECK(s->judged < 64);
  struct kr_bytes launch;
  kr_bytes_init(&launch, 1 << 16);
  variant_geometry(cand->has_geometry ? &cand->geometry : &contract.geometry, &launch);
  s->codes[s->judged++] = kr_xasprintf("%s\n// %s", cand->code, launch.data);
  kr_bytes_release(&launch);
  v->stage = KR_STAGE_TIME;
  v->status = KR_STATUS_OK;
  double speedup = 1;
  if (has(cand->code, "0.5f"))
    speedup *= 2;
  if (!has(cand->code, "pow"))
    speedup *= 1.25;
  if (!strcmp(block, "256"))
    speedup *= 1.1;
  if (!strcmp(block, "1024"))
    speedup *= 0.7;
  // Several elements a thread are wrong here, 16 bytes slower, restrict does nothing.
  bool wrong = (has(cand->code, "part <") && !s->several) || s->all_wrong;
  if (has(cand->code, "part < 4"))
    speedup *= 1.2;
  if (has(cand->code, "part < 8"))
    speedup *= 1.5;
  if (has(cand->code, "float4"))
    speedup *= 0.5;
  if (wrong) {
    v->stage = KR_STAGE_CHECK;
    v->status = KR_STATUS_WRONG;
    s->wrong++;
  } else if (same_code(cand->code, contract.code) && !cand->has_geometry) {
    v->status = KR_STATUS_UNCHANGED;
  } else if (!s->untimed) {
    v->speedup = v->lo = v->hi = speedup;
  } else {
    v->stage = KR_STAGE_CHECK;
  }
  return 0;
}

static void script_release(struct script *s)
{
  for (unsigned i = 0; i < s->judged; i++)
    free(s->codes[i]);
}

static int run(struct model *m, struct script *s, const struct kr_contract *c, unsigned trajectories,
               unsigned turns, struct refine_result *result, struct kr_err *err)
{
  struct kr_device_facts facts = {.name = "script", .arch = "cpu"};
  struct refine r = {.task = {.contract = c, .facts = &facts},
                     .model = m,
                     .judge = judge,
                     .judge_arg = s,
                     .options = {.trajectories = trajectories, .turns = turns}};
  return refine_run(&r, result, err);
}

static struct model *open_model(void)
{
  struct model_options options = {.temperature = -1};
  struct kr_err err = {""};
  struct model *m;
  CHECK_INT(model_open("builtin", &options, &m, &err), 0);
  return m;
}

static void builds_on_what_won(void)
{
  struct model *m = open_model();
  struct script s = {0};
  struct refine_result r;
  struct kr_err err = {""};
  CHECK(!model_is_remote(m) && !model_reads_prompts(m));
  CHECK_STR(model_name(m), "builtin");
  CHECK_INT(run(m, &s, &contract, 16, 4, &r, &err), 0);
  CHECK_INT(r.end, REFINE_EXHAUSTED);
  CHECK_STR(r.why, "kernel `gelu_forward`: the built-in model has nothing left to try");
  CHECK_INT(r.calls, r.n);
  CHECK(r.n > 5 && r.n < 64);
  // Everything that helps is in the best: 2 * 1.25 * 1.1.
  CHECK(r.n_finalists > 0);
  const struct refine_turn *best = &r.turns[r.finalists[0]];
  CHECK_NEAR(best->verdict.speedup, 2.75, 1e-9);
  CHECK(has(best->variant.candidate.code, "0.5f") && !has(best->variant.candidate.code, "pow"));
  CHECK(best->variant.candidate.has_geometry);
  CHECK_STR(best->variant.candidate.geometry.block[0], "256");
  CHECK_STR(best->variant.candidate.geometry.grid[0], "ceil_div(n, 256)");
  // The biggest guess first, the next on top of it.
  CHECK(has(r.turns[0].variant.summary, "float-arithmetic ("));
  CHECK(has(r.turns[1].variant.summary, "small-powers (powf(v,3.0f))"));
  CHECK(has(r.turns[1].variant.summary, "On top of float-arithmetic."));
  // What was wrong at a place is not tried there again: x2, x4, x8, once each.
  CHECK_INT(s.wrong, 3);
  // Nothing is proposed twice, and turns go on over trajectories.
  for (size_t i = 0; i < r.n; i++) {
    CHECK(r.turns[i].same_as == SIZE_MAX);
    CHECK_INT(r.turns[i].trajectory, i / 4 + 1);
    for (size_t k = 0; k < i; k++)
      CHECK(strcmp(s.codes[i], s.codes[k]) != 0);
  }
  // The same verdicts, the same proposals; and the model has forgotten the last run.
  struct script again = {0};
  struct refine_result r2;
  CHECK_INT(run(m, &again, &contract, 16, 4, &r2, &err), 0);
  CHECK_INT(r2.n, r.n);
  for (unsigned i = 0; i < again.judged && i < s.judged; i++)
    CHECK_STR(again.codes[i], s.codes[i]);
  refine_result_release(&r2);
  script_release(&again);
  refine_result_release(&r);
  script_release(&s);
  model_close(m);
}

static void tries_other_numbers_of_what_won(void)
{
  struct model *m = open_model();
  struct script s = {.several = true};
  struct refine_result r;
  struct kr_err err = {""};
  CHECK_INT(run(m, &s, &contract, 16, 4, &r, &err), 0);
  CHECK_INT(r.end, REFINE_EXHAUSTED);
  // x4 is the better guess and came first; x8 is put in its place, on the same base.
  CHECK(r.n_finalists > 0);
  const struct refine_turn *best = &r.turns[r.finalists[0]];
  CHECK_NEAR(best->verdict.speedup, 3.75, 1e-9);
  CHECK(has(best->variant.candidate.code, "part < 8") && !has(best->variant.candidate.code, "part < 4"));
  size_t four = SIZE_MAX, eight = SIZE_MAX;
  for (size_t i = r.n; i-- > 0;) {
    if (has(r.turns[i].variant.summary, "coarsen (idx x4)"))
      four = i;
    if (has(r.turns[i].variant.summary, "coarsen (idx x8)"))
      eight = i;
  }
  CHECK(four < eight && eight < r.n);
  refine_result_release(&r);
  script_release(&s);
  model_close(m);
}

static void composes_where_nothing_is_timed(void)
{
  struct model *m = open_model();
  struct script s = {.untimed = true};
  struct refine_result r;
  struct kr_err err = {""};
  CHECK_INT(run(m, &s, &contract, 16, 4, &r, &err), 0);
  CHECK_INT(r.end, REFINE_EXHAUSTED);
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < r.n; i++) {
    if (r.turns[i].verdict.status == KR_STATUS_OK)
      last = i;
    // Sizes are only worth a comparison.
    CHECK(!has(r.turns[i].variant.summary, "block-size"));
  }
  CHECK(last != SIZE_MAX);
  if (last != SIZE_MAX) {
    const char *code = r.turns[last].variant.candidate.code;
    CHECK(has(code, "0.5f") && !has(code, "pow") && has(code, "__restrict__"));
    CHECK(!has(code, "part <"));
  }
  refine_result_release(&r);
  script_release(&s);
  model_close(m);
}

static void gives_up_when_all_is_wrong(void)
{
  struct model *m = open_model();
  struct script s = {.all_wrong = true};
  struct refine_result r;
  struct kr_err err = {""};
  CHECK_INT(run(m, &s, &contract, 16, 4, &r, &err), 0);
  CHECK_INT(r.end, REFINE_EXHAUSTED);
  CHECK_INT(r.n_finalists, 0);
  CHECK(r.n > 3);
  for (size_t i = 0; i < r.n; i++)
    CHECK(!has(r.turns[i].variant.summary, "On top of"));
  refine_result_release(&r);
  script_release(&s);
  model_close(m);
}

static void keeps_within_its_turns(void)
{
  struct model *m = open_model();
  struct script s = {0};
  struct refine_result r;
  struct kr_err err = {""};
  CHECK_INT(run(m, &s, &contract, 2, 1, &r, &err), 0);
  CHECK_INT(r.end, REFINE_DONE);
  CHECK_INT(r.n, 2);
  refine_result_release(&r);
  script_release(&s);
  model_close(m);
}

static void says_when_no_rule_applies(void)
{
  struct model *m = open_model();
  struct script s = {0};
  struct refine_result r;
  struct kr_err err = {""};
  struct kr_contract other = contract;
  other.code = "static __global__ void gelu_forward(const float *x, float *y, int n)\n"
               "{\n  switch (n) { default: y[0] = x[0]; }\n}";
  other.tunable = false;
  // Aliases leave nothing to say about the pointers either.
  struct kr_filling fillings[2] = {{.kind = KR_FILLED_DEFAULT},
                                   {.kind = KR_FILLED_ALIAS, .alias = "x"}};
  struct kr_case one = contract.cases[0];
  one.fillings = fillings;
  other.cases = &one;
  other.n_cases = 1;
  CHECK_INT(run(m, &s, &other, 4, 4, &r, &err), 0);
  CHECK_INT(r.end, REFINE_EXHAUSTED);
  CHECK_INT(r.n, 0);
  CHECK_INT(r.calls, 0);
  CHECK_STR(r.why, "kernel `gelu_forward`: no rule of the built-in model applies");
  refine_result_release(&r);
  script_release(&s);
  model_close(m);
}

int main(int argc, char **argv)
{
  struct kr_source src;
  struct kr_err err = {""};
  if (argc != 2 || kr_source_read(&src, argv[1], &err) ||
      kr_contract_from_json(&contract, src.data, src.len, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  builds_on_what_won();
  tries_other_numbers_of_what_won();
  composes_where_nothing_is_timed();
  gives_up_when_all_is_wrong();
  keeps_within_its_turns();
  says_when_no_rule_applies();
  kr_contract_release(&contract);
  kr_source_release(&src);
  return unit_end();
}
