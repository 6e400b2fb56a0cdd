// RUN: rm -rf %t && mkdir -p %t && %unit/source %t
#include "unit.h"

#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evaluator/base/bytes.h"
#include "evaluator/base/mem.h"
#include "evaluator/base/source.h"

static const char *diag(const char *text, size_t offset, size_t length, const char *fix)
{
  static char out[1000];
  struct kr_source src;
  struct kr_diags d = {0};
  struct kr_bytes b;
  kr_source_from_text(&src, "a.cu", text, strlen(text));
  kr_diags_add(&d, KR_SEV_ERROR, offset, length, "bad %s", "thing");
  if (fix)
    kr_diags_fix(&d, fix);
  kr_bytes_init(&b, 1000);
  kr_diag_format(&d.items[0], &src, &b);
  snprintf(out, sizeof out, "%s", b.data);
  kr_bytes_release(&b);
  kr_diags_release(&d);
  kr_source_release(&src);
  return out;
}

static void test_places(void)
{
  struct kr_source src;
  unsigned line, col;
  const char *text = "\xEF\xBB\xBF" "ab\r\ncd\re\nf";
  kr_source_from_text(&src, "x", text, strlen(text));
  CHECK(src.bom);
  CHECK_INT(src.newline, KR_NL_CRLF);
  CHECK_INT(src.n_lines, 4);
  kr_source_place(&src, 3, &line, &col);
  CHECK(line == 1 && col == 4);
  kr_source_place(&src, 8, &line, &col);
  CHECK(line == 2 && col == 2);
  kr_source_place(&src, 999, &line, &col);
  CHECK(line == 4 && col == 2);
  CHECK_STR(kr_source_newline_at(&src, 4), "\r\n");
  CHECK_STR(kr_source_newline_at(&src, 7), "\r");
  CHECK_STR(kr_source_newline_at(&src, 10), "\n");
  CHECK_STR(kr_source_newline_at(&src, 12), "\r\n"); // the last line has none: the file's
  size_t begin, end;
  kr_source_line(&src, 2, &begin, &end);
  CHECK(begin == 7 && end == 9);
  kr_source_line(&src, 99, &begin, &end);
  CHECK(begin == src.len && end == src.len);
  kr_source_release(&src);
}

static void test_diags(void)
{
  CHECK_STR(diag("int x;\n\tfoo(bar);\n", 12, 3, NULL),
            "a.cu:2:6: error: bad thing\n  \tfoo(bar);\n  \t    ^~~\n");
  CHECK_STR(diag("foo", 0, 3, "bar"), "a.cu:1:1: error: bad thing\n  foo\n  ^~~\n  bar\n");
  CHECK_STR(diag("foo", SIZE_MAX, 0, NULL), "a.cu: error: bad thing\n");
  CHECK_STR(diag("a\x1b[2Jb", 1, 0, NULL), "a.cu:1:2: error: bad thing\n  a\\x1b[2Jb\n   ^\n");
  CHECK_STR(diag("", 0, 0, NULL), "a.cu:1:1: error: bad thing\n  \n  ^\n");
}

static void test_reading(const char *dir)
{
  struct kr_source src;
  struct kr_err err = {""};
  char path[500], want[700];
  CHECK_INT(kr_source_read(&src, dir, &err), -1);
  snprintf(want, sizeof want, "%s is a directory; name the files in it", dir);
  CHECK_STR(err.text, want);
  snprintf(path, sizeof path, "%s/none.cu", dir);
  CHECK_INT(kr_source_read(&src, path, &err), -1);
  snprintf(want, sizeof want, "cannot open %s: No such file or directory", path);
  CHECK_STR(err.text, want);
  snprintf(path, sizeof path, "%s/fifo", dir);
  CHECK_INT(mkfifo(path, 0600), 0);
  CHECK_INT(kr_source_read(&src, path, &err), -1);
  snprintf(want, sizeof want, "%s is not a regular file", path);
  CHECK_STR(err.text, want);
  snprintf(path, sizeof path, "%s/a.cu", dir);
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite("a\0b", 1, 3, f) == 3 && !fclose(f) && !chmod(path, 0640));
  CHECK_INT(kr_source_read(&src, path, &err), 0);
  CHECK(src.len == 3 && !memcmp(src.data, "a\0b", 4) && (src.mode & 07777) == 0640 && src.nlink == 1);
  kr_source_release(&src);
}

static void test_bytes(void)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 10);
  CHECK_INT(kr_bytes_addf(&b, "%d-%s", 12, "abc"), 0);
  CHECK_STR(b.data, "12-abc");
  CHECK_INT(kr_bytes_adds(&b, "12345"), -1);
  CHECK(b.toobig && b.len == 6);
  CHECK_INT(kr_bytes_addc(&b, 'x'), -1); // stays so
  kr_bytes_reset(&b);
  CHECK_INT(kr_bytes_adds(&b, "1234567890"), 0);
  char *taken = kr_bytes_take(&b);
  CHECK_STR(taken, "1234567890");
  CHECK_INT(b.len, 0);
  free(taken);
  kr_bytes_release(&b);
}

static void test_hashes(void)
{
  // FIPS 180-4, SHA-256 of "abc", first 16 bytes.
  char hex[KR_HASH_HEX + 1];
  struct kr_hash h = kr_hash_of("abc", 3), back;
  kr_hash_hex(h, hex);
  CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223");
  CHECK_INT(kr_hash_parse(hex, &back), 0);
  CHECK(kr_hash_equal(h, back));
  CHECK_INT(kr_hash_parse("zz", &back), -1);
  struct kr_hasher a, b;
  kr_hasher_init(&a);
  kr_hasher_init(&b);
  kr_hasher_field(&a, "ab", 2);
  kr_hasher_field(&a, "c", 1);
  kr_hasher_field(&b, "a", 1);
  kr_hasher_field(&b, "bc", 2);
  CHECK(!kr_hash_equal(kr_hasher_end(&a), kr_hasher_end(&b)));
}

static void test_err(void)
{
  struct kr_err err = {""};
  char big[3000];
  memset(big, 'x', sizeof big - 1);
  big[sizeof big - 1] = '\0';
  CHECK_INT(kr_err_set(&err, "%s", big), -1);
  CHECK_INT(strlen(err.text), sizeof err.text - 1);
  CHECK_STR(err.text + sizeof err.text - 4, "...");
  kr_err_set(&err, "inner");
  kr_err_prefix(&err, "outer %d", 1);
  CHECK_STR(err.text, "outer 1: inner");
  CHECK_INT(kr_err_set(NULL, "nobody cares"), -1);
}

int main(int argc, char **argv)
{
  test_places();
  test_diags();
  CHECK_INT(argc, 2);
  if (argc == 2)
    test_reading(argv[1]);
  test_bytes();
  test_hashes();
  test_err();
  return unit_end();
}
