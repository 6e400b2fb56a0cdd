// RUN: %unit/screen_facts
// The fact screen, on facts built by hand: one thing wrong at a time.
#include "rewriter/rewriter.h"
#include "unit.h"

static const char original[] =
    "static __global__ void axpy(int n, const float *x, float *y)\n{\n  y[n] = x[n];\n}";
static struct kr_contract contract = {.kernel = (char *)"nn::axpy", .before = (char *)"",
                                      .code = (char *)original, .after = (char *)"",
                                      .signature = (char *)"(int, const float *, float *)"};
static struct kr_pleaf leaf = {.path = (char *)"", .kind = KR_SCALAR_POINTER};
static struct kr_pparam params[3];
static struct kr_pkernel kernel;

static struct kr_fact_decl decls[3];
static struct kr_fact_use uses[2];
static bool restricted[3];
static struct kr_diag error;
static struct kr_facts facts;

// What kevin-parse says of an honest variant with a helper and a constant.
static void honest(void)
{
  params[1].type = params[2].type = (struct kr_ptype){.leaves = &leaf, .n_leaves = 1};
  kernel = (struct kr_pkernel){.name = (char *)"axpy", .qualified = (char *)"nn::axpy",
                               .signature = (char *)"(int, const float *, float *)",
                               .linkage = KR_LINKAGE_INTERNAL, .params = params, .n_params = 3};
  decls[0] = (struct kr_fact_decl){.kind = KR_FACT_FUNCTION, .name = (char *)"axpy_add", .qualified = (char *)"nn::axpy_add",
                                   .line = 1, .is_device = true, .attributes = (char *)"__device__ __forceinline__"};
  decls[1] = (struct kr_fact_decl){.kind = KR_FACT_CONSTANT, .name = (char *)"axpy_w", .qualified = (char *)"nn::axpy_w",
                                   .line = 2, .is_constexpr = true, .has_initialiser = true, .attributes = (char *)"constexpr"};
  decls[2] = (struct kr_fact_decl){.kind = KR_FACT_FUNCTION, .name = (char *)"axpy", .qualified = (char *)"nn::axpy",
                                   .line = 3, .is_kernel = true, .is_static = true, .attributes = (char *)"static __global__ __launch_bounds__ ( 256 )"};
  uses[0] = (struct kr_fact_use){(char *)"axpy_add", 4, true};
  uses[1] = (struct kr_fact_use){(char *)"__syncthreads", 5, false};
  memset(restricted, 0, sizeof restricted);
  facts = (struct kr_facts){.decls = decls, .n_decls = 3, .uses = uses, .n_uses = 2, .kernel_usr = (char *)"c:x",
                            .kernel_signature = (char *)"(int, const float *, float *)",
                            .kernel_linkage = KR_LINKAGE_INTERNAL, .param_restrict = restricted, .n_params = 3,
                            .suffix_intact = true};
}

static void verdict(int line, const char *rule)
{
  struct kr_screen s = {0};
  struct kr_screen_input in = {.code = original, .kernel = &kernel, .contract = &contract};
  kr_screen_facts(&in, &facts, &s);
  unit_checks++;
  bool found = !rule && !s.n;
  for (size_t i = 0; i < s.n; i++)
    found = found || (rule && !strcmp(s.items[i].rule, rule));
  if (!found) {
    unit_failures++;
    fprintf(stderr, "%s:%d: %s wanted, not %s: %s\n", __FILE__, line, rule ? rule : "nothing",
            s.n ? s.items[0].rule : "nothing", s.n ? s.items[0].text : "");
  }
  kr_screen_release(&s);
}

#define WITH(change, rule)                                                                         \
  do {                                                                                             \
    honest();                                                                                      \
    change;                                                                                        \
    verdict(__LINE__, rule);                                                                       \
  } while (0)

