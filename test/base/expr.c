// RUN: %unit/expr
#include "unit.h"

#include <stdint.h>

#include "evaluator/base/expr.h"
#include "evaluator/base/mem.h"

static int lookup(void *arg, const char *name, struct kr_value *out, struct kr_expr_error *error)
{
  (void)arg;
  static const struct {
    const char *name;
    int64_t i;
  } names[] = {{"n", 1000}, {"s.rows", 7}, {"Traits::kN", 32}, {"block.x", 256}, {"args.0.1", 5},
               {"big", INT64_C(1) << 32}, {"zero", 0}, {"min64", INT64_MIN}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i].name)) {
      *out = kr_value_int(names[i].i);
      return 0;
    }
  if (!strcmp(name, "broken")) {
    snprintf(error->text, sizeof error->text, "`broken` says no");
    return -1;
  }
  return 1;
}

static int size_of(void *arg, const char *type, struct kr_value *out, struct kr_expr_error *error)
{
  (void)arg;
  (void)error;
  if (strcmp(type, "float") && strcmp(type, "unsigned long long"))
    return 1;
  *out = kr_value_int(type[0] == 'f' ? 4 : 8);
  return 0;
}

static const struct kr_expr_env env = {lookup, size_of, NULL, NULL};

// The value or the message, printed.
static const char *eval(const char *text)
{
  static char out[600];
  struct kr_expr_error error = {0};
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  struct kr_value v;
  if (!e || kr_expr_eval(e, &env, &v, &error)) {
    snprintf(out, sizeof out, "%zu+%zu: %s", error.offset, error.length, error.text);
  } else {
    struct kr_bytes b;
    kr_bytes_init(&b, 100);
    kr_value_print(v, &b);
    snprintf(out, sizeof out, "%s", b.data);
    kr_bytes_release(&b);
  }
  kr_expr_free(e);
  return out;
}

static const char *substitute(void *arg, const char *name)
{
  (void)arg;
  if (!strcmp(name, "n"))
    return "rows * cols";
  if (!strcmp(name, "m"))
    return "count";
  return NULL;
}

static const char *print(const char *text, bool plain)
{
  static char out[600];
  struct kr_err err = {0};
  struct kr_bytes b;
  struct kr_expr *e = kr_expr_parse(text, strlen(text), NULL);
  kr_bytes_init(&b, 1000);
  int rc = e ? kr_expr_print(e, plain, substitute, NULL, &b, &err) : -1;
  snprintf(out, sizeof out, "%s", rc ? err.text : b.data);
  kr_bytes_release(&b);
  kr_expr_free(e);
  return out;
}

static void test_values(void)
{
  CHECK_STR(eval("1 << 24"), "16777216");
  CHECK_STR(eval("1 + 2 * 3 - 4 / 2 % 3"), "5");
  CHECK_STR(eval("-7 / 2"), "-3");
  CHECK_STR(eval("-7 % 3"), "-1");
  CHECK_STR(eval("1e6"), "1000000.0");
  CHECK_STR(eval("1e6 % 7"), "1");
  CHECK_STR(eval("1'000'000ull"), "1000000");
  CHECK_STR(eval("0x1F + 0b11 + 017u"), "49");
  CHECK_STR(eval("0x1p4f"), "16.0");
  CHECK_STR(eval("0xff"), "255");
  CHECK_STR(eval("2.5f * 2"), "5.0");
  CHECK_STR(eval("1 / 2.0"), "0.5");
  CHECK_STR(eval("0.1 + 0.2"), "0.30000000000000004");
  CHECK_STR(eval("n % 1024 == 0 ? 1 : n > 3 ? 2 : 3"), "2");
  CHECK_STR(eval("1 || 1 / zero"), "1");
  CHECK_STR(eval("0 && 1 / zero"), "0");
  CHECK_STR(eval("!n + ~0"), "-1");
  CHECK_STR(eval("- -3"), "3");
  CHECK_STR(eval("1 | 2 ^ 3 & 4"), "3");
  CHECK_STR(eval("1 < 2 == true"), "1");
  CHECK_STR(eval("s.rows * Traits::kN + block.x + args.0.1"), "485");
  CHECK_STR(eval("block . x"), "256");
  CHECK_STR(eval("sizeof(float) + sizeof( unsigned  long long )"), "12");
  CHECK_STR(eval("9223372036854775807"), "9223372036854775807");
}

