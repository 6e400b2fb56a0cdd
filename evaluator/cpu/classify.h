#ifndef KR_CPU_CLASSIFY_H
#define KR_CPU_CLASSIFY_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/err.h"
#include "../counters.h"

// What an instruction of the IR costs on a GPU, by class. Loads, stores and
// atomics are not in it: where they go is known at run time.

struct classify_cost {
  uint16_t inst[KR_N_INST];
};

// Adds the cost of `i`. Returns 0, or -1 with a sentence that names what has no
// class: the count of a kernel that holds it would be a guess.
int classify(LLVMValueRef i, struct classify_cost *cost, struct kr_err *err);

// Whether a call may let other threads run, so that straight code ends there.
bool classify_switches(LLVMValueRef call);

// The name of the function that a call calls; "" when it is known at run time only.
const char *classify_callee(LLVMValueRef call);

#endif
