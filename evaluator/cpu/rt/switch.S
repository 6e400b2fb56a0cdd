// Changes fibers: keeps what the ABI says a callee keeps, swaps stacks, and
// returns with `ret`, whose target the processor predicts.
//
// void simt_switch(void **save_sp, void *load_sp)
  .text
  .globl simt_switch
  .type simt_switch, @function
  .p2align 4
simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size simt_switch, . - simt_switch
  .section .note.GNU-stack, "", @progbits
