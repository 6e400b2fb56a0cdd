// RUN: %unit/budget
#include "unit.h"

#include "../../driver/budget.h"

static void check_time(double ms, const char *want)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 100);
  budget_add_time(ms, &b);
  CHECK_STR(b.data, want);
  kr_bytes_release(&b);
}

static void check_tokens(uint64_t n, const char *want)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 100);
  budget_add_tokens(n, &b);
  CHECK_STR(b.data, want);
  kr_bytes_release(&b);
}

int main(void)
{
  struct budget b;
  budget_begin(&b);
  CHECK_INT(budget_reached(&b), BUDGET_LEFT);
  b.max_calls = 2;
  budget_asked(&b);
  CHECK_INT(budget_reached(&b), BUDGET_LEFT);
  budget_asked(&b); // under way counts
  CHECK_INT(budget_reached(&b), BUDGET_CALLS);
  budget_unasked(&b);
  CHECK_INT(budget_reached(&b), BUDGET_LEFT);

  b.max_tokens = 110;
  budget_replied(&b, true, 70, 30);
  CHECK_INT(budget_reached(&b), BUDGET_LEFT);
  CHECK(!b.estimated);
  budget_replied(&b, false, 17, 21); // 5 and 6 tokens
  CHECK(b.estimated);
  CHECK_INT(b.tokens_in, 75);
  CHECK_INT(b.tokens_out, 36);
  CHECK_INT(budget_reached(&b), BUDGET_TOKENS);
  budget_replied(&b, true, UINT64_MAX, UINT64_MAX); // a server may say anything
  CHECK_INT(budget_reached(&b), BUDGET_TOKENS);

  budget_begin(&b);
  b.max_ms = 1e6;
  CHECK_INT(budget_reached(&b), BUDGET_LEFT);
  b.begin_ms -= 2e6;
  CHECK_INT(budget_reached(&b), BUDGET_TIME);
  CHECK_STR(budget_option(BUDGET_TIME), "--time-budget");
  budget_begin(&b);
  b.max_calls = 0;
  CHECK_INT(budget_reached(&b), BUDGET_CALLS);

  struct kr_bytes text;
  kr_bytes_init(&text, 200);
  budget_begin(&b);
  b.begin_ms -= 180e3;
  b.calls = 14;
  b.tokens_in = 40000;
  b.tokens_out = 1000;
  budget_tell(&b, &text);
  CHECK_STR(text.data, "14 calls, 41k tokens, 3 min");
  kr_bytes_reset(&text);
  b.estimated = true;
  b.calls = 1;
  budget_tell(&b, &text);
  CHECK_STR(text.data, "1 call, about 41k tokens, 3 min");
  kr_bytes_release(&text);

  check_tokens(0, "0");
  check_tokens(999, "999");
  check_tokens(1234, "1.2k");
  check_tokens(9949, "9.9k");
  check_tokens(9999, "10k");
  check_tokens(999499, "999k");
  check_tokens(999500, "1.0M");
  check_time(340, "0.3 s");
  check_time(45e3, "45 s");
  check_time(99e3, "99 s");
  check_time(100e3, "2 min");
  check_time(99 * 60e3, "99 min");
  check_time(5400e3 * 2, "3.0 h");
  return unit_end();
}
