#ifndef KR_CPU_H
#define KR_CPU_H

#include "../backend.h"

// Kernels on the CPU with SIMT semantics: for correctness; it cannot time.
extern const struct kr_backend kr_backend_cpu;

#endif
