#include "report.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void report_set(struct kr_run_result *r, enum kr_run_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void report_set(struct kr_run_result *r, enum kr_run_status status, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(r->text, sizeof r->text, fmt, ap);
  va_end(ap);
  r->status = status;
}

// Where an address lies: in or beside a buffer, in shared memory, near null.
static void report_place(const struct kr_job *job, const struct kr_image *image,
                         const struct kr_instance *in, const uint64_t *data, uint64_t address,
                         char *out, size_t size)
{
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    const struct kr_job_buffer *j = &job->buffers[i];
    if (b->null || address < j->address - KR_BUFFER_GUARD / 2 ||
        address >= j->address + j->bytes + KR_BUFFER_GUARD / 2)
      continue;
    const char *path = in->contract->sections[b->section].path;
    size_t unit = b->type->size ? b->type->size : 1;
    if (address >= data[i]) {
      uint64_t past = address - data[i];
      if (j->readonly && past / unit < (uint64_t)b->count)
        snprintf(out, size, "element %llu of `%s`, which is const",
                 (unsigned long long)(past / unit), path);
      else
        snprintf(out, size, "element %llu of `%s`, which has %lld",
                 (unsigned long long)(past / unit), path, (long long)b->count);
    } else {
      snprintf(out, size, "%llu bytes before the start of `%s`",
               (unsigned long long)(data[i] - address), path);
    }
    return;
  }
  uint64_t dynamic = KR_SHARED_BASE + (UINT64_C(1) << 32);
  if (address >= KR_SHARED_BASE && address < KR_REGS_BASE) {
    for (uint32_t i = 0; i < image->n_shared; i++) {
      const struct kr_shared_var *v = &image->shared[i];
      if (address >= v->address && address - v->address < v->bytes) {
        snprintf(out, size, "byte %llu of a __shared__ variable of %llu bytes",
                 (unsigned long long)(address - v->address), (unsigned long long)v->bytes);
        return;
      }
      if (address >= v->address + v->bytes &&
          address - v->address - v->bytes < KR_SHARED_GUARD / 2) {
        snprintf(out, size, "%llu bytes past the end of a __shared__ variable of %llu bytes",
                 (unsigned long long)(address - v->address - v->bytes),
                 (unsigned long long)v->bytes);
        return;
      }
      if (address < v->address && v->address - address <= KR_SHARED_GUARD / 2) {
        snprintf(out, size, "%llu bytes before a __shared__ variable of %llu bytes",
                 (unsigned long long)(v->address - address), (unsigned long long)v->bytes);
        return;
      }
    }
    uint64_t pages = (job->shared_bytes + KR_PAGE - 1u) / KR_PAGE * KR_PAGE;
    uint64_t start = dynamic + (pages - job->shared_bytes) / 16 * 16;
    if (address >= start && address - start < job->shared_bytes)
      snprintf(out, size, "byte %llu of the dynamic shared memory",
               (unsigned long long)(address - start));
    else if (address >= dynamic)
      snprintf(out, size, "outside the %u bytes of dynamic shared memory of the launch",
               job->shared_bytes);
    else
      snprintf(out, size, "outside every __shared__ variable");
  } else if (address < 1 << 20) {
    snprintf(out, size, "a null pointer plus %llu bytes", (unsigned long long)address);
  } else {
    snprintf(out, size, "address 0x%llx, in no buffer", (unsigned long long)address);
  }
}

static const char *report_wait(int64_t wait)
{
  switch (wait) {
  case KR_WAIT_BARRIER:
    return "__syncthreads";
  case KR_WAIT_SYNCWARP:
    return "__syncwarp";
  case KR_WAIT_SHUFFLE:
    return "__shfl_*_sync";
  case KR_WAIT_VOTE:
    return "a vote (__ballot_sync, __any_sync, __all_sync)";
  case KR_WAIT_MATCH:
    return "__match_*_sync";
  case KR_WAIT_REDUCE:
    return "__reduce_*_sync";
  default:
    return "__activemask";
  }
}

static const char *report_syscall(int64_t number)
{
  static const struct {
    int number;
    const char *name;
  } names[] = {{0, "read"},    {1, "write"},   {2, "open"},      {9, "mmap"},   {10, "mprotect"},
               {12, "brk"},    {13, "rt_sigaction"}, {14, "rt_sigprocmask"}, {34, "pause"},
               {35, "nanosleep"}, {39, "getpid"}, {41, "socket"}, {56, "clone"}, {57, "fork"},
               {59, "execve"}, {62, "kill"},   {101, "ptrace"},  {110, "getppid"},
               {257, "openat"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].number == number)
      return names[i].name;
  return "another";
}

// "line 7, thread (3,0,0)"
static void report_who(const struct kr_job *job, uint32_t line, uint32_t thread, char *out,
                       size_t size)
{
  const uint32_t *b = job->block;
  char where[32] = "";
  if (line)
    snprintf(where, sizeof where, "line %u, ", line);
  if (!b[0] || !b[1])
    snprintf(out, size, "%sa thread", where);
  else
    snprintf(out, size, "%sthread (%u,%u,%u)", where, thread % b[0], thread / b[0] % b[1],
             thread / b[0] / b[1]);
}

