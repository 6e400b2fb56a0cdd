#include "budget.h"

#include <math.h>

#include "../evaluator/base/clock.h"

void budget_begin(struct budget *b)
{
  *b = (struct budget){.max_calls = BUDGET_NO_CALLS,
                       .max_tokens = BUDGET_NO_TOKENS,
                       .max_ms = INFINITY,
                       .begin_ms = kr_now_ms()};
}

static uint64_t budget_sum(uint64_t a, uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

enum budget_limit budget_reached(const struct budget *b)
{
  if (b->max_calls != BUDGET_NO_CALLS && b->calls >= b->max_calls)
    return BUDGET_CALLS;
  if (b->max_tokens != BUDGET_NO_TOKENS &&
      budget_sum(b->tokens_in, b->tokens_out) >= b->max_tokens)
    return BUDGET_TOKENS;
  return budget_ms(b) >= b->max_ms ? BUDGET_TIME : BUDGET_LEFT;
}

const char *budget_option(enum budget_limit limit)
{
  static const char *const names[] = {[BUDGET_LEFT] = "no limit",
                                      [BUDGET_CALLS] = "--max-calls",
                                      [BUDGET_TOKENS] = "--max-tokens",
                                      [BUDGET_TIME] = "--time-budget"};
  return names[limit];
}

void budget_asked(struct budget *b)
{
  b->calls++;
}

void budget_unasked(struct budget *b)
{
  b->calls--;
}

void budget_replied(struct budget *b, bool counted, uint64_t in, uint64_t out)
{
  uint64_t unit = counted ? 1 : BUDGET_BYTES_A_TOKEN;
  // Rounded up: many short replies are not nothing.
  b->tokens_in = budget_sum(b->tokens_in, in / unit + (in % unit != 0));
  b->tokens_out = budget_sum(b->tokens_out, out / unit + (out % unit != 0));
  b->estimated |= !counted;
}

double budget_ms(const struct budget *b)
{
  return kr_now_ms() - b->begin_ms;
}

void budget_add_tokens(uint64_t tokens, struct kr_bytes *out)
{
  double n = (double)tokens;
  if (n < 1000)
    kr_bytes_addf(out, "%.0f", n);
  else if (n < 9950)
    kr_bytes_addf(out, "%.1fk", n / 1e3);
  else if (n < 999500)
    kr_bytes_addf(out, "%.0fk", n / 1e3);
  else
    kr_bytes_addf(out, "%.1fM", n / 1e6);
}

void budget_add_time(double ms, struct kr_bytes *out)
{
  double s = ms / 1000;
  if (s < 9.95)
    kr_bytes_addf(out, "%.1f s", s);
  else if (s < 99.5)
    kr_bytes_addf(out, "%.0f s", s);
  else if (s < 99.5 * 60)
    kr_bytes_addf(out, "%.0f min", s / 60);
  else
    kr_bytes_addf(out, "%.1f h", s / 3600);
}

void budget_tell(const struct budget *b, struct kr_bytes *out)
{
  uint64_t tokens = budget_sum(b->tokens_in, b->tokens_out);
  kr_bytes_addf(out, "%u call%s, ", b->calls, b->calls == 1 ? "" : "s");
  if (tokens) {
    kr_bytes_adds(out, b->estimated ? "about " : "");
    budget_add_tokens(tokens, out);
    kr_bytes_adds(out, tokens == 1 ? " token, " : " tokens, ");
  }
  budget_add_time(budget_ms(b), out);
}
