#ifndef KR_DRIVER_FEEDBACK_H
#define KR_DRIVER_FEEDBACK_H

#include "../evaluator/base/bytes.h"
#include "../evaluator/evaluator.h"
#include "variant.h"

// A verdict told to a model: the one place that decides what it may know.
// Facts, no advice. Five kinds: the answer could not be used; it was not
// accepted; it did not compile; it was wrong; it was correct, with its figures
// (or unchanged, or not timed).
//
// Of held-out sizes only stage and kind are told, whatever the verdict holds.
// Compiler messages keep their lines, counted in the block as the model sees
// it, and are cut at a line end.

enum { FEEDBACK_MAX_LOG = 3000, FEEDBACK_MAX_SENTENCE = 600 };

// `ref` and `facts` give the share of the roofline and may be NULL.
void feedback_tell(const struct variant *variant, const struct kr_verdict *v,
                   const struct kr_reference *ref, const struct kr_device_facts *facts,
                   struct kr_bytes *out);

// The share of the device's memory bandwidth that a verdict's times reach, over
// all cases, counting each buffer once; 0 when it cannot be said.
double feedback_roofline(const struct kr_verdict *v, const struct kr_reference *ref,
                         const struct kr_device_facts *facts);

#endif
