#ifndef KR_CPU_VET_H
#define KR_CPU_VET_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "../base/err.h"
#include "image.h"

// What a module may hold before any code is made of it, and the rewriting that
// turns it into SIMT code: thread-local variables become memory of the block,
// __kr_sregs the running thread's registers.

// Checks the whole module against allow-lists. Returns 0, or -1 with a sentence
// that names what was found.
int vet_module(LLVMModuleRef m, struct kr_err *err);

// Rewrites a vetted module, makes everything but the entry private to it and
// drops what the entry does not reach. Fills flags and shared memory of `image`.
// Returns 0, or -1 with a sentence.
int vet_lower(LLVMModuleRef m, LLVMTargetMachineRef tm, struct kr_image *image,
              struct kr_err *err);

// The index of a function of imports.def, or -1.
int vet_import(const char *name, size_t len);

// The name of the one function a module must define and may not otherwise.
#define VET_ENTRY "__kr_entry"
// The variable that stands for the running thread's registers.
#define VET_REGISTERS "__kr_sregs"

#endif
