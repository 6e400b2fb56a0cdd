// RUN: %unit/variant
#include "unit.h"

#include "driver/variant.h"

static const struct kr_geometry original = {
    .grid = {(char *)"(n + 255) / 256"}, .block = {(char *)"256"}, .shared = (char *)"0"};

static struct variant v;

static int parse_bytes(const char *reply, size_t len, bool truncated)
{
  variant_release(&v);
  return variant_parse(reply, len, truncated, &original, &v);
}

static int parse(const char *reply)
{
  return parse_bytes(reply, strlen(reply), false);
}

#define CHECK_CODE(reply, want)                                                                    \
  do {                                                                                             \
    CHECK_INT(parse(reply), 0);                                                                    \
    CHECK_STR(v.candidate.code, want);                                                             \
  } while (0)

#define CHECK_WHY(reply, sentence)                                                                 \
  do {                                                                                             \
    CHECK_INT(parse(reply), 1);                                                                    \
    CHECK_STR(v.why, sentence);                                                                    \
    CHECK(!v.candidate.code);                                                                      \
    CHECK(!v.candidate.has_geometry);                                                              \
  } while (0)

static void test_blocks(void)
{
  CHECK_CODE("```\nint i;\n```\n", "int i;");
  CHECK_CODE("```cuda\nint i;\n```", "int i;");
  CHECK_CODE("~~~C++ title\nint i;\n~~~", "int i;");
  CHECK_CODE("text\n````cuda\nint i;\n```\nint j;\n````\n", "int i;\n```\nint j;");
  CHECK_CODE("```\nint i;\n~~~\nint j;\n```\n", "int i;\n~~~\nint j;");
  CHECK_CODE("```cuda\nint i;\n```\nBetter:\n```cuda\nint j;\n```\n", "int j;");
  CHECK_CODE("```cuda\nint i;\n```\nRun it:\n```sh\nmake\n```\n", "int i;");
  CHECK_CODE("```cuda\nint i;\n```\nand then\n```cuda\nint j", "int i;");
  CHECK_CODE("- so:\n\n  ```cuda\n  int i;\n    int j;\n\n k;\n  ```\n", "int i;\n  int j;\n\nk;");
  CHECK_CODE("```cuda\n\n\nint i;  \n\tint j;\t\n\n\n```", "int i;\n\tint j;");
  CHECK_CODE("```cuda\r\nint i;\r\n\r\nint j;\r\n```\r\n", "int i;\n\nint j;");
  CHECK_CODE("```cuda\rint i;\rint j;\r```\r", "int i;\nint j;");
  CHECK_CODE("\xef\xbb\xbf```cuda\n\xef\xbb\xbf" "int i;\n\xef\xbc\x81\n```",
             "int i;\n\xef\xbc\x81");
  CHECK_CODE("Use ```x``` here.\n```cuda\nint i;\n```", "int i;");
}

static void test_refusals(void)
{
  static const char declines[] = "the reply declines the task, and holds no code";
  CHECK_WHY("I'm sorry, but I can't help with that.", declines);
  CHECK_WHY("I\xe2\x80\x99m unable\nto  ...", "there is no fenced code block in the reply");
  CHECK_WHY("Unfortunately, I am\nunable to provide code for this.", declines);
  CHECK_WHY("<think>Can I?</think>I must decline.", declines);
  CHECK_WHY("I cannot see how.", "there is no fenced code block in the reply");
  CHECK_CODE("I cannot help it:\n```\nint i;\n```", "int i;");
}

static void test_babble(void)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  kr_bytes_adds(&b, "```cuda\n");
  for (int i = 0; i < 1000; i++)
    kr_bytes_adds(&b, "x++;\n");
  CHECK_INT(parse_bytes(b.data, b.len, true), 1);
  CHECK_STR(v.why, "the reply repeated itself and was cut, inside its code block");
  CHECK_INT(parse_bytes(b.data, b.len, false), 1);
  CHECK_STR(v.why, "its code block is not closed");
  kr_bytes_release(&b);
}

static void test_reasoning(void)
{
  CHECK_CODE("<think>\n```cuda\nno;\n```\n</think>\n```cuda\nint i;\n```", "int i;");
  CHECK_CODE("no start\n```\nno;\n</think>```cuda\nint i;\n```", "int i;");
  CHECK_CODE("a</think>b</think>\n```\nint i;\n```", "int i;");
  CHECK_WHY("<think>\n```cuda\nint i;\n```\n", "the reply ended while it was still reasoning");
  CHECK_WHY("```cuda\nint i;\n```\n</think>\n", "the reply is empty");
}

