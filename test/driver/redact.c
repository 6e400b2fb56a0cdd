// RUN: %unit/redact
#include "unit.h"

#include "driver/redact.h"
#include "evaluator/base/utf8.h"
#include "evaluator/base/mem.h"

static const char *redact(const char *text)
{
  static char out[1000];
  struct kr_bytes b;
  kr_bytes_init(&b, 1000);
  redact_append(&b, text, strlen(text));
  snprintf(out, sizeof out, "%s", b.data);
  kr_bytes_release(&b);
  return out;
}

static const char *line(const char *text, size_t max)
{
  static char out[1000];
  char *s = redact_line(text, strlen(text), max);
  snprintf(out, sizeof out, "%s", s);
  free(s);
  return out;
}

static void test_whole(void)
{
  CHECK_STR(redact("a sk-abcdefghijklmnop b"), "a sk-abcdefghijklmnop b");
  CHECK_INT(redact_add("sk-abcdefghijklmnop", 19), 0);
  CHECK_STR(redact("a sk-abcdefghijklmnop b"), "a [redacted] b");
  CHECK_STR(redact("sk-abcdefghijklmnop"), "[redacted]");
  CHECK_STR(redact("sk-abcdefghijklmnopsk-abcdefghijklmnop"), "[redacted][redacted]");
  CHECK_STR(redact("xsk-abcdefghijklmnopx"), "x[redacted]x");
  CHECK_STR(redact(""), "");
  CHECK_STR(redact("nothing"), "nothing");
}

static void test_pieces(void)
{
  // 19 bytes: pieces from 9 on.
  CHECK_STR(redact("(key sk-abcdef...)"), "(key [redacted]...)");
  CHECK_STR(redact("(key sk-abcde...)"), "(key sk-abcde...)");
  CHECK_STR(redact("...hijklmnop"), "...[redacted]");
  CHECK_STR(redact("...ijklmnop"), "...ijklmnop");
  CHECK_STR(redact("defghijklm"), "[redacted]");
  CHECK_STR(redact("sk-abcdefghijklmnoq"), "[redacted]q");
}

static void test_spellings(void)
{
  CHECK_INT(redact_add("p/q\"r+s\\tuvw", 12), 0);
  CHECK_STR(redact("key p/q\"r+s\\tuvw."), "key [redacted].");
  CHECK_STR(redact("key p\\/q\\\"r+s\\\\tuvw."), "key [redacted].");
  CHECK_STR(redact("key p/q\\\"r+s\\\\tuvw."), "key [redacted].");
  CHECK_STR(redact("key p%2Fq%22r%2Bs%5Ctuvw."), "key [redacted].");
}

static void test_short(void)
{
  CHECK_INT(redact_add("EMPTY", 5), 1);
  CHECK_STR(redact("an EMPTY bottle"), "an EMPTY bottle");
}

static void test_places(void)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 100);
  kr_bytes_adds(&b, "k=sk-abcdefghijklmnop;sk-abcdefghijklmnop");
  redact_bytes(&b);
  CHECK_STR(b.data, "k=[redacted];[redacted]");
  CHECK_INT(b.len, strlen(b.data));
  kr_bytes_release(&b);
  struct kr_err err;
  kr_err_set(&err, "no: %s", "sk-abcdefghijklmnop");
  redact_err(&err);
  CHECK_STR(err.text, "no: [redacted]");
  redact_err(NULL);
}

static void test_lines(void)
{
  CHECK_STR(line("  a\n\tb\r\n c  ", 100), "a b c");
  CHECK_STR(line("\x1b[31mred\x07", 100), "\\x1b[31mred\\x07");
  CHECK_STR(line("caf\xe9 \xe2\x82\xac \xe2\x82", 100), "caf\\xe9 \xe2\x82\xac \\xe2\\x82");
  // A bidirectional override is not shown, nor a C1 control.
  const char override[] = {'a', '\xe2', '\x80', '\xae', 'b', '\0'};
  CHECK_STR(line(override, 100), "a\\xe2\\x80\\xaeb");
  CHECK_STR(line("a\xc2\x9b" "b", 100), "a\\xc2\\x9bb");
  CHECK_STR(line("12345678901", 10), "1234567890...");
  CHECK_STR(line("1234567\xe2\x82\xac" "89", 9), "1234567...");
  // Cut after it is redacted, so that no half of a key is left at the cut.
  CHECK_STR(line("sk-abcdefghijklmnop", 5), "[reda...");
}

static void test_utf8(void)
{
  CHECK_INT(kr_utf8_check("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 10), 10);
  CHECK_INT(kr_utf8_check("\xc0\x80", 2), 0);         // overlong
  CHECK_INT(kr_utf8_check("\xe0\x9f\xbf", 3), 0);     // overlong
  CHECK_INT(kr_utf8_check("\xed\xa0\x80", 3), 0);     // surrogate
  CHECK_INT(kr_utf8_check("\xf4\x90\x80\x80", 4), 0); // past the end
  CHECK_INT(kr_utf8_check("ab\x80", 3), 2);
  CHECK(kr_utf8_is_cut("a\xe2\x82", 3));
  CHECK(kr_utf8_is_cut("a\xf0", 2));
  CHECK(!kr_utf8_is_cut("a\xe2\x82\xac", 4));
  CHECK(!kr_utf8_is_cut("a\x82", 2));
  CHECK(!kr_utf8_is_cut("a\xe0\x80", 3));
  CHECK(kr_utf8_json_has_nul("\"a\\u0000\"", 9));
  CHECK(!kr_utf8_json_has_nul("\"a\\\\u0000\"", 10));
  CHECK(!kr_utf8_json_has_nul("\"\\u0001\"", 8));
}

int main(void)
{
  test_whole();
  test_pieces();
  test_spellings();
  test_short();
  test_places();
  test_lines();
  test_utf8();
  redact_clear();
  CHECK_STR(redact("sk-abcdefghijklmnop"), "sk-abcdefghijklmnop");
  return unit_end();
}
