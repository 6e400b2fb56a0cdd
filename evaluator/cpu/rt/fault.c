#include "rt.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

_Noreturn void simt_fail(enum kr_fault fault, uint64_t address, int64_t detail)
{
  struct kr_job *job = simt_job;
  job->fault = fault;
  job->address = address;
  job->detail = detail;
  for (int i = 0; i < 3; i++) {
    job->thread[i] = SIMT_REGS->sreg[i];
    job->at_block[i] = SIMT_REGS->sreg[3 + i];
  }
  for (;;)
    syscall(SYS_exit_group, 3);
}

static bool simt_on_guard(uint64_t address)
{
  uint64_t stride = KR_STACK_BYTES + KR_STACK_GUARD;
  return address >= KR_STACKS_BASE && address < KR_STACKS_BASE + (KR_MAX_THREADS + 1) * stride;
}

// The compiler's checks of alignment end in ud1l 22(%eax), %eax: 22 is clang's
// number for it.
static bool simt_is_alignment_check(uint64_t rip)
{
  static const unsigned char ud1[] = {0x67, 0x0f, 0xb9, 0x40, 22};
  return rip >= KR_IMAGE_BASE && rip + sizeof ud1 <= KR_IMAGE_BASE + simt_image->text_bytes &&
         !memcmp((const void *)rip, ud1, sizeof ud1);
}

static void simt_handle(int sig, siginfo_t *info, void *context)
{
  const ucontext_t *uc = context;
  uint64_t address = (uint64_t)info->si_addr;
  switch (sig) {
  case SIGSEGV:
  case SIGBUS:
    // Trap 14 is a page fault, bit 1 of its error code a write. A general
    // protection fault (13) has no address.
    if (uc->uc_mcontext.gregs[REG_TRAPNO] != 14)
      simt_fail(KR_FAULT_ALIGNMENT, 0, 0);
    simt_job->write = (uc->uc_mcontext.gregs[REG_ERR] >> 1) & 1;
    simt_fail(simt_on_guard(address) ? KR_FAULT_STACK : KR_FAULT_MEMORY, address, 0);
  case SIGFPE:
    simt_fail(KR_FAULT_DIVISION, 0, 0);
  case SIGILL:
    simt_fail(simt_is_alignment_check((uint64_t)uc->uc_mcontext.gregs[REG_RIP])
                  ? KR_FAULT_ALIGNMENT
                  : KR_FAULT_TRAP,
              0, sig);
  case SIGSYS:
    simt_fail(KR_FAULT_SYSCALL, 0, info->si_syscall);
  default:
    simt_fail(KR_FAULT_TRAP, 0, sig);
  }
}

int simt_catch_faults(void)
{
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  size_t bytes = 64 << 10;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return -1;
  stack_t stack = {.ss_sp = p, .ss_size = bytes};
  if (sigaltstack(&stack, NULL))
    return -1;
  struct sigaction action = {.sa_sigaction = simt_handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    if (sigaction(signals[i], &action, NULL))
      return -1;
  return 0;
}
