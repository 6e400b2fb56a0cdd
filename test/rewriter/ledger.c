// RUN: rm -rf %t && mkdir -p %t && %unit/ledger %t
// The ledger: kept, merged, refused with a line, fast; baselines beside it.
#include "rewriter/rewriter.h"
#include "unit.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "evaluator/base/mem.h"

static const char *root;

static struct kr_hash h(int i)
{
  return kr_hash_of(&i, sizeof i);
}

static struct kr_ledger_entry entry(const char *file, const char *kernel, const char *sig, int i)
{
  struct kr_ledger_entry e = {.file = kr_xstrdup(file), .kernel = kr_xstrdup(kernel),
                              .signature = kr_xstrdup(sig), .original = h(i), .marker = h(i + 1),
                              .current = h(i + 2), .baseline = h(i + 3), .outcome = KR_REWRITTEN,
                              .tool = kr_xstrdup("kevin-rewrite 0.1.0"),
                              .backend = kr_xstrdup("cuda"), .gpu = kr_xstrdup("NVIDIA H200 sm_90")};
  return e;
}

static void write_ledger(const char *text)
{
  char *path = kr_xasprintf("%s/.kevin/ledger", root);
  CHECK(kr_replace_path(path, text, strlen(text), 0644, NULL) >= 0);
  free(path);
}

static void load_fails(const char *text, const char *want)
{
  struct kr_ledger l;
  struct kr_err err = {""};
  write_ledger(text);
  CHECK_INT(kr_ledger_load(&l, root, &err), -1);
  if (!strstr(err.text, want)) {
    unit_failures++;
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", err.text, want);
  }
}

#define H "00112233445566778899aabbccddeeff"
#define REST "\trewritten\t" H "\t" H "\t" H "\t" H "\t" H "\tt\tcuda\tg\t-\n"

