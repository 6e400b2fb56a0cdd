// RUN: %unit/edit
// Edits: order, collapse, overlap, line ends of each place.
#include "rewriter/rewriter.h"
#include "unit.h"

static const char *applied(struct kr_edits *e, const char *text, struct kr_err *err)
{
  static char result[512];
  struct kr_source src;
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 20);
  kr_source_from_text(&src, "k.cu", text, strlen(text));
  int rc = kr_edits_finish(e, err) || kr_edits_apply(e, &src, &out, err);
  snprintf(result, sizeof result, "%s", out.data);
  kr_source_release(&src);
  kr_bytes_release(&out);
  kr_edits_release(e);
  return rc ? NULL : result;
}

int main(void)
{
  struct kr_err err = {""};
  struct kr_edits e = {0};
  CHECK_STR(applied(&e, "abc", &err), "abc");

  kr_edits_add(&e, 4, 1, "E");
  kr_edits_add(&e, 0, 1, "AA");
  kr_edits_add(&e, 2, 0, "+");
  kr_edits_add(&e, 6, 0, "!");
  CHECK_STR(applied(&e, "abcdef", &err), "AAb+cdEf!");

  // Equal edits collapse; they come from two kernels that share a launch.
  kr_edits_add(&e, 1, 2, "x");
  kr_edits_add(&e, 1, 2, "x");
  CHECK_STR(applied(&e, "abcd", &err), "axd");

  // Touching ones are no overlap; an insertion before a replaced span neither.
  kr_edits_add(&e, 1, 1, "x");
  kr_edits_add(&e, 2, 1, "y");
  kr_edits_add(&e, 1, 0, ">");
  CHECK_STR(applied(&e, "abcd", &err), "a>xyd");

  kr_edits_add(&e, 0, 3, "x");
  kr_edits_add(&e, 2, 1, "y");
  CHECK(!applied(&e, "abcd", &err));
  CHECK_STR(err.text, "two edits overlap: bytes 0 to 3 and bytes 2 to 3");
  kr_edits_add(&e, 1, 2, "x");
  kr_edits_add(&e, 1, 2, "y");
  CHECK(!applied(&e, "abcd", &err));
  kr_edits_add(&e, 1, 0, "x");
  kr_edits_add(&e, 1, 0, "y");
  CHECK(!applied(&e, "abcd", &err));
  kr_edits_add(&e, 3, 2, "x");
  CHECK(!applied(&e, "abcd", &err));
  CHECK(strstr(err.text, "k.cu") != NULL);
  kr_edits_add(&e, 5, (size_t)-1, "x");
  CHECK(!applied(&e, "abcd", &err));

  // Each place has its own line ends.
  kr_edits_add(&e, 1, 1, "1\n2");
  kr_edits_add(&e, 5, 1, "3\n4");
  kr_edits_add(&e, 8, 1, "5\n6");
  kr_edits_add(&e, 10, 1, "7\n8");
  CHECK_STR(applied(&e, "ab\r\ncd\nef\rgh", &err), "a1\r\n2\r\nc3\n4\ne5\r6\r7\r\n8h");
  kr_edits_add(&e, 0, 1, "x\ny");
  e.items[0].raw = true;
  CHECK_STR(applied(&e, "a\r\nb", &err), "x\ny\r\nb");
  return unit_end();
}
