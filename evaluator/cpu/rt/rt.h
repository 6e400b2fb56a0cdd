#ifndef KR_CPU_RT_H
#define KR_CPU_RT_H

#include <stdbool.h>
#include <stdint.h>

#include "../image.h"

// The runtime: one image, one job, one launch, then gone.

typedef void simt_entry(void **arguments);

extern struct kr_job *simt_job;
extern const struct kr_image *simt_image;
extern void *simt_arguments[1024];
#define SIMT_REGS ((struct kr_simt_regs *)KR_REGS_BASE)

// --- fault.c ---

// Reports and ends the process; the job then tells the parent what happened.
_Noreturn void simt_fail(enum kr_fault fault, uint64_t address, int64_t detail);
// Signal handlers on a stack of their own. Returns 0, or -1 with errno.
int simt_catch_faults(void);

// --- lock.c ---

// Limits, before anything is mapped. Returns 0, or -1 with errno.
int simt_limit(void);
// From here on: exit, exit_group, futex and rt_sigreturn; every other system
// call is trapped. Returns 0, or -1 with errno.
int simt_lock(void);

// --- sched.c ---

// Maps the stacks for the job's block. Returns 0, or -1 with errno.
int simt_stacks(void);
// Runs the whole grid.
void simt_run(void);
// Address of a function of imports.def.
uint64_t simt_import(enum kr_import which);

void simt_switch(void **save_sp, void *load_sp);

#endif
