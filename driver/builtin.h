#ifndef KR_DRIVER_BUILTIN_H
#define KR_DRIVER_BUILTIN_H

#include "../evaluator/base/bytes.h"
#include "../evaluator/contract.h"

// The built-in model (model_builtin.c) speaks as any other does: a fenced block
// with a launch line where the launch is not the contract's, and a summary.
void builtin_reply(const struct kr_contract *c, const char *code, const struct kr_geometry *g,
                   const char *summary, struct kr_bytes *out);

#endif
