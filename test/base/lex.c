// RUN: %unit/lex
#include "unit.h"

#include "evaluator/base/lex.h"
#include "evaluator/base/mem.h"

// "kind:text" of every token, `|` between them.
static const char *lex(const char *text)
{
  static char out[2000];
  static const char kinds[] = "$IN\"'PLBO";
  size_t n, len = 0;
  struct kr_token *toks = kr_lex_all(text, strlen(text), true, &n);
  for (size_t i = 0; i + 1 < n; i++) {
    char word[300];
    kr_token_text(text, toks[i], word, sizeof word);
    len += (size_t)snprintf(out + len, sizeof out - len, "%s%c:%s%s%s", i ? "|" : "",
                            kinds[toks[i].kind], word,
                            toks[i].flags & KR_TOK_UNTERMINATED ? "!" : "",
                            toks[i].flags & KR_TOK_DIGRAPH ? "~" : "");
  }
  if (n == 1)
    out[0] = '\0';
  free(toks);
  return out;
}

// The tokens that carry `flag`, spelt.
static const char *flagged(const char *text, unsigned flag)
{
  static char out[1000];
  size_t n;
  out[0] = '\0';
  struct kr_token *toks = kr_lex_all(text, strlen(text), true, &n);
  for (size_t i = 0; i < n; i++) {
    char word[100];
    if (!(toks[i].flags & flag))
      continue;
    kr_token_text(text, toks[i], word, sizeof word);
    strcat(strcat(out, word), " ");
  }
  free(toks);
  return out;
}

static int same(const char *a, const char *b)
{
  return kr_hash_equal(kr_lex_hash(a, strlen(a)), kr_lex_hash(b, strlen(b)));
}

static void test_kinds(void)
{
  CHECK_STR(lex("int x=1;"), "I:int|I:x|P:=|N:1|P:;");
  CHECK_STR(lex("k<<<g,b>>>(x)"), "I:k|P:<<<|I:g|P:,|I:b|P:>>>|P:(|I:x|P:)");
  CHECK_STR(lex("k<< <g>> >()"), "I:k|P:<<|P:<|I:g|P:>>|P:>|P:(|P:)");
  CHECK_STR(lex("a<<=b>>=c"), "I:a|P:<<=|I:b|P:>>=|I:c");
  CHECK_STR(lex("0x1.8p-3f 1e+5 1'000u .5 5. 1..2"), "N:0x1.8p-3f|N:1e+5|N:1'000u|N:.5|N:5.|N:1..2");
  CHECK_STR(lex("p->x p->*q a.*b ... a::b"), "I:p|P:->|I:x|I:p|P:->*|I:q|I:a|P:.*|I:b|P:...|I:a|P:::|I:b");
  CHECK_STR(lex("\"a\\\"b\" 'c' '\\'' u8\"x\" L'x' R\"(a\"b)\" u8R\"d()d\" \"s"),
            "\":\"a\\\"b\"|':'c'|':'\\''|\":u8\"x\"|':L'x'|\":R\"(a\"b)\"|\":u8R\"d()d\"|\":\"s!");
  CHECK_STR(lex("R\"x(a)\"b)x\" e"), "\":R\"x(a)\"b)x\"|I:e");
  CHECK_STR(lex("\"suffix\"_km"), "\":\"suffix\"_km");
  CHECK_STR(lex("a // b\nc /* d */ e"), "I:a|L:// b|I:c|B:/* d */|I:e");
  CHECK_STR(lex("/* open"), "B:/* open!");
  CHECK_STR(lex("\"open\nx"), "\":\"open!|I:x");
  CHECK_STR(lex("'\\"), "':'\\!");
  CHECK_STR(lex("a<:0:> <%%> %:define"), "I:a|P:<:~|N:0|P::>~|P:<%~|P:%>~|P:%:~|I:define");
  CHECK_STR(lex("A<::B> A<:::B:>"), "I:A|P:<|P:::|I:B|P:>|I:A|P:<:~|P:::|I:B|P::>~");
  CHECK_STR(lex("`\\x"), "O:`|O:\\|I:x");
  CHECK_STR(lex("\\u0061sm gr\xc3\xb6\xc3\x9f"), "I:\\u0061sm|I:gr\xc3\xb6\xc3\x9f");
  CHECK_STR(lex("\xEF\xBB\xBFint"), "I:int");
  CHECK_STR(lex(""), "");
  CHECK_STR(lex("#include <a/b.h>\n#include \"c\"\na<b>c"),
            "P:#|I:include|\":<a/b.h>|P:#|I:include|\":\"c\"|I:a|P:<|I:b|P:>|I:c");
  CHECK_STR(lex("#if a<b\n#include <open\nx"), "P:#|I:if|I:a|P:<|I:b|P:#|I:include|\":<open!|I:x");
}

