#ifndef KR_DRIVER_RUN_H
#define KR_DRIVER_RUN_H

#include <signal.h>

#include "project.h"

// The main job: refine every marked kernel, decide, and print the diff or write
// the files. `stop` is set by SIGINT. Returns an exit status.
int run_refine(struct project *p, const struct options *o, const volatile sig_atomic_t *stop);

// --revert: put the originals back, from ledger and baselines.
int run_revert(struct project *p, const struct options *o);

#endif
