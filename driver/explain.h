#ifndef KR_DRIVER_EXPLAIN_H
#define KR_DRIVER_EXPLAIN_H

#include "../evaluator/base/bytes.h"
#include "../evaluator/evaluator.h"

// Why a variant is faster or not, for people: original and variant side by side,
// case by case, with what each was counted to do, the time that every part of the
// GPU would take for it, and which part that makes the slowest. A verdict without
// counters (measured, or not timed) gives its times and resources.
void explain_verdict(const struct kr_verdict *v, struct kr_bytes *out);

#endif
