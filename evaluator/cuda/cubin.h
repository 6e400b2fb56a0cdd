#ifndef KR_CUDA_CUBIN_H
#define KR_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/err.h"
#include "../base/hash.h"

// What a cubin (an ELF file) says about a kernel.

enum { CUBIN_MAX_PARAMS = 256 };

struct cubin_facts {
  // Of the machine code of the kernel and of everything it reaches, of the
  // constants and initial data it reads, and of its shared memory's size.
  // Names, places in the file and debug data count for nothing: a renamed or
  // reformatted kernel has the same fingerprint.
  struct kr_hash code;
  // The module has device variables that a kernel can write and that live from
  // launch to launch.
  bool has_state;
  // Bytes of each parameter, in order. More than CUBIN_MAX_PARAMS are counted
  // but not kept.
  size_t n_params;
  unsigned param_sizes[CUBIN_MAX_PARAMS];
  // A thread's registers and bytes of its stack frame; -1 where it is not said.
  int registers, frame_bytes;
};

// The machine code of a kernel alone; NULL when the bytes are no cubin or lack it.
const unsigned char *cubin_text(const unsigned char *bytes, size_t len, const char *kernel,
                                size_t *text_len);

// Returns -1 with a sentence when the bytes are no cubin or lack the kernel.
int cubin_read(const unsigned char *bytes, size_t len, const char *kernel,
               struct cubin_facts *out, struct kr_err *err);

// Names the device variables that make `has_state`. Constant tables of functions are
// among them: what a cubin holds does not tell which of them code may write.
void cubin_each_state(const unsigned char *bytes, size_t len,
                      void (*visit)(void *arg, const char *name), void *arg);

// Whether two modules of one file hold the same functions with the same machine
// code, relocations and constants, but for those of the names in `except` (as they
// are written in the source: a mangled name counts that has one of them as a part), and
// helpers called after them (NAME_...) that only the second holds.
// Returns 1, or 0 with what differs in `what`, or -1 with `err` set.
int cubin_same_but(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len,
                   const char *const *except, size_t n, char *what, size_t size,
                   struct kr_err *err);

#endif
