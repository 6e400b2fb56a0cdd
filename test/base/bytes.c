// RUN: %unit/bytes
#include "../unit.h"

#include "evaluator/base/bytes.h"

int main(void)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 10);
  kr_bytes_adds(&b, "abc");
  char *first = kr_bytes_take(&b);
  CHECK_STR(first, "abc");
  // Empty, readable, and to be used again or not, released or not.
  CHECK_STR(b.data, "");
  CHECK_INT(b.len, 0);
  kr_bytes_reset(&b);
  char *empty = kr_bytes_take(&b);
  CHECK_STR(empty, "");
  kr_bytes_addf(&b, "%d", 42);
  CHECK_STR(b.data, "42");
  CHECK_INT(kr_bytes_adds(&b, "123456789"), -1);
  CHECK(b.toobig);
  char *second = kr_bytes_take(&b);
  CHECK_STR(second, "42");
  CHECK(!b.toobig && b.max == 10);
  kr_bytes_adds(&b, "");
  CHECK_STR(b.data, "");
  kr_bytes_release(&b);
  free(first);
  free(empty);
  free(second);
  // Taken and never released: nothing leaks.
  kr_bytes_init(&b, 10);
  free(kr_bytes_take(&b));
  return unit_end();
}
