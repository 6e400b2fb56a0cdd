// ledger_tool put ROOT FILE KERNEL TEXT: an entry whose hashes are TEXT's
// ledger_tool remove ROOT FILE KERNEL
// ledger_tool list ROOT
// ledger_tool store ROOT FILE: FILE's bytes as a baseline; prints its hash
// ledger_tool load ROOT HASH
// Exit 0, or 2 with a sentence.

#include <stdio.h>
#include <string.h>

#include "evaluator/base/mem.h"
#include "rewriter/rewriter.h"

int main(int argc, char **argv)
{
  struct kr_ledger l = {0};
  struct kr_err err = {""};
  char hex[KR_HASH_HEX + 1];
  if (argc < 3)
    return 64;
  const char *verb = argv[1], *root = argv[2];
  int rc = kr_ledger_load(&l, root, &err);
  if (!rc && argc == 6 && !strcmp(verb, "put")) {
    struct kr_hash h = kr_hash_of(argv[5], strlen(argv[5]));
    struct kr_ledger_entry e = {.file = kr_xstrdup(argv[3]), .kernel = kr_xstrdup(argv[4]),
                                .signature = kr_xstrdup("()"), .original = h, .marker = h,
                                .current = h, .outcome = KR_KEPT, .tool = kr_xstrdup("t"),
                                .backend = kr_xstrdup("cpu"), .gpu = kr_xstrdup("")};
    kr_ledger_put(&l, &e);
    rc = kr_ledger_save(&l, &err);
  } else if (!rc && argc == 5 && !strcmp(verb, "remove")) {
    kr_ledger_remove(&l, argv[3], argv[4], "()");
    rc = kr_ledger_save(&l, &err);
  } else if (!rc && !strcmp(verb, "list")) {
    for (size_t i = 0; i < l.n; i++)
      printf("%s %s\n", l.entries[i].file, l.entries[i].kernel);
  } else if (!rc && argc == 4 && !strcmp(verb, "store")) {
    struct kr_source src = {0};
    struct kr_hash h;
    rc = kr_source_read(&src, argv[3], &err);
    if (!rc && !(rc = kr_baseline_store(root, src.data, src.len, &h, &err))) {
      kr_hash_hex(h, hex);
      puts(hex);
    }
    kr_source_release(&src);
  } else if (!rc && argc == 4 && !strcmp(verb, "load")) {
    struct kr_hash h;
    struct kr_bytes out;
    rc = kr_hash_parse(argv[3], &h) ? 64 : kr_baseline_load(root, h, &out, &err);
    if (!rc) {
      fwrite(out.data, 1, out.len, stdout);
      kr_bytes_release(&out);
    }
  } else if (!rc) {
    rc = 64;
  }
  if (rc < 0)
    fprintf(stderr, "%s\n", err.text);
  kr_ledger_release(&l);
  return rc < 0 ? 2 : rc;
}
