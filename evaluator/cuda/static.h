#ifndef KR_CUDA_STATIC_H
#define KR_CUDA_STATIC_H

#include "../backend.h"
#include "sass.h"

// What a kernel would take of a GPU that is not here: it is compiled for its
// architecture and the machine code is read. Needs a toolkit, but no GPU.

struct cuda_static;

// Returns -1 with a sentence when the toolkit at `cuda_path` has no NVRTC.
int cuda_static_open(struct cuda_static **out, const char *cuda_path, struct kr_err *err);
void cuda_static_close(struct cuda_static *s);
// Fills registers and local_bytes (the other members stay unknown) of each kernel,
// kr_contract_kernels() of them, what its code does with loads, and the fingerprint
// of the machine code of all. Returns -1 with a sentence when the text does not compile for `arch`.
int cuda_static_read(struct cuda_static *s, const struct kr_contract *c, const char *arch,
                     const char *text, size_t len, struct kr_resources *out,
                     struct sass_facts *sass, struct kr_hash *hash, struct kr_err *err);

#endif