static void test_functions(void)
{
  CHECK_STR(eval("ceil_div(n, 256)"), "4");
  CHECK_STR(eval("ceil_div(0, 256)"), "0");
  CHECK_STR(eval("ceil_div(-1, 2)"), "0");
  CHECK_STR(eval("ceil_div(1e3, 256)"), "4");
  CHECK_STR(eval("round_up(n, 256)"), "1024");
  CHECK_STR(eval("min(3, 2) + max(3, 2.0)"), "5.0");
  CHECK_STR(eval("min(1, 2)"), "1");
  CHECK_STR(eval("abs(-3) + abs(-0.5)"), "3.5");
  CHECK_STR(eval("sqrt(16)"), "4.0");
  CHECK_STR(eval("is_pow2(64) + is_pow2(0) + is_pow2(-4) + is_pow2(6)"), "1");
  CHECK_STR(eval("next_pow2(1000)"), "1024");
  CHECK_STR(eval("next_pow2(1)"), "1");
  CHECK_STR(eval("clog2(1000)"), "10");
  CHECK_STR(eval("clog2(1024)"), "10");
  CHECK_STR(eval("clog2(1)"), "0");
}

static void test_messages(void)
{
  CHECK_STR(eval("big * big"), "0+9: big * big overflows 64 bits: 4294967296 * 4294967296");
  CHECK_STR(eval("1 + (n - 1) / zero"), "4+14: division by zero in (n - 1) / zero");
  CHECK_STR(eval("n % zero"), "0+8: division by zero in n % zero");
  CHECK_STR(eval("1.0 / zero"), "0+10: division by zero in 1.0 / zero");
  CHECK_STR(eval("1 << 63"), "0+7: 1 << 63 overflows 64 bits: 1 << 63");
  CHECK_STR(eval("3 << 62"), "0+7: 3 << 62 overflows 64 bits: 3 << 62");
  CHECK_STR(eval("1 >> -1"), "0+7: 1 >> -1 overflows 64 bits: 1 >> -1");
  CHECK_STR(eval("min64 / -1"),
            "0+10: min64 / -1 overflows 64 bits: -9223372036854775808 / -1");
  CHECK_STR(eval("-min64"), "0+6: -min64 overflows 64 bits: 0 - -9223372036854775808");
  CHECK_STR(eval("9223372036854775808"), "0+19: 9223372036854775808 overflows 64 bits");
  CHECK_STR(eval("2.5 % 2"), "0+3: 2.5 must be an integer; it is 2.5");
  CHECK_STR(eval("foo + 1"), "0+3: `foo` is not known");
  CHECK_STR(eval("broken"), "0+6: `broken` says no");
  CHECK_STR(eval("sizeof(half)"), "0+12: the size of `half` is not known");
  CHECK_STR(eval("min(1)"), "0+6: min takes 2 arguments, not 1");
  CHECK_STR(eval("getenv(1)"), "0+9: `getenv` is not a function of markers; these are min max abs "
                               "sqrt ceil_div round_up is_pow2 next_pow2 clog2");
  CHECK_STR(eval(""), "0+0: an expression is missing here");
  CHECK_STR(eval("n +"), "3+0: an expression is missing here");
  CHECK_STR(eval("(n"), "0+1: `(` is not closed");
  CHECK_STR(eval("n n"), "2+1: `n` does not go on with the expression");
  CHECK_STR(eval("n = 3"), "2+1: `=` does not go on with the expression");
  CHECK_STR(eval("\"x\""), "0+3: a string is no part of an expression");
  CHECK_STR(eval("*n"), "0+1: an expression cannot begin with `*`");
  CHECK_STR(eval("\xEF\xBB\xBF" "1"), "0+3: an expression cannot begin with a byte order mark");
  CHECK_STR(eval("12ab"), "0+4: `12ab` is not a number");
  CHECK_STR(eval("0x"), "0+2: `0x` is not a number");
  CHECK_STR(eval("0b2"), "0+3: `0b2` is not a number");
  CHECK_STR(eval("08"), "0+2: `08` is not a number");
  CHECK_STR(eval("1e999"), "0+5: 1e999 is too large");
  CHECK_STR(eval("n ? 1"), "5+0: `:` of `?` is missing");
  CHECK_STR(eval("f("), "2+0: an expression is missing here");
  CHECK_STR(eval("sqrt(0 - 1)"), "0+11: sqrt(0 - 1) is the root of a negative number");
}

