// prove_tool ORIGINAL PATCHED CUDA_PATH|- [--kernel=NAME] [flags...]: the kernel is `k`
// unless named; prints what kr_prove_compiles() says; exit 0, 1, or 2 for -1.

#include <stdio.h>
#include <string.h>

#include "driver/prove.h"

int main(int argc, char **argv)
{
  struct kr_source a, b;
  struct kr_err err = {""};
  if (argc < 4 || kr_source_read(&a, argv[1], &err) || kr_source_read(&b, argv[2], &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 64;
  }
  const char *cuda = strcmp(argv[3], "-") ? argv[3] : NULL, *kernel = "k";
  int first = 4;
  if (argc > first && !strncmp(argv[first], "--kernel=", 9))
    kernel = argv[first++] + 9;
  int rc = kr_prove_compiles(&a, b.data, b.len, (const char *const *)(argv + first),
                             (size_t)(argc - first), cuda, &kernel, 1, &err);
  printf("%s\n", rc ? err.text : "compiles");
  kr_source_release(&a);
  kr_source_release(&b);
  return rc < 0 ? 2 : rc;
}
