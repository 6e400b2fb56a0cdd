#include "model_internal.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#ifdef KR_HAVE_CUDA
#include "cuda/static.h"
#endif

// Registers of a GPU that is not here. With a toolkit the machine code is made
// and read; without one nobody knows before ptxas, and gpu_model.c guesses.

static void forget(struct model_code *code)
{
  memset(code, 0, sizeof *code);
  for (size_t i = 0; i < KR_MAX_INSTANTIATIONS; i++)
    code->resources[i] = (struct kr_resources){-1, -1, -1, -1, 0, 0};
}

#ifdef KR_HAVE_CUDA

// What an integer division by what is not known beforehand becomes.
enum { INT_DIV_INSTRUCTIONS = 18 };

void model_compiler_open(struct model_state *m, const char *cuda_path)
{
  struct kr_err err = {{0}};
  // Nobody who says `none` wants one that lies about.
  if (cuda_path && cuda_static_open(&m->compiler, cuda_path, &err))
    kr_debug("time", "registers are guessed: %s", err.text);
}

void model_compiler_close(struct model_state *m)
{
  cuda_static_close(m->compiler);
  m->compiler = NULL;
}

void model_code(const struct model_state *m, const struct kr_contract *c, const char *text,
                size_t len, struct model_code *out)
{
  struct kr_err err = {{0}};
  forget(out);
  if (!m->compiler)
    return;
  out->known = !cuda_static_read(m->compiler, c, m->gpu->arch, text, len, out->resources,
                                 out->sass, &out->hash, &err);
  if (out->known)
    return;
  forget(out);
  kr_debug("time", "registers are guessed: %s", err.text);
}

void model_refine(const struct model_code *code, size_t kernel, struct kr_counters *c)
{
  if (!code->known || !(c->warps > 0))
    return;
  struct sass_part x;
  double loads = c->loads.requests / c->warps;
  struct sass_counted counts = {
      .loads = loads,
      .stores = c->stores.requests / c->warps,
      .shared = (c->inst[KR_INST_SHARED] + c->inst[KR_INST_ATOMIC_SHARED]) / c->warps,
      .floats = (c->inst[KR_INST_FP32] + c->inst[KR_INST_FP64] + c->inst[KR_INST_FP16]) / c->warps};
  bool all = sass_execute(&code->sass[kernel], &counts, &x);
  if (x.batches > 0 && x.loads > 0.5 * loads && loads > 0) {
    c->chain_global = x.batches;
    c->loads_in_flight = loads / x.batches;
  }
  // Machine code is shorter than bitcode, but not by so much: a loop whose accesses
  // stand under a condition is gone through more often than they are made. It is
  // longer where functions are inlined with their rare cases, not in loops.
  double most = code->sass[kernel].n_loops ? 1.6 : 4;
  if (x.instructions < 0.3 * c->chain_inst || x.instructions > most * c->chain_inst + 50)
    all = false;
  if (!all) {
    // How far instructions are apart is known even where their number is not.
    double times = x.instructions > 0 ? c->chain_inst / x.instructions : 0;
    c->chain_cycles = x.stalls * times;
    c->chain_waits = x.waits * times;
    return;
  }
  // The share of the classes stays as it was counted.
  static const enum kr_inst_class scaled[] = {KR_INST_FP32, KR_INST_FP16, KR_INST_INT,
                                              KR_INST_CONVERT, KR_INST_CONTROL, KR_INST_OTHER};
  double counted = 0, sum = 0;
  for (int i = 0; i < KR_N_INST; i++)
    sum += c->inst[i];
  c->inst[KR_INST_INT] += INT_DIV_INSTRUCTIONS * c->inst[KR_INST_INT_DIV];
  c->inst[KR_INST_INT_DIV] = 0;
  c->inst[KR_INST_SFU] = x.special * c->warps;
  for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++)
    counted += c->inst[scaled[i]];
  double others = -counted;
  for (int i = 0; i < KR_N_INST; i++)
    others += c->inst[i];
  double made = x.instructions * c->warps - others, all_made = 0;
  for (size_t i = 0; i < sizeof scaled / sizeof *scaled && counted > 0; i++)
    c->inst[scaled[i]] *= fmax(made, 0) / counted;
  for (int i = 0; i < KR_N_INST; i++)
    all_made += c->inst[i];
  c->lane_inst *= sum > 0 ? all_made / sum : 1;
  c->chain_inst = x.instructions;
  c->chain_cycles = x.stalls;
  c->chain_waits = x.waits;
  c->from_machine_code = true;
}

#else

void model_refine(const struct model_code *code, size_t kernel, struct kr_counters *c)
{
  (void)code, (void)kernel, (void)c;
}

void model_compiler_open(struct model_state *m, const char *cuda_path)
{
  (void)cuda_path;
  m->compiler = NULL;
  kr_debug("time", "registers are guessed: this was built without a CUDA toolkit");
}

void model_compiler_close(struct model_state *m)
{
  m->compiler = NULL;
}

void model_code(const struct model_state *m, const struct kr_contract *c, const char *text,
                size_t len, struct model_code *out)
{
  (void)m, (void)c, (void)text, (void)len;
  forget(out);
}

#endif
