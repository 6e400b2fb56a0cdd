#ifndef KR_CPU_INSTRUMENT_H
#define KR_CPU_INSTRUMENT_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "../base/bytes.h"
#include "../base/err.h"
#include "image.h"

// Makes a module, vetted and lowered (vet.h), tell what it does: image.h says in
// what form. Everything that may hold a loop is inlined into its caller first
// where that can be. Appends a struct kr_trace_head and its tables to `tables`.
// Returns 0, or -1 with a sentence that names what cannot be counted.
int instrument_module(LLVMModuleRef m, LLVMTargetMachineRef tm, struct kr_bytes *tables,
                      struct kr_image *image, struct kr_err *err);

#endif