static void test_refused(void)
{
  CHECK_WHY("", "the reply is empty");
  CHECK_WHY(" \n\t\n", "the reply is empty");
  CHECK_WHY("no code", "there is no fenced code block in the reply");
  CHECK_WHY("``cuda\nint i;\n``", "there is no fenced code block in the reply");
  CHECK_WHY("```cuda\nint i;", "its code block is not closed");
  CHECK_WHY("```cuda\nint i;\n~~~", "its code block is not closed");
  CHECK_WHY("```cuda\n\n\n```", "its code block is empty");
  CHECK_WHY("```python\nimport torch\n```", "its only code block is tagged `python`, not `cuda`");
  CHECK_WHY("caf\xe9", "the reply is not UTF-8 at byte 3");
  CHECK_INT(parse_bytes("a\0b", 3, false), 1);
  CHECK_STR(v.why, "the reply holds a NUL character");
  CHECK_INT(parse_bytes("```cuda\nint", 11, true), 1);
  CHECK_STR(v.why, "the reply was cut off at the limit of its length, inside its code block");
  CHECK_INT(parse_bytes("Well,", 5, true), 1);
  CHECK_STR(v.why, "the reply was cut off at the limit of its length, before a code block");
  CHECK_INT(parse_bytes("<think>Well,", 12, true), 1);
  CHECK_STR(v.why, "the reply was cut off at the limit of its length while it was still reasoning");
  CHECK_INT(parse_bytes("", 0, true), 1);
  CHECK_STR(v.why, "the reply was cut off at the limit of its length");
  // A whole block before the cut is whole.
  CHECK_INT(parse_bytes("```\nint i;\n```\nThis", 19, true), 0);
  CHECK_STR(v.candidate.code, "int i;");
}

#define LAUNCH(line) "```cuda\n" line "\nint i;\n```"

static void test_launch(void)
{
  CHECK_CODE(LAUNCH("// launch: grid(ceil_div(n, 128), 2) block(32, 4) shared(n % 4 * 16)"),
             "int i;");
  CHECK(v.candidate.has_geometry);
  CHECK_INT(v.lines_before, 1);
  CHECK_STR(v.candidate.geometry.grid[0], "ceil_div(n, 128)");
  CHECK_STR(v.candidate.geometry.grid[1], "2");
  CHECK(!v.candidate.geometry.grid[2]);
  CHECK_STR(v.candidate.geometry.block[0], "32");
  CHECK_STR(v.candidate.geometry.block[1], "4");
  CHECK_STR(v.candidate.geometry.shared, "n % 4 * 16");
  // What is left out stays.
  CHECK_CODE(LAUNCH("// launch: grid((n + 255) / 256, ((n)) % 3) block((32))"), "int i;");
  CHECK_STR(v.candidate.geometry.grid[0], "(n + 255) / 256");
  CHECK_STR(v.candidate.geometry.grid[1], "((n)) % 3");
  CHECK_STR(v.candidate.geometry.block[0], "(32)");
  CHECK_CODE(LAUNCH("//launch:block(128)"), "int i;");
  CHECK_STR(v.candidate.geometry.grid[0], "(n + 255) / 256");
  CHECK_STR(v.candidate.geometry.block[0], "128");
  CHECK_STR(v.candidate.geometry.shared, "0");
  CHECK_CODE("```cuda\n\n// launch: block(128)\n\nint i;\n```", "int i;");
  CHECK_INT(v.lines_before, 1);
  CHECK_CODE("```cuda\nint i;\n```", "int i;");
  CHECK(!v.candidate.has_geometry);
  CHECK_INT(v.lines_before, 0);
}

static void test_launch_refused(void)
{
  CHECK_WHY(LAUNCH("// launch: grid()"),
            "its launch line: in grid(...): an expression cannot begin with `)`");
  CHECK_WHY(LAUNCH("// launch: grid(1, 2, 3, 4)"),
            "its launch line gives grid(...) more than 3 values");
  CHECK_WHY(LAUNCH("// launch: shared(1, 2)"),
            "its launch line gives shared(...) more than 1 values");
  CHECK_WHY(LAUNCH("// launch: grid 256"), "its launch line: `(` is wanted after `grid`");
  CHECK_WHY(LAUNCH("// launch: grid(1"), "its launch line: `,` or `)` is wanted after `1`");
  CHECK_WHY(LAUNCH("// launch: block(32) block(64)"), "its launch line has block(...) twice");
  CHECK_WHY(LAUNCH("// launch: cluster(2)"),
            "its launch line: grid(...), block(...) or shared(...) is wanted at `cluster(2)`");
  CHECK_WHY(LAUNCH("// launch: block(32); x"),
            "its launch line: grid(...), block(...) or shared(...) is wanted at `; x`");
  CHECK_WHY(LAUNCH("// launch:"),
            "its launch line is empty: `// launch: grid(...) block(...) shared(...)`");
  CHECK_WHY(LAUNCH("// launch: grid(getenv(n))"),
            "its launch line calls `getenv`, which is not a function of launch expressions");
  CHECK_WHY("```cuda\nint i;\n// launch: block(32)\n```",
            "its launch line is line 2 of the block; it must be the first");
  CHECK_WHY("```cuda\n// launch: block(32)\n```", "its code block is empty");
}

