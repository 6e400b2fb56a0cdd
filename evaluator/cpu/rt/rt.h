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

// Runs one block, the nth of the grid.
void simt_run_block(uint64_t n);

// --- trace.c ---

// Whether the image tells what it does.
extern bool simt_traced;
// Memory for rows and tallies. `tables` is a struct kr_trace_head and what follows
// it, of `bytes`. Returns 0, or -1 with errno.
int simt_trace_setup(const void *tables, uint64_t bytes);
// Where the rows of a thread start, and where its room for another segment ends.
uint64_t simt_trace_start(int thread);
uint64_t simt_trace_last(int thread);
// No thread of a warp can go on: the rows of `lanes`, from where each starts to `at`, become
// instructions of the warp. What stays, because a lane of `full` comes next and has not told
// what, is moved to the start. Returns those of `full` that have room again.
uint32_t simt_trace_merge(int warp, uint32_t lanes, uint32_t full, uint64_t at[32]);
void simt_trace_block_begin(void);
void simt_trace_block_end(int n_warps);
// Adds what was counted since the last call to `sums`.
void simt_trace_fold(struct kr_trace_sums *sums);
uint64_t simt_trace_events(void); // lanes' rows so far: the work done

// --- request.c ---

// What an access of a warp asks of memory.
int request_setup(const struct kr_trace_access *accesses, uint32_t n);
// `words` holds an address a lane below KR_TRACE_ID_SHIFT, for the lanes of `mask`;
// all words of these lanes are equal above it.
void request_add(uint32_t access, uint32_t mask, const uint64_t *words);
void request_fold(struct kr_trace_sums *sums);
void request_block_begin(void);
// `neighbour`: 0 to 2, of the block that `base` was last said of; -1 of none.
void request_block_end(bool base, int neighbour);
void request_end(void); // figures that are no sums, into the job

// --- sample.c ---

// Memory for it. Returns 0, or -1 with errno.
int sample_setup(void);
// Runs and counts blocks, as many as the job allows.
void sample_run(void);

void simt_switch(void **save_sp, void *load_sp);

#endif
