#ifndef KR_DRIVER_SUGGEST_H
#define KR_DRIVER_SUGGEST_H

#include "../evaluator/base/bytes.h"
#include "../plugin/plugin.h"

// Appends the marker to paste above an unmarked kernel, lines of at most 78
// columns, each with a newline. What only the user can know is left as `?`,
// which no marker accepts, so that it cannot be forgotten. Geometry is asked for
// only where no launch site gives it.
void suggest_marker(const struct kr_pkernel *kernel, struct kr_bytes *out);

#endif