static void test_summary(void)
{
  CHECK_INT(parse("Before.\n```\nint i;\n```\nAfter\n  it,   done.\n"), 0);
  CHECK_STR(v.summary, "After it, done.");
  CHECK_INT(parse("Before it.\n```\nint i;\n```\n \n"), 0);
  CHECK_STR(v.summary, "Before it.");
  CHECK_INT(parse("```\nint i;\n```"), 0);
  CHECK_STR(v.summary, "");
  // Other blocks are not prose, and nothing in it opens a block later.
  CHECK_INT(parse("```\nint i;\n```\nRun:\n```sh\nrm -rf /\n```\nIt is ````fast```. \x1b[2J"), 0);
  CHECK_STR(v.summary, "Run: It is ``fast``. \\x1b[2J");

  char long_one[3000] = "```\nint i;\n```\n";
  for (int i = 0; i < 40; i++)
    strcat(long_one, "A sentence of twenty-nine bytes. ");
  CHECK_INT(parse(long_one), 0);
  CHECK(strlen(v.summary) <= VARIANT_MAX_SUMMARY);
  CHECK(strlen(v.summary) > VARIANT_MAX_SUMMARY / 2);
  CHECK_STR(v.summary + strlen(v.summary) - 6, "bytes.");
  strcpy(long_one, "```\nint i;\n```\n");
  for (int i = 0; i < 500; i++)
    strcat(long_one, "\xe2\x82\xac");
  CHECK_INT(parse(long_one), 0);
  CHECK_INT(strlen(v.summary), 600);
  CHECK_STR(v.summary + strlen(v.summary) - 6, "\xe2\x82\xac...");
}

static struct kr_hash hash_of(const char *reply)
{
  CHECK_INT(parse(reply), 0);
  return v.tokens;
}

static void test_hash(void)
{
  struct kr_hash a = hash_of("```\nint  i; // one\n```");
  CHECK(kr_hash_equal(a, hash_of("~~~cuda\nint\ni;\n~~~")));
  CHECK(!kr_hash_equal(a, hash_of("```\nint j;\n```")));
  struct kr_hash b = hash_of(LAUNCH("// launch: block(128)"));
  CHECK(!kr_hash_equal(a, b));
  CHECK(kr_hash_equal(b, hash_of(LAUNCH("// launch:  block( 128 )"))));
  CHECK(!kr_hash_equal(b, hash_of(LAUNCH("// launch: block(64)"))));
}

static const char *show(const char *code, const struct kr_geometry *g)
{
  static char out[1000];
  struct kr_bytes b;
  kr_bytes_init(&b, sizeof out - 1);
  variant_show(code, g, &b);
  strcpy(out, b.data);
  kr_bytes_release(&b);
  return out;
}

static void test_show(void)
{
  // Comments go, lines stay.
  CHECK_STR(show("int i; // one\nint j;", NULL), "int i;\nint j;");
  CHECK_STR(show("/* a\n b */int i;", NULL), "\nint i;");
  CHECK_STR(show("int/**/i;", NULL), "int i;");
  CHECK_STR(show("int i; /* a\nb */ // c\nint j;", NULL), "int i;\n\nint j;");
  CHECK_STR(show("// all\n// gone\nint i;", NULL), "\n\nint i;");
  CHECK_STR(show("int i; // spliced \\\n still\nint j;", NULL), "int i;\n\nint j;");
  CHECK_STR(show("#define A /* a\nb */ 1\nint i;", NULL), "#define A \\\n 1\nint i;");
  CHECK_STR(show("int i; /* open", NULL), "int i;");
  CHECK_STR(show("const char *s = \"// no\";", NULL), "const char *s = \"// no\";");
  CHECK_STR(show("int i;", &original), "// launch: grid((n + 255) / 256) block(256)\nint i;");
  struct kr_geometry g = {.grid = {(char *)"n", NULL, (char *)"2"},
                          .block = {(char *)"32"},
                          .shared = (char *)"64"};
  CHECK_STR(show("", &g), "// launch: grid(n, 1, 2) block(32) shared(64)\n");
}

int main(void)
{
  test_blocks();
  test_reasoning();
  test_refusals();
  test_babble();
  test_refused();
  test_launch();
  test_launch_refused();
  test_summary();
  test_hash();
  test_show();
  variant_release(&v);
  return unit_end();
}
