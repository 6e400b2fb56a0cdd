// prove_tool ORIGINAL PATCHED CUDA_PATH|- [flags...]: the kernel is `k`; prints what
// kr_prove_compiles() says; exit 0, 1, or 2 for -1.

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
  int rc = kr_prove_compiles(&a, b.data, b.len, (const char *const *)(argv + 4), (size_t)(argc - 4),
                             strcmp(argv[3], "-") ? argv[3] : NULL, (const char *const[]){"k"}, 1, &err);
  printf("%s\n", rc ? err.text : "compiles");
  kr_source_release(&a);
  kr_source_release(&b);
  return rc < 0 ? 2 : rc;
}
