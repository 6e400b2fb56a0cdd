#ifndef KR_DRIVER_BUDGET_H
#define KR_DRIVER_BUDGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "../evaluator/base/bytes.h"

// What a run may spend over all its kernels, and what it has spent. It is asked
// before each request: what is under way when a budget is used up is waited for
// and counts. Calls are counted when they are made, so that many at once do not
// exceed them; tokens when the reply is there. One thread at a time.

#define BUDGET_NO_CALLS UINT_MAX // no limit
#define BUDGET_NO_TOKENS UINT64_MAX

enum { BUDGET_BYTES_A_TOKEN = 4 }; // where a server does not count

struct budget {
  unsigned max_calls;
  uint64_t max_tokens; // in and out
  double max_ms;       // INFINITY: no limit
  double begin_ms;     // kr_now_ms() of budget_begin()
  unsigned calls;
  uint64_t tokens_in, tokens_out;
  bool estimated;      // some of the tokens are bytes / 4
};

enum budget_limit { BUDGET_LEFT, BUDGET_CALLS, BUDGET_TOKENS, BUDGET_TIME };

// No limits, nothing spent; the clock begins.
void budget_begin(struct budget *b);
// Which limit is reached, or BUDGET_LEFT.
enum budget_limit budget_reached(const struct budget *b);
// The option that set it: "--max-calls", ...
const char *budget_option(enum budget_limit limit);

void budget_asked(struct budget *b);
void budget_unasked(struct budget *b); // it was no call after all
// `counted`: in and out are the server's own counts; else bytes of prompt and reply.
void budget_replied(struct budget *b, bool counted, uint64_t in, uint64_t out);

double budget_ms(const struct budget *b); // since budget_begin()
// "14 calls, 41k tokens, 3 min"; "about 41k tokens" where some were estimated, and
// none where there are none.
void budget_tell(const struct budget *b, struct kr_bytes *out);
// "950", "41k", "1.2M"; "45 s", "3 min", "1.5 h".
void budget_add_tokens(uint64_t tokens, struct kr_bytes *out);
void budget_add_time(double ms, struct kr_bytes *out);

#endif
