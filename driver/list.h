#ifndef KR_DRIVER_LIST_H
#define KR_DRIVER_LIST_H

#include "project.h"

// The modes that read and tell: --list, --suggest, --show-prompt. No model, no
// GPU. Each returns an exit status.
int list_run(struct project *p, const struct options *o);
int suggest_run(struct project *p, const struct options *o);
int show_prompt_run(struct project *p, const struct options *o);

#endif
