// diff_tool LABEL OLD NEW: prints kr_diff() of two files.

#include <stdio.h>

#include "rewriter/rewriter.h"

int main(int argc, char **argv)
{
  struct kr_source a, b;
  struct kr_err err = {""};
  if (argc != 4 || kr_source_read(&a, argv[2], &err) || kr_source_read(&b, argv[3], &err)) {
    fprintf(stderr, "diff_tool: %s\n", err.text);
    return 2;
  }
  struct kr_bytes out;
  kr_bytes_init(&out, KR_SOURCE_MAX);
  kr_diff(argv[1], a.data, a.len, b.data, b.len, &out);
  fwrite(out.data, 1, out.len, stdout);
  kr_bytes_release(&out);
  kr_source_release(&a);
  kr_source_release(&b);
  return 0;
}