static void test_splices(void)
{
  CHECK_STR(lex("as\\\nm x"), "I:asm|I:x");
  CHECK_STR(lex("as\\ \t\r\nm"), "I:asm");
  CHECK_STR(lex("foo\\\n bar"), "I:foo|I:bar");
  CHECK_STR(lex("1\\\n2 <\\\n<< \"a\\\nb\""), "N:12|P:<<<|\":\"ab\"");
  CHECK_STR(lex("// a\\\n b\nc"), "L:// a b|I:c");
  CHECK_STR(lex("/\\\n/ a"), "L:// a");
  CHECK_STR(lex("/\\\n* a *\\\n/ b"), "B:/* a */|I:b");
  CHECK_STR(lex("#de\\\nfine X \\\n 1\ny"), "P:#|I:define|I:X|N:1|I:y");
  CHECK_STR(flagged("as\\\nm x", KR_TOK_SPLICED), "asm ");
  CHECK_STR(flagged("#define X \\\n 1\ny", KR_TOK_DIRECTIVE), "# define X 1 ");
  CHECK_STR(lex("R\"(a\\\nb)\""), "\":R\"(a\\\nb)\"");
  struct kr_lexer lx;
  kr_lexer_init(&lx, "foo\\\n bar", 9);
  struct kr_token tok = kr_lexer_next(&lx);
  CHECK_INT(tok.length, 3);
  CHECK(kr_token_is("as\\\nm", (struct kr_token){KR_TOK_IDENTIFIER, KR_TOK_SPLICED, 0, 5}, "asm"));
  CHECK(!kr_token_is("as\\\nm", (struct kr_token){KR_TOK_IDENTIFIER, KR_TOK_SPLICED, 0, 5}, "as"));
}

static void test_flags(void)
{
  CHECK_STR(flagged("a b\n  c /*\n*/ d\n// e\nf", KR_TOK_LINE_START), "a c // e f ");
  CHECK_STR(flagged("/* c */ # if 1\nx # y", KR_TOK_DIRECTIVE_START), "# ");
  CHECK_STR(flagged("a(b, c)/**/d", KR_TOK_SPACE_BEFORE), "c ");
  CHECK_STR(flagged("a\rb\r\nc", KR_TOK_LINE_START), "a b c ");
}

// Offsets ascend and the gaps hold nothing but white space and splices.
static void test_tiling(void)
{
  const char *text = "#define A(x) x ## 1 /* c\n */\n static __global__ void k(\xe4) { a = \"\\\n\"; } // e";
  size_t n, at = 0;
  struct kr_token *toks = kr_lex_all(text, strlen(text), true, &n);
  for (size_t i = 0; i < n; i++) {
    CHECK(toks[i].offset >= at);
    for (; at < toks[i].offset; at++)
      CHECK(strchr(" \n\\", text[at]) != NULL);
    at += toks[i].length;
  }
  CHECK_INT(at, strlen(text));
  free(toks);
}

static void test_hash(void)
{
  CHECK(same("int  x ;// c", "int x;"));
  CHECK(same("f(a,b)", "f(\n    a, b /* second */)"));
  CHECK(same("A<B<int> >", "A<B<int>>"));
  CHECK(same("k<<< g,b >>>()", "k << < g, b >> > ()"));
  CHECK(same("\"ab\" \"cd\"", "\"abcd\""));
  CHECK(same("x = \"a\"\n  \"b\" \"c\";", "x = \"abc\";"));
  CHECK(same("#define A \\\n  1\nx", "#define A 1\nx"));
  CHECK(same("a<:0:>", "a[0]"));
  CHECK(!same("ab", "a b"));
  CHECK(!same("\"a\" u\"b\"", "\"ab\""));
  CHECK(!same("a>=b", "a>b"));
  CHECK(!same("#define A 1\nx", "#define A 1 x"));
  CHECK(!same("x", "y"));
  CHECK(!same("\"a b\"", "\"ab\""));
  CHECK(!same("- -x", "--x"));
}

static void test_keywords(void)
{
  CHECK(kr_lex_is_keyword("while", 5));
  CHECK(kr_lex_is_keyword("alignas", 7) && kr_lex_is_keyword("xor_eq", 6));
  CHECK(kr_lex_is_keyword("double", 6) && kr_lex_is_keyword("dynamic_cast", 12));
  CHECK(kr_lex_is_keyword("return", 6) && kr_lex_is_keyword("reinterpret_cast", 16));
  CHECK(!kr_lex_is_keyword("whil", 4) && !kr_lex_is_keyword("whilex", 6));
  CHECK(!kr_lex_is_keyword("", 0) && !kr_lex_is_keyword("__global__", 10));
}

int main(void)
{
  test_kinds();
  test_splices();
  test_flags();
  test_tiling();
  test_hash();
  test_keywords();
  return unit_end();
}
