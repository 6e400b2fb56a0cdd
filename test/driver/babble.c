// RUN: %unit/babble
#include "unit.h"

#include "driver/babble.h"
#include "evaluator/base/bytes.h"

static struct kr_bytes text;

static void begin(const char *before)
{
  kr_bytes_reset(&text);
  kr_bytes_adds(&text, before);
}

// Text in which nothing comes twice.
static void add_varied(size_t bytes)
{
  size_t end = text.len + bytes;
  for (unsigned i = 0, x = 1; text.len < end; i++) {
    x = x * 1664525u + 1013904223u;
    kr_bytes_addf(&text, "  float v%u = %u.%uf;\n", i, x >> 20, x >> 8 & 0xfff);
  }
}

static size_t times_until_babble(const char *block, size_t most)
{
  for (size_t i = 1; i <= most; i++) {
    kr_bytes_adds(&text, block);
    if (babble_at_end(text.data, text.len))
      return i;
  }
  return 0;
}

static void test_period(void)
{
  CHECK(!babble_at_end("", 0));
  CHECK(!babble_at_end("aaaa", 4));
  begin("");
  add_varied(100000);
  CHECK(!babble_at_end(text.data, text.len));
  CHECK_INT(times_until_babble("a", 5000), 4096);
  // What is behind it counts, not what was: it goes on with the text.
  add_varied(3000);
  CHECK(!babble_at_end(text.data, text.len));
  begin("```cuda\n");
  CHECK_INT(times_until_babble("0, ", 2000), 1366); // 4098 bytes
  begin("");
  CHECK_INT(times_until_babble("x = x * 2;\n", 2000), 373); // 4103 bytes
  // A block of 1000 bytes eight times.
  char block[1001];
  for (size_t i = 0; i < 1000; i++)
    block[i] = (char)('a' + (i * i + i / 7) % 26);
  block[1000] = 0;
  begin("Let me think. ");
  CHECK_INT(times_until_babble(block, 20), 8);
  // In the middle of a block.
  kr_bytes_add(&text, block, 500);
  CHECK(babble_at_end(text.data, text.len));
  // Seven times is not.
  begin("");
  CHECK_INT(times_until_babble(block, 7), 0);
}

static void test_refrain(void)
{
  begin("");
  size_t found = 0;
  for (unsigned i = 0; i < 60 && !found; i++) {
    kr_bytes_addf(&text, "Step %u is this one, with %u in it.\n", i * 7919, i * i);
    kr_bytes_adds(&text, "But wait, is that the right way?\n");
    found = babble_at_end(text.data, text.len) ? i + 1 : 0;
  }
  CHECK_INT(found, 51);
  // Short lines come often in any code.
  begin("");
  for (unsigned i = 0; i < 400; i++)
    kr_bytes_addf(&text, "  if (v[%u] > %u) {\n    n++;\n    return;\n  }\n", i, i * i);
  CHECK(!babble_at_end(text.data, text.len));
  // Drafts of one kernel hold its lines again and again, at some distance.
  begin("");
  for (unsigned i = 0; i < 60; i++) {
    kr_bytes_adds(&text, "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n");
    for (unsigned k = 0; k < 20; k++)
      kr_bytes_addf(&text, "  draft %u, line %u, is %u.\n", i, k, i * k * 7919);
  }
  CHECK(!babble_at_end(text.data, text.len));
}

static void test_due(void)
{
  size_t looked = 0;
  CHECK(!babble_is_due(&looked, 4095));
  CHECK(babble_is_due(&looked, 4100));
  CHECK(!babble_is_due(&looked, 8195));
  CHECK(babble_is_due(&looked, 8196));
}

int main(void)
{
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  test_period();
  test_refrain();
  test_due();
  kr_bytes_release(&text);
  return unit_end();
}