static void test_depth(void)
{
  char deep[400];
  memset(deep, '(', 63);
  deep[63] = '1';
  memset(deep + 64, ')', 63);
  deep[127] = '\0';
  CHECK_STR(eval(deep), "1");
  memset(deep, '(', 64);
  deep[64] = '1';
  memset(deep + 65, ')', 64);
  deep[129] = '\0';
  CHECK_STR(eval(deep), "64+1: nested more than 64 deep");
  memset(deep, '!', 80);
  strcpy(deep + 80, "1");
  CHECK(strstr(eval(deep), "nested more than 64 deep") != NULL);
  char *longest = kr_xmalloc(KR_EXPR_MAX_TEXT + 2);
  for (size_t i = 0; i < 8000; i++)
    memcpy(longest + 2 * i, "1+", 2);
  memcpy(longest + 16000, "1", 2);
  CHECK(strstr(eval(longest), "more than 1000 operators") != NULL);
  memset(longest, '1', KR_EXPR_MAX_TEXT + 1);
  longest[KR_EXPR_MAX_TEXT + 1] = '\0';
  CHECK(strstr(eval(longest), "an expression of 16385 bytes") != NULL);
  free(longest);
}

static void test_print(void)
{
  CHECK_STR(print("(a + b) * c", false), "(a + b) * c");
  CHECK_STR(print("((a * b)) + (c)", false), "a * b + c");
  CHECK_STR(print("a - (b - c)", false), "a - (b - c)");
  CHECK_STR(print("(a - b) - c", false), "a - b - c");
  CHECK_STR(print("(a ? b : c) ? d : (e ? f : g)", false), "(a ? b : c) ? d : e ? f : g");
  CHECK_STR(print("-(-a)", false), "- -a");
  CHECK_STR(print("-(a + b)", false), "-(a + b)");
  CHECK_STR(print("n + m", false), "(rows * cols) + count");
  CHECK_STR(print("ceil_div(n, 256)", true), "((rows * cols) + 255) / 256");
  CHECK_STR(print("ceil_div(m, block.x)", true), "(count + block.x - 1) / block.x");
  CHECK_STR(print("ceil_div(m, 1)", true), "count");
  CHECK_STR(print("round_up(m, 32)", true), "(count + 31) / 32 * 32");
  CHECK_STR(print("min(m, 4) + 1", true), "(count < 4 ? count : 4) + 1");
  CHECK_STR(print("is_pow2(m)", true), "count > 0 && (count & count - 1) == 0");
  CHECK_STR(print("clog2(m)", true), "clog2(...) cannot be written in C operators");
  CHECK_STR(print("ceil_div(f(m), 4)", true),
            "ceil_div(...) has a call inside, which would be evaluated twice");
  CHECK_STR(print("ceil_div(m, 4) + clog2(3)", false), "ceil_div(count, 4) + clog2(3)");
}

struct seen {
  char text[200];
};

static void see(void *arg, const struct kr_expr *name, bool is_call)
{
  struct seen *s = arg;
  strcat(s->text, name->name);
  strcat(s->text, is_call ? "() " : " ");
}

static void test_names(void)
{
  const char *text = "ceil_div(n, B) + f(s.rows) * sizeof(float4)";
  struct seen s = {""};
  struct kr_expr *e = kr_expr_parse(text, strlen(text), NULL);
  CHECK(e != NULL);
  kr_expr_names(e, see, &s);
  CHECK_STR(s.text, "n B f() s.rows float4 ");
  struct kr_expr *c = kr_expr_clone(e);
  kr_expr_free(e);
  s.text[0] = '\0';
  kr_expr_names(c, see, &s);
  CHECK_STR(s.text, "n B f() s.rows float4 ");
  kr_expr_free(c);
}

// Stops at the token that cannot go on, as marker clauses need it.
static void test_tokens(void)
{
  const char *text = "n + 1, m] rest";
  size_t n, pos = 0;
  struct kr_token *toks = kr_lex_all(text, strlen(text), false, &n);
  struct kr_expr *e = kr_expr_parse_tokens(text, toks, n, &pos, NULL);
  CHECK(e && toks[pos].offset == 5);
  kr_expr_free(e);
  pos++;
  e = kr_expr_parse_tokens(text, toks, n, &pos, NULL);
  CHECK(e && toks[pos].offset == 8);
  kr_expr_free(e);
  free(toks);
}

int main(void)
{
  test_values();
  test_functions();
  test_messages();
  test_depth();
  test_print();
  test_names();
  test_tokens();
  return unit_end();
}
