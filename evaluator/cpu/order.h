#ifndef KR_CPU_ORDER_H
#define KR_CPU_ORDER_H

#include <llvm-c/Core.h>
#include <stddef.h>

// The basic blocks of a function that its entry reaches, in an order in which
// control flows: every block after those that lead to it, and a loop's blocks
// together, before the ones its exits lead to. `out` has room for all. Returns
// how many there are.
size_t order_blocks(LLVMValueRef function, LLVMBasicBlockRef *out);

#endif
