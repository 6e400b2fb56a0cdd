#ifndef KR_CUDA_COMPILE_H
#define KR_CUDA_COMPILE_H

#include "libnvrtc.h"
#include "toolkit.h"

#include "../contract.h"

// From a translation unit to machine code, in process, with NVRTC. No GPU and
// no driver is needed: the architecture is named.

struct nvrtc_compiler {
  const struct libnvrtc *lib;
  struct toolkit kit;
  char *cuda_stdint; // libcu++'s <cuda/std/cstdint> with nvcc's types; NULL: as it is
};

// `cuda_path` may be NULL. Returns -1 with a sentence that says what is missing.
int nvrtc_compiler_open(struct nvrtc_compiler *c, const char *cuda_path, struct kr_err *err);
void nvrtc_compiler_release(struct nvrtc_compiler *c);

// Machine code and the symbols of its kernels: one, or one an instantiation of
// the contract's template.
struct cuda_code {
  unsigned char *cubin;
  size_t len;
  char **lowered;
  size_t n_lowered;
};

void cuda_code_release(struct cuda_code *code);

// Compiles `text` under the contract's flags for `arch` ("sm_90"); where the
// project itself asks for the architecture's own instructions (sm_90a), for
// that. `log` receives the compiler's words, places written `file:line: error:`.
// Returns 0; 1 when the text does not compile; -1 when NVRTC could not be run
// as asked: a flag it has no counterpart for, an architecture it does not know.
int nvrtc_compile(const struct nvrtc_compiler *c, const struct kr_contract *contract,
                  const char *arch, const char *text, size_t len, struct cuda_code *out,
                  struct kr_bytes *log, struct kr_err *err);

#endif
