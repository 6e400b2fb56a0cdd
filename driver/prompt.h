#ifndef KR_DRIVER_PROMPT_H
#define KR_DRIVER_PROMPT_H

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"
#include "../evaluator/evaluator.h"
#include "prompt_set.h"
#include "variant.h"

// What a model is given. One user message, put together from templates (prompt_set.h):
//
//   turn 1:  base, example, first
//   turn t:  base, for each earlier turn its code, summary and result, again
//
// A prompt holds the kernel, its slice and the contract's declared cases; it
// never holds a held-out size, reasoning, a path outside the project or a
// comment of an earlier answer. When the earlier turns do not fit the budget,
// the oldest go first; the best so far always stays.

enum { PROMPT_DEFAULT_TOKENS = 24000 };

struct prompt_task {
  const struct kr_contract *contract;
  const struct kr_device_facts *facts; // arch "cpu": no GPU; NULL: not known yet (--show-prompt)
  const struct kr_reference *reference; // original's times; may be NULL
  size_t token_budget;                  // of a prompt, at 4 bytes a token; 0: PROMPT_DEFAULT_TOKENS
  // prompt_base() of an earlier run, whose times would be others now; NULL: made anew.
  const char *base;
  const struct prompt_set *templates; // NULL: the default profile
};

struct prompt_turn {
  unsigned turn;                 // from 1
  const struct variant *variant; // code NULL when the answer held none
  const char *told;              // feedback_tell()
  bool best;                     // of the turns given; at most one
};

// The prompt of turn `turn` after `n` earlier ones, oldest first. Returns 0, or
// -1 when the kernel alone is over the budget.
int prompt_build(const struct prompt_task *task, const struct prompt_turn *turns, size_t n,
                 unsigned turn, struct kr_bytes *out, struct kr_err *err);

// What every prompt of a task begins with.
void prompt_base(const struct prompt_task *task, struct kr_bytes *out);

#endif
