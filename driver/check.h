#ifndef KR_DRIVER_CHECK_H
#define KR_DRIVER_CHECK_H

#include "project.h"

// --check: is every marked kernel's ledger entry present and fresh? Offline; no
// model, no GPU, and no parser unless a file changed around its kernels. Returns
// an exit status.
int check_run(struct project *p, const struct options *o);

#endif