int main(int argc, char **argv)
{
  if (argc != 2)
    return 2;
  root = argv[1];
  struct kr_err err = {""};
  struct kr_ledger l, m;

  // Missing is empty, and saving nothing makes nothing.
  CHECK_INT(kr_ledger_load(&l, root, &err), 0);
  CHECK_INT(l.n, 0);
  CHECK_INT(kr_ledger_save(&l, &err), 0);
  char *kevin = kr_xasprintf("%s/.kevin", root), *path = kr_xasprintf("%s/ledger", kevin);
  CHECK(access(kevin, F_OK) != 0);

  // Names with everything in them come back.
  struct kr_ledger_entry e = entry("src/a b%;=\t.cu", "n::k<int>", "(const float *, int)", 1);
  e.n_deps = 2;
  e.deps = kr_xcalloc(2, sizeof *e.deps);
  e.deps[0] = (struct kr_ledger_dep){kr_xstrdup("inc/x;=%.cuh"), h(7)};
  e.deps[1] = (struct kr_ledger_dep){kr_xstrdup("-"), h(8)};
  kr_ledger_put(&l, &e);
  CHECK(!e.file);
  e = entry("a.cu", "k", "", 20);
  e.outcome = KR_KEPT;
  free(e.gpu);
  e.gpu = kr_xstrdup("-");
  kr_ledger_put(&l, &e);
  e = entry("a.cu", "k", "(int)", 30);
  kr_ledger_put(&l, &e);
  CHECK_INT(kr_ledger_save(&l, &err), 0);
  CHECK_INT(kr_ledger_load(&m, root, &err), 0);
  CHECK_INT(m.n, 3);
  const struct kr_ledger_entry *f = kr_ledger_find(&m, "src/a b%;=\t.cu", "n::k<int>", "(const float *, int)");
  CHECK(f != NULL);
  if (f) {
    CHECK(kr_hash_equal(f->original, h(1)) && kr_hash_equal(f->marker, h(2)) &&
          kr_hash_equal(f->current, h(3)) && kr_hash_equal(f->baseline, h(4)));
    CHECK_INT(f->n_deps, 2);
    CHECK_STR(f->deps[0].file, "inc/x;=%.cuh");
    CHECK_STR(f->deps[1].file, "-");
    CHECK(kr_hash_equal(f->deps[1].tokens, h(8)));
    CHECK_STR(f->gpu, "NVIDIA H200 sm_90");
  }
  f = kr_ledger_find(&m, "a.cu", "k", "");
  CHECK(f && f->outcome == KR_KEPT && !strcmp(f->gpu, "-") && !f->n_deps);
  CHECK(!kr_ledger_find(&m, "a.cu", "k", "(float)"));
  CHECK(!kr_ledger_find(&m, "b.cu", "k", ""));

  // Sorted, one line a kernel, a version first; equal ledgers are equal bytes.
  struct kr_source src;
  CHECK_INT(kr_source_read(&src, path, &err), 0);
  CHECK(!strncmp(src.data, "kevin-ledger 1\na.cu\tk\t-\tkept\t", 29));
  CHECK_INT(src.n_lines, 5);
  struct stat before, after;
  CHECK_INT(stat(path, &before), 0);
  e = entry("a.cu", "k", "(int)", 30);
  kr_ledger_put(&m, &e);
  CHECK_INT(kr_ledger_save(&m, &err), 0);
  CHECK_INT(stat(path, &after), 0);
  CHECK(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec && before.st_ino == after.st_ino);
  kr_source_release(&src);

  // Two runs on one project: neither loses what the other did. `l` is older.
  e = entry("z.cu", "late", "", 40);
  kr_ledger_put(&m, &e);
  kr_ledger_remove(&m, "a.cu", "k", "");
  CHECK_INT(kr_ledger_save(&m, &err), 0);
  e = entry("b.cu", "mine", "", 50);
  kr_ledger_put(&l, &e);
  e = entry("a.cu", "k", "(int)", 60);
  kr_ledger_put(&l, &e);
  CHECK_INT(kr_ledger_save(&l, &err), 0);
  kr_ledger_release(&l);
  kr_ledger_release(&m);
  CHECK_INT(kr_ledger_load(&l, root, &err), 0);
  CHECK_INT(l.n, 4);
  CHECK(kr_ledger_find(&l, "z.cu", "late", "") && kr_ledger_find(&l, "b.cu", "mine", ""));
  CHECK(!kr_ledger_find(&l, "a.cu", "k", ""));
  f = kr_ledger_find(&l, "a.cu", "k", "(int)");
  CHECK(f && kr_hash_equal(f->original, h(60)));
  kr_ledger_release(&l);

  // Read leniently about order, blank lines and CRLF; strictly about the rest.
  write_ledger("kevin-ledger 1\r\nb\tk\t-" REST "\r\na\tk\t-" REST);
  CHECK_INT(kr_ledger_load(&l, root, &err), 0);
  CHECK_INT(l.n, 2);
  CHECK_STR(l.n ? l.entries[0].file : NULL, "a");
  kr_ledger_release(&l);
  load_fails("nonsense\n", "ledger:1: not a ledger");
  load_fails("kevin-ledger 2\n", "ledger:1: version 2 of the ledger is not known");
  load_fails("kevin-ledger 1\na\tk\n", "ledger:2: cannot read the kernel");
  load_fails("kevin-ledger 1\na\tk\t-" REST "b\tk\t-\tmaybe\t" H "\t" H "\t" H "\t" H "\t" H "\tt\tc\tg\t-\n",
             "ledger:3: cannot read the outcome");
  load_fails("kevin-ledger 1\na\tk\t-\trewritten\t" H "\t" H "\t" H "\t" H "\t-\tt\tc\tg\t-\n", "ledger:2: cannot read the baseline");
  load_fails("kevin-ledger 1\na\tk\t-\tkept\tabc\t" H "\t" H "\t" H "\t-\tt\tc\tg\t-\n", "ledger:2: cannot read the original");
  load_fails("kevin-ledger 1\na%\tk\t-" REST, "ledger:2: cannot read the file");
  load_fails("kevin-ledger 1\na%00\tk\t-" REST, "ledger:2: cannot read the file");
  load_fails("kevin-ledger 1\na\tk\t-\tkept\t" H "\t" H "\t" H "\t" H "\t-\tt\tc\tg\tx\n", "ledger:2: cannot read the dependencies");
  load_fails("kevin-ledger 1\na\tk\t-\tkept\t" H "\t" H "\t" H "\t" H "\t-\tt\tc\tg\t-\tmore\n", "ledger:2: cannot read the number of fields");
  load_fails("kevin-ledger 1\nb\tk\t-" REST "a\tk\t-" REST "b\tk\t-" REST, "ledger:4: a second entry for k in b, whose first is in line 2");
  load_fails("kevin-ledger 1\n<<<<<<< HEAD\na\tk\t-" REST "=======\nb\tk\t-" REST ">>>>>>> other\n",
             "ledger:2: a merge left its conflict marker here");
  // Nor is a broken one written over.
  l = (struct kr_ledger){.root = kr_xstrdup(root)};
  e = entry("a", "k", "", 1);
  kr_ledger_put(&l, &e);
  CHECK_INT(kr_ledger_save(&l, &err), -1);
  CHECK(strstr(err.text, "conflict marker") != NULL);
  kr_ledger_release(&l);

  // 200 kernels are read in well under 5 ms.
  struct kr_bytes big;
  kr_bytes_init(&big, 1 << 20);
  kr_bytes_adds(&big, "kevin-ledger 1\n");
  for (int i = 0; i < 200; i++)
    kr_bytes_addf(&big, "src/some/folder/file%03d.cu\tname::space::kernel%d\t(const float *, float *, int)%s",
                  i, i, REST);
  write_ledger(big.data);
  double best = 1e9;
  for (int i = 0; i < 20; i++) {
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    CHECK_INT(kr_ledger_load(&l, root, &err), 0);
    CHECK(kr_ledger_find(&l, "src/some/folder/file137.cu", "name::space::kernel137", "(const float *, float *, int)") != NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    CHECK_INT(l.n, 200);
    kr_ledger_release(&l);
    double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
    best = ms < best ? ms : best;
  }
  printf("200 entries: %.3f ms\n", best);
#ifndef KR_SANITIZED
  CHECK(best < 5);
#endif
  kr_bytes_release(&big);

  // Baselines: raw, under their hash; a changed one is no baseline.
  static const char raw[] = "old\r\n\0bytes\xff";
  struct kr_hash hash;
  struct kr_bytes out;
  CHECK_INT(kr_baseline_store(root, raw, sizeof raw, &hash, &err), 0);
  CHECK_INT(kr_baseline_store(root, raw, sizeof raw, &hash, &err), 0);
  CHECK_INT(kr_baseline_load(root, hash, &out, &err), 0);
  CHECK_INT(out.len, sizeof raw);
  CHECK(!memcmp(out.data, raw, sizeof raw));
  kr_bytes_release(&out);
  char hex[KR_HASH_HEX + 1];
  kr_hash_hex(hash, hex);
  char *baseline = kr_xasprintf("%s/.kevin/baselines/%s", root, hex);
  CHECK_INT(kr_replace_path(baseline, "x", 1, 0644, &err), 0);
  CHECK_INT(kr_baseline_load(root, hash, &out, &err), -1);
  CHECK(strstr(err.text, hex) && strstr(err.text, "was changed"));
  CHECK_INT(kr_baseline_load(root, h(99), &out, &err), -1);
  free(baseline);

  // The root: nearest .kevin or .git, else the file's own folder.
  char *deep = kr_xasprintf("%s/p/q/file.cu", root);
  CHECK(kr_replace_path(deep, "x", 1, 0644, &err) >= 0);
  char *real = realpath(root, NULL), *got = kr_ledger_root(deep);
  CHECK_STR(got, real);
  free(got);
  char *git = kr_xasprintf("%s/p/.git", root), *p = kr_xasprintf("%s/p", real);
  CHECK_INT(mkdir(git, 0777), 0);
  got = kr_ledger_root(deep);
  CHECK_STR(got, p);
  free(got);
  char *absent = kr_xasprintf("%s/p/q/absent.cu", root);
  got = kr_ledger_root(absent);
  CHECK_STR(got, p);
  free(got);
  got = kr_ledger_root("/nowhere/at/all.cu");
  CHECK_STR(got, ".");
  free(got);
  free(absent);
  free(p);
  free(git);
  free(real);
  free(deep);
  free(path);
  free(kevin);
  return unit_end();
}
