#ifndef KR_MODEL_INTERNAL_H
#define KR_MODEL_INTERNAL_H

#include "cuda/sass.h"
#include "evaluate.h"

// Modelled times from inside: what stands in for a clock where a back end counts
// and does not time.

struct model_case {
  bool ready;     // the original was counted; ref.case_us and ref.case_model hold what came of it
  bool kept;      // `in` and `data` stay for the next candidate
  // Whether the original was seen to race there, once somebody had to know.
  enum { RACES_UNKNOWN, RACES_NONE, RACES_SEEN } original_races;
  struct kr_instance in;
  struct kr_dataset *data;
};

// What the machine code for the GPU says.
struct model_code {
  bool known; // it was made; else all is unknown
  struct kr_resources resources[KR_MAX_INSTANTIATIONS]; // of each kernel
  struct sass_facts sass[KR_MAX_INSTANTIATIONS];
  struct kr_hash hash; // of all
};

struct model_state {
  const struct kr_gpu *gpu;
  struct kr_device_facts facts; // of that GPU, for geometry
  struct cuda_static *compiler; // NULL: registers are guessed
  struct model_code original;
  struct model_case *cases; // one a declared case
  size_t kept_bytes;
};

// Counts the original at its declared sizes and fills the reference's modelled
// figures. A case that cannot be counted is told there and is no failure; -1
// when the options name no GPU that is known, or the back end broke.
int model_open(struct kr_evaluator *e, const struct kr_backend_options *options,
               struct kr_err *err);
void model_close(struct kr_evaluator *e);

// --- model_resources.c ---

// Opens the compiler for the GPU's machine code, where there is one.
void model_compiler_open(struct model_state *m, const char *cuda_path);
void model_compiler_close(struct model_state *m);
// What the machine code knows better than bitcode does: how many of a warp's loads
// are under way together.
void model_refine(const struct model_code *code, size_t kernel, struct kr_counters *c);
void model_code(const struct model_state *m, const struct kr_contract *c, const char *text,
                size_t len, struct model_code *out);

#endif