int main(void)
{
  WITH((void)0, NULL);
  // The kernel's symbol.
  WITH(facts.kernel_usr = NULL, "kernel");
  WITH(facts.kernel_signature = (char *)"(long, const float *, float *)", "signature");
  WITH(facts.kernel_signature = NULL, "signature");
  WITH(facts.n_params = 2, "signature");
  WITH(facts.kernel_linkage = KR_LINKAGE_EXTERNAL, "linkage");
  WITH(decls[2].is_extern_c = true, "linkage");
  WITH(decls[2].qualified = (char *)"axpy", "linkage");
  WITH(decls[1] = decls[2], "kernel");
  WITH(decls[0].is_kernel = true, "kernel");
  WITH(decls[2].attributes = (char *)"__global__ __cluster_dims__ ( 2 )", "attribute");
  WITH(decls[0].attributes = (char *)"__device__ [ [ gnu :: constructor ] ]", "attribute");
  // restrict
  WITH(restricted[1] = true, NULL);
  struct kr_parg args[3] = {{.text = (char *)"n"}, {.text = (char *)"p"}, {.text = (char *)"p"}};
  struct kr_psite site = {.file = (char *)"k.cu", .line = 3, .args = args, .n_args = 3};
  WITH((kernel.sites = &site, kernel.n_sites = 1), NULL);
  WITH((kernel.sites = &site, kernel.n_sites = 1, restricted[1] = true), "restrict");
  leaf.is_restrict = true;
  WITH((kernel.sites = &site, kernel.n_sites = 1, restricted[1] = true), NULL);
  leaf.is_restrict = false;
  // Names.
  WITH((decls[0].name = (char *)"add", decls[0].qualified = (char *)"nn::add"), "name-prefix");
  WITH((decls[0].name = (char *)"axpy_add", decls[0].qualified = (char *)"other::axpy_add"), "name-prefix");
  WITH((decls[0].name = (char *)"expf", decls[0].qualified = (char *)"expf"), "name-prefix");
  WITH(decls[0].hides = true, "name-taken");
  WITH(decls[0].is_extern_c = true, "linkage");
  WITH((decls[0].is_extern_c = decls[2].is_extern_c = kernel.extern_c = true), NULL);
  // A member of a helper's type needs no prefix of its own.
  WITH((decls[0].kind = KR_FACT_CONSTANT, decls[0].is_device = false, decls[0].name = (char *)"left",
        decls[0].qualified = (char *)"nn::axpy_side::left", decls[0].attributes = (char *)""), NULL);
  WITH((decls[1].kind = KR_FACT_TYPE, decls[1].name = (char *)"(unnamed enum at k.cu:3:1)", decls[1].qualified = decls[1].name), NULL);
  WITH((decls[1].kind = KR_FACT_CONSTANT, decls[1].name = (char *)"left", decls[1].qualified = (char *)"nn::left"), "name-prefix");
  // Host code and state.
  WITH(decls[0].is_device = false, "host");
  WITH(decls[0].is_host = true, "host");
  WITH((decls[0].is_device = false, decls[0].is_constexpr = true), NULL);
  WITH((decls[1].kind = KR_FACT_VARIABLE, decls[1].is_constexpr = false, decls[1].is_mutable = true), "state");
  WITH((decls[1].kind = KR_FACT_VARIABLE, decls[1].is_constexpr = false, decls[1].is_constant = true), "state");
  WITH((decls[1].kind = KR_FACT_VARIABLE, decls[1].is_constexpr = false, decls[1].is_shared = true), "state");
  WITH((decls[1].kind = KR_FACT_VARIABLE, decls[1].is_constexpr = false), "host");
  WITH(decls[1].is_device = true, "state");
  WITH(decls[1].is_constexpr = false, "host");
  WITH(decls[1].kind = KR_FACT_OTHER, "declaration");
  WITH((decls[1].kind = KR_FACT_OTHER, decls[1].name = (char *)"StaticAssert", decls[1].qualified = decls[1].name), NULL);
  WITH((decls[1].kind = KR_FACT_OTHER, decls[1].name = (char *)"UsingDirective", decls[1].qualified = decls[1].name), "declaration");
  // What the code does.
  WITH(uses[1].name = (char *)"clock64", "clock");
  WITH(uses[1].name = (char *)"__nvvm_read_ptx_sreg_smid", "clock");
  WITH(uses[1].name = (char *)"__nvvm_read_ptx_sreg_tid_x", NULL);
  WITH(uses[1].name = (char *)"printf", "print");
  WITH(uses[1].name = (char *)"__nanosleep", "stop");
  WITH(uses[1].name = (char *)"cudaMalloc", "runtime");
  WITH(facts.has_static_local = true, "static-local");
  WITH(facts.has_asm = true, "asm");
  WITH(facts.has_goto_computed = true, "goto");
  WITH(facts.suffix_intact = false, "unbalanced");
  error = (struct kr_diag){KR_SEV_ERROR, 5, 1, (char *)"use of undeclared identifier 'q'", NULL};
  WITH((facts.errors = &error, facts.n_errors = 1), "parse");
  error.severity = KR_SEV_WARNING;
  WITH((facts.errors = &error, facts.n_errors = 1), NULL);
  return unit_end();
}