static void report_race(const struct kr_job *job, const char *place, struct kr_run_result *r)
{
  const struct kr_race *x = &job->race;
  char one[96], other[96];
  report_who(job, x->line, x->thread, one, sizeof one);
  report_who(job, x->other_line, x->other, other, sizeof other);
  if (x->thread == x->other && !x->blocks)
    snprintf(other, sizeof other, "%sanother thread of the same warp",
             x->other_line == x->line ? "" : "elsewhere, ");
  report_set(r, KR_RUN_FAULT,
             "race at %s: %s %s it in block (%u,%u,%u), %s%s %s it, and nothing puts one before "
             "the other",
             place, one, x->writes ? "writes" : "reads", job->at_block[0], job->at_block[1],
             job->at_block[2], other, x->blocks ? " of another block" : "",
             x->other_writes ? "writes" : "reads");
}

static void report_fault(const struct kr_job *job, const struct kr_image *image,
                         const struct kr_instance *in, const uint64_t *data,
                         struct kr_run_result *r)
{
  char who[96], place[200];
  snprintf(who, sizeof who, "thread (%u,%u,%u) of block (%u,%u,%u)", job->thread[0],
           job->thread[1], job->thread[2], job->at_block[0], job->at_block[1], job->at_block[2]);
  switch (job->fault) {
  case KR_FAULT_MEMORY:
    report_place(job, image, in, data, job->address, place, sizeof place);
    report_set(r, KR_RUN_FAULT, "invalid memory access: %s %s %s", who,
               job->write ? "writes" : "reads", place);
    return;
  case KR_FAULT_ALIGNMENT:
    report_set(r, KR_RUN_FAULT,
               "invalid memory access: %s uses an address that is not aligned to the width of the "
               "access, or is none", who);
    return;
  case KR_FAULT_STACK:
    report_set(r, KR_RUN_FAULT, "stack overflow: %s uses more than %d KiB of local memory", who,
               KR_STACK_BYTES >> 10);
    return;
  case KR_FAULT_DIVISION:
    report_set(r, KR_RUN_FAULT, "integer division by zero or overflow in %s", who);
    return;
  case KR_FAULT_ASSERT:
    report_set(r, KR_RUN_FAULT, "assertion failed in %s", who);
    return;
  case KR_FAULT_SYSCALL:
    report_set(r, KR_RUN_FAULT, "forbidden system call %lld (%s) by %s", (long long)job->detail,
               report_syscall(job->detail), who);
    return;
  case KR_FAULT_DEADLOCK:
    if (job->waiting_warp)
      report_set(r, KR_RUN_FAULT,
                 "deadlock: of %u threads %u wait at __syncthreads, %u for lanes of their warp and "
                 "%u are done; %s waits at %s with mask 0x%08x",
                 job->threads, job->waiting_block, job->waiting_warp, job->exited, who,
                 report_wait(job->detail), job->mask);
    else
      report_set(r, KR_RUN_FAULT,
                 "deadlock: of %u threads %u wait at __syncthreads and %u are done", job->threads,
                 job->waiting_block, job->exited);
    return;
  case KR_FAULT_DIVERGED:
    report_set(r, KR_RUN_FAULT, "divergence: threads meet at different calls of %s (%s)",
               report_wait(job->detail), who);
    return;
  case KR_FAULT_SHARED_END:
    report_set(r, KR_RUN_FAULT,
               "a thread of block (%u,%u,%u) writes past the end of a __shared__ variable of %llu "
               "bytes",
               job->at_block[0], job->at_block[1], job->at_block[2],
               (unsigned long long)image->shared[job->detail % KR_MAX_SHARED_VARS].bytes);
    return;
  case KR_FAULT_NOT_IN_MASK:
    report_set(r, KR_RUN_FAULT, "%s calls %s with mask 0x%08x, which leaves it out", who,
               report_wait(job->detail), job->mask);
    return;
  case KR_FAULT_RACE:
    report_place(job, image, in, data, job->address, place, sizeof place);
    report_race(job, place, r);
    return;
  case KR_FAULT_NOT_ITS_OWN:
    report_set(r, KR_RUN_FAULT, "the kernel uses memory that is not its own, at 0x%llx (seen at %s)",
               (unsigned long long)job->address, who);
    return;
  default:
    report_set(r, KR_RUN_FAULT, "trap in %s", who);
    return;
  }
}

void report_end(const struct kr_job *job, const struct kr_image *image,
                const struct kr_instance *in, const uint64_t *data, int status, bool late,
                unsigned timeout_ms, struct kr_run_result *r)
{
  r->text[0] = '\0';
  if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
    report_set(r, KR_RUN_TIMEOUT, "the kernel did not finish within %u ms", timeout_ms);
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && job->done == job->nonce) {
    r->status = KR_RUN_OK;
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 3 && job->fault) {
    report_fault(job, image, in, data, r);
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
    report_set(r, KR_RUN_FAULT, "forbidden system call of another interface of the processor");
  } else if (WIFSIGNALED(status)) {
    report_set(r, KR_RUN_FAULT, "the kernel died of signal %d", WTERMSIG(status));
  } else {
    report_set(r, KR_RUN_FAULT, "the kernel ended the process (exit %d) without completion",
               WEXITSTATUS(status));
  }
}
