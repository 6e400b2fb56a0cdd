#ifndef KR_CPU_REPORT_H
#define KR_CPU_REPORT_H

#include "../backend.h"
#include "image.h"

// What an ended kevin-simt did, in one sentence in `r->text`, with the thread,
// the block and the buffer where they are known; `r->status` with it.
// `status` is waitpid()'s. `data` holds the address of each buffer's first
// element.
void report_end(const struct kr_job *job, const struct kr_image *image,
                const struct kr_instance *in, const uint64_t *data, int status, bool late,
                unsigned timeout_ms, struct kr_run_result *r);

#endif
